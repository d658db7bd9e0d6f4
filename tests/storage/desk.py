"""Says in short what people and workers do to the database, so that a test reads as a story.

Everything goes through the product's own functions, each in a transaction of its own; only what time does is done by
SQL, and what stands in the end is read by SQL.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from bot.rules.command_words import Result
from bot.rules.inbound_message import AuthorFacts, Deletion, Edit, Message, NativeStop, OurIds, Press, message_key
from bot.rules.terms import CallOutcome, Command, EventKind, Grade, InterruptKind, InterruptSource, PersonClass
from bot.rules.turn_ends import End, Finished
from storage import audit, commands, history, inbox_rows, interrupts, queue, runs, settlement, threads, workers
from storage.audit import CallEnd, PlannedCall
from storage.changes import Changes
from storage.engine import Database
from storage.history import NewEvent
from storage.inbox import Inbox, Receipt, Reception
from storage.interrupts import Order
from storage.people import Person
from storage.presses import Presses
from storage.queue import Claimed
from storage.settlement import Means, Settled
from storage.threads import Claim

OUR = OurIds("T1", "UBOT", "BBOT", "ABOT")
ROOT = "1000.000000"
LEASE_S = 15.0


def ts(number: float) -> str:
    """A Slack time; the thread's root has number 0."""
    return f"{1000 + number:.6f}"


def final(text: str = "the disk is full") -> NewEvent:
    return NewEvent(EventKind.ASSISTANT, {"text": text, "calls": []})


def asking(*call_ids: str) -> NewEvent:
    calls = [{"id": each, "name": "http_get", "arguments": {}, "broken_arguments": None} for each in call_ids]
    return NewEvent(EventKind.ASSISTANT, {"text": "", "calls": calls})


def result(call_id: str, text: str = "200") -> NewEvent:
    body = {"call_id": call_id, "name": "http_get", "text": text, "outcome": CallOutcome.OK}
    return NewEvent(EventKind.TOOL_RESULT, body)


def message(who: str, text: str, at: str, *, mention: bool = False, thread: str = ROOT, **other: Any) -> Message:
    """A message of a member; `other` replaces any of its parts."""
    raw = f"<@UBOT> {text}" if mention else text
    parts = {
        "team_id": "T1",
        "channel_id": "C1",
        "channel_type": "channel",
        "ts": at,
        "thread_ts": thread,
        "author": AuthorFacts(who, team_id="T1"),
        "text": text,
        "raw_text": raw,
        "mentions_bot": mention,
        "dedupe_key": message_key("T1", "C1", at),
    }
    return Message(**{**parts, **other})


class Desk:
    """Where people and workers of one database are at work; `raw` and `watch` are connections of the test's own.

    `watch` is for looking at the server while something else waits.
    """

    def __init__(self, database: Database, raw: Any, watch: Any) -> None:
        self.database, self.raw, self.watch = database, raw, watch
        self._ids, self._clock = itertools.count(1), itertools.count(1)
        self.means = Means(lambda: f"id{next(self._ids)}", lambda text: [text])
        reception = Reception(OUR, frozenset({"AALERT"}), frozenset({"boss"}))
        self.inbox, self.changes = Inbox(reception, self.means), Changes(reception, self.means)
        self.desk_of_buttons = Presses(reception, self.means)

    def now(self) -> str:
        """The next Slack time."""
        return ts(next(self._clock))

    # people

    async def says(self, who: str, text: str, *, at: str | None = None, person: Any = None, **other: Any) -> Receipt:
        """Somebody, a member unless `person` says otherwise, writes in the thread."""
        said = message(who, text, at or self.now(), **other)
        async with self.database.transaction() as tx:
            return await self.inbox.receive(tx, said, Person("T1", who, person or PersonClass.MEMBER, who.title()))

    async def alerts(self, text: str, **other: Any) -> Receipt:
        """A listed alert bot writes in the thread."""
        author = AuthorFacts("UALERT", bot_id="B9", app_id="AALERT", team_id="T1")
        return await self.says("UALERT", text, author=author, person=PersonClass.UNKNOWN, **other)

    async def edits(self, at: str, text: str, *, mention: bool = False) -> Receipt:
        """Somebody changes the message of this time."""
        raw = f"<@UBOT> {text}" if mention else text
        edited, author = self.now(), AuthorFacts("ana", team_id="T1")
        edit = Edit(
            "T1", "C1", "channel", at, ROOT, edited, "ana", author, text, raw, mention, True, f"e:{at}:{edited}"
        )
        async with self.database.transaction() as tx:
            return await self.changes.edit(tx, edit)

    async def deletes(self, at: str) -> Receipt:
        """Somebody deletes the message of this time."""
        async with self.database.transaction() as tx:
            return await self.changes.delete(tx, Deletion("T1", "C1", at, ROOT, "ana", f"d:C1:{at}"))

    async def presses(self, who: str, command: Command, run_id: str, **other: Any) -> Receipt:
        """Somebody presses a button of the run's card; `ref`, `choice` and `person` may be given."""
        at = self.now()
        key, person = other.pop("key", f"a:{at}"), other.pop("person", PersonClass.MEMBER)
        parts = {"ref": None, "channel_id": "C1", "message_ts": "1.1", "thread_ts": ROOT} | other
        press = Press(
            "T1", command.value, run_id, user_id=who, user_team_id="T1", action_ts=at, response_url=None,
            dedupe_key=key, **parts,
        )  # fmt: skip
        async with self.database.transaction() as tx:
            return await self.desk_of_buttons.press(tx, press, Person("T1", who, person), command)

    async def stops_natively(self, who: str, *, at: str | None = None) -> Receipt:
        """Somebody uses Slack's own stop."""
        at = at or self.now()
        async with self.database.transaction() as tx:
            stop = NativeStop("T1", "C1", ROOT, who, at, f"s:{at}")
            return await self.desk_of_buttons.native_stop(tx, stop, Person("T1", who, PersonClass.MEMBER))

    async def orders(self, kind: InterruptKind, source: InterruptSource, sent: str | None = None) -> Result:
        """Something other than a person in Slack asks for a stop or a pause."""
        async with self.database.transaction() as tx:
            thread = await threads.lock_at(tx, threads.Place("T1", "C1", ROOT))
            order = Order(self.means.mint_id(), kind, source, source.value, sent)
            carry_out = commands.stop if kind is InterruptKind.STOP else commands.pause
            return (await carry_out(tx, thread, order, self.means)).result

    async def judges(self, who: str, person_class: PersonClass) -> list[Receipt | None]:
        """Slack says at last, or still not, what the authors of unjudged messages are."""
        async with self.database.transaction() as tx:
            unjudged = await inbox_rows.unjudged(tx)
        receipts = []
        for each in unjudged:
            async with self.database.transaction() as tx:
                receipts.append(await self.inbox.judge_later(tx, each, Person("T1", who, person_class, who)))
        return receipts

    # workers

    async def claims(self, worker: str = "w1") -> Any:
        """A worker claims what has waited longest."""
        async with self.database.transaction() as tx:
            await workers.register(tx, worker)
        async with self.database.transaction() as tx:
            return await queue.claim(tx, worker, self.means)

    async def is_asked(self, text: str = "why?", who: str = "ana", **other: Any) -> Claimed:
        """Somebody mentions the bot, and a worker begins."""
        await self.says(who, text, mention=True, **other)
        return await self.claims()

    async def stores(self, claimed: Claimed, *events: NewEvent, seq: int | None = None) -> history.Appended:
        """A worker appends to the history, at the next number unless another is given."""
        at = seq if seq is not None else await self.event_seq(claimed.claim.thread_id) + 1
        async with self.database.transaction() as tx:
            return await history.append(tx, claimed.claim, at, events)

    async def calls(self, claimed: Claimed, *call_ids: str, grade: Grade = Grade.READ, start: bool = False) -> None:
        """A worker stores a model message with calls, and may start them."""
        stored = await self.stores(claimed, asking(*call_ids))
        if stored is not history.Appended.STORED:
            return
        planned = [PlannedCall(f"req-{each}", each, "http_get", grade, "Look", "site", {}) for each in call_ids]
        async with self.database.transaction() as tx:
            await audit.plan(tx, claimed.claim, 1, planned)
        for each in call_ids if start else ():
            await self.starts(claimed, each)

    async def starts(self, claimed: Claimed, call_id: str) -> audit.StartAnswer:
        async with self.database.transaction() as tx:
            return await audit.start(tx, claimed.claim, f"req-{call_id}")

    async def ends_call(self, call_id: str, outcome: CallOutcome = CallOutcome.OK) -> None:
        async with self.database.transaction() as tx:
            await audit.finish(tx, CallEnd(f"req-{call_id}", outcome, 12, status=200))

    async def ends_call_late(
        self, claimed: Claimed, call_id: str, outcome: CallOutcome = CallOutcome.OK, status: int = 200
    ) -> None:
        """A worker brings the end of a call that nobody waits for any more."""
        async with self.database.transaction() as tx:
            await audit.finish_late(tx, CallEnd(f"req-{call_id}", outcome, 12, status=status), claimed.claim.fence)

    async def probes(self, claimed: Claimed, known: int | None = None) -> interrupts.Probed:
        """A worker looks at a cut point; it knows all events unless said otherwise."""
        known = known if known is not None else await self.event_seq(claimed.claim.thread_id)
        async with self.database.transaction() as tx:
            return await interrupts.probe(tx, claimed.claim, known)

    async def settles(self, claimed: Claimed, end: End) -> Settled | None:
        async with self.database.transaction() as tx:
            return await settlement.settle(tx, claimed.claim, end, self.means)

    async def completes(self, claimed: Claimed, text: str = "the disk is full") -> Settled | None:
        """A worker stores a final text and settles."""
        await self.stores(claimed, final(text))
        return await self.settles(claimed, Finished(await self.event_seq(claimed.claim.thread_id)))

    async def gives_back(self, claimed: Claimed) -> bool:
        async with self.database.transaction() as tx:
            return await queue.give_back(tx, claimed.claim)

    async def beats(self, worker: str = "w1") -> list[workers.Owned] | None:
        async with self.database.transaction() as tx:
            return await workers.heartbeat(tx, worker)

    async def reaps(self) -> list[Settled | None]:
        """Some process takes the threads of lost workers back."""
        async with self.database.transaction() as tx:
            lost = await queue.lost_threads(tx, LEASE_S)
        taken = []
        for each in lost:
            async with self.database.transaction() as tx:
                taken.append(await queue.take_back(tx, each, LEASE_S, self.means))
        return taken

    async def ends_hung_stops(self, grace_s: float = 4.0) -> list[Settled | None]:
        async with self.database.transaction() as tx:
            hung = await queue.hung_stops(tx, grace_s)
        ended = []
        for thread_id, run_id in hung:
            async with self.database.transaction() as tx:
                ended.append(await settlement.overdue_stop(tx, thread_id, run_id, grace_s, self.means))
        return ended

    async def ends_pauses(self, limit_s: float = 3600.0) -> list[Settled | None]:
        async with self.database.transaction() as tx:
            overdue = await queue.overdue_pauses(tx, limit_s)
        ended = []
        for thread_id, run_id in overdue:
            async with self.database.transaction() as tx:
                ended.append(await queue.end_pause(tx, thread_id, run_id, limit_s, self.means))
        return ended

    # time, and what stands in the end

    async def falls_silent(self, worker: str = "w1") -> None:
        """A worker has not been heard of for a minute."""
        await self.passes("workers set heartbeat_at = heartbeat_at", "id", worker)

    async def passes(self, what: str, column: str, value: str, minutes: int = 1) -> None:
        """So many minutes pass for one row: `what` names the table and the time in it."""
        minute = "interval '1 minute'"
        await self.raw.execute(f"update {what} - {minutes} * {minute} where {column} = $1", value)

    async def rows(self, sql: str, *values: Any) -> Sequence[Any]:
        return await self.raw.fetch(sql, *values)

    async def value(self, sql: str, *values: Any) -> Any:
        return await self.raw.fetchval(sql, *values)

    async def event_seq(self, thread_id: str) -> int:
        return await self.value("select event_seq from threads where id = $1", thread_id)

    async def run(self) -> runs.Run:
        """The newest run of the thread."""
        async with self.database.transaction() as tx:
            thread_id = await self.value("select id from threads order by created_at limit 1")
            return await runs.newest(tx, thread_id)

    async def states(self) -> list[str]:
        """The runs, in order: their reason, or their state while they have none."""
        joined = "select coalesce(s.reason, r.state) from runs r left join settlements s on s.run_id = r.id"
        return [row[0] for row in await self.rows(f"{joined} order by r.seq")]

    async def inbox_states(self) -> list[tuple[str, str]]:
        """The messages, in Slack's order: verdict and state."""
        rows = await self.rows("select verdict, state from inbox order by slack_ts, seq")
        return [(row[0], row[1]) for row in rows]

    async def told(self) -> list[str]:
        """What the history says was said by people."""
        rows = await self.rows("select body->>'text' from events where kind = 'user' order by thread_id, seq")
        return [row[0] for row in rows]

    async def outcomes(self) -> list[tuple[str, str]]:
        """How the calls stand in the history."""
        of_calls = "select body->>'call_id', body->>'outcome' from events where kind = 'tool_result'"
        return [(row[0], row[1]) for row in await self.rows(f"{of_calls} order by thread_id, seq")]

    async def audited(self) -> list[tuple[str, str | None]]:
        """How the calls stand in the audit."""
        return [(row[0], row[1]) for row in await self.rows("select call_id, outcome from tool_calls order by call_id")]


def stale(claimed: Claimed, **other: Any) -> Claimed:
    """The same claim with another fence, or in another worker's name."""
    was = claimed.claim
    parts = {"worker_id": was.worker_id, "fence": was.fence} | other
    claim = Claim(was.thread_id, was.run_id, **parts)
    return Claimed(claim, claimed.place, claimed.run, claimed.first, claimed.earlier_read)
