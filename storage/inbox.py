"""How a message is taken in: judged under the thread's lock, stored, and carried out, in one transaction.

What is acknowledged to Slack has been committed here. A second copy changes nothing, except that it may add that the
bot was mentioned.
"""

from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from bot.rules.access import PEOPLE, source_of
from bot.rules.command_words import WORDS, Result
from bot.rules.inbound_message import AuthorFacts, Message, OurIds, ts_order
from bot.rules.interrupt_order import Pending
from bot.rules.run_states import phase_of
from bot.rules.steer_policy import Arrival, Judgement, judge
from bot.rules.terms import (
    Command,
    InboxState,
    InterruptKind,
    InterruptSource,
    ParkedFor,
    PersonClass,
    Phase,
    RunState,
    Source,
    Verdict,
)
from bot.rules.turn_ends import Cut
from storage import (
    aftermath,
    approval_rows,
    cards,
    commands,
    halts,
    inbox_rows,
    ingress,
    interrupts,
    notify,
    runs,
    settlement,
    threads,
)
from storage.engine import Transaction
from storage.inbox_rows import STARTS_A_RUN
from storage.ingress import Seen
from storage.interrupts import Order
from storage.people import Person
from storage.policies import Policies
from storage.runs import NewRun, Run
from storage.settlement import Means
from storage.tables import inbox
from storage.tables import threads as threads_table
from storage.threads import Place, Thread

MAY_GAIN_A_MENTION = frozenset({Verdict.IGNORE, Verdict.NOTE, Verdict.HOLD, ingress.UNJUDGED})
"""Verdicts that a mention in a second copy may still change; of all others, the first copy has done its work."""


@dataclass(frozen=True, slots=True)
class Reception:
    """What the taking in of messages is set up with: who we are, which alert bots count, who may approve."""

    our: OurIds
    alert_apps: AbstractSet[str] = frozenset()
    approvers: AbstractSet[str] = frozenset()
    policies: Policies = field(default_factory=Policies)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a message: `reply` is for its sender alone; `is_copy` when it had been taken in before."""

    verdict: Verdict | None
    reply: str | None = None
    run_id: str | None = None
    command: Command | None = None
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """A message with who sent it and how it was judged.

    `is_uncertain` while nobody knows what this person is, and it matters: then it starts and cuts nothing.
    """

    message: Message
    person: Person
    source: Source
    arrival: Arrival
    judgement: Judgement
    is_uncertain: bool
    run: Run | None = None


class Inbox:
    """Takes messages in."""

    def __init__(self, reception: Reception, means: Means) -> None:
        self._reception, self._means = reception, means

    async def receive(self, tx: Transaction, message: Message, person: Person) -> Receipt:
        """Take one message in; it has exactly one verdict, whatever copies come."""
        if message.mentions_bot and await _is_done(tx, message):
            return Receipt(None, is_copy=True)
        place = Place(message.team_id, message.channel_id, message.thread_ts)
        thread = await threads.lock_at(tx, place)
        taken = await self._judge(tx, place, thread, message, person)
        if thread is None and _needs_a_thread(taken):
            is_ours = await threads.create(tx, self._means.mint_id(), place)
            thread = await threads.lock_at(tx, place)
            if not is_ours:
                # Another message made the thread, and perhaps its run, while this one waited.
                taken = await self._judge(tx, place, thread, message, person)
        if not await ingress.see(tx, message.dedupe_key, _seen(taken), message.gesture_key):
            return await self._second_copy(tx, thread, taken)
        return await self._carry_out(tx, thread, taken)

    async def judge_later(self, tx: Transaction, message: Message, person: Person) -> Receipt | None:
        """Judge a message whose author was not known when it came; None when that was done, or must still wait.

        An author who stays unknown for a minute is taken for the strictest that they can be.
        """
        place = Place(message.team_id, message.channel_id, message.thread_ts)
        thread = await threads.lock_at(tx, place)
        row = await inbox_rows.at(tx, thread.id, message.ts) if thread else None
        if thread is None or row is None or row.state is not InboxState.UNJUDGED:
            return None
        if person.person_class is PersonClass.UNKNOWN and not await inbox_rows.is_overdue(tx, thread.id, row.seq):
            return None
        # It may have been edited while its author was looked up.
        message = await inbox_rows.unjudged_at(tx, thread.id, row.seq)
        await inbox_rows.remove(tx, thread.id, row.seq)
        taken = replace(await self._judge(tx, place, thread, message, person), is_uncertain=False)
        await ingress.rejudge(tx, message.dedupe_key, _seen(taken))
        return await self._carry_out(tx, thread, taken)

    async def _judge(
        self, tx: Transaction, place: Place, thread: Thread | None, message: Message, person: Person
    ) -> Taken:
        run = await runs.newest(tx, thread.id) if thread else None
        overrides = await self._reception.policies.of_channel(tx, place)
        source = await self._source(tx, run, message.author, person.person_class)
        arrival = await self._arrival(tx, thread, run, message, source)
        judgement = await halts.judged(tx, judge(arrival, overrides))
        is_uncertain = source in PEOPLE and person.person_class is PersonClass.UNKNOWN
        return Taken(message, person, source, arrival, judgement, is_uncertain, run)

    async def _source(self, tx: Transaction, run: Run | None, author: AuthorFacts, person_class: PersonClass) -> Source:
        is_requester = author.user_id is not None and await runs.is_requester(tx, run, author.user_id)
        return source_of(author, person_class, is_requester, self._reception.alert_apps, self._reception.our)

    async def _arrival(
        self, tx: Transaction, thread: Thread | None, run: Run | None, message: Message, source: Source
    ) -> Arrival:
        phase = phase_of(run.state if run else None, run.parked_for if run else None, ever_asked=run is not None)
        is_after_the_end = thread is not None and run is not None and phase is Phase.IDLE
        return Arrival(
            source=source,
            phase=phase,
            text=message.raw_text,
            slack_ts=message.ts,
            bot_user_id=self._reception.our.bot_user_id,
            mentions_bot=message.mentions_bot,
            is_direct=message.is_direct,
            is_approver=message.author.user_id in self._reception.approvers,
            answer_ts=await aftermath.answer_time(tx, run) if is_after_the_end and run else None,
            approval_waits=run is not None and await approval_rows.awaits_a_word(tx, run, message.raw_text),
            first_since_settlement=is_after_the_end and run is not None and not await aftermath.was_said_since(tx, run),
        )

    async def _carry_out(self, tx: Transaction, thread: Thread | None, taken: Taken) -> Receipt:
        verdict = taken.judgement.verdict
        if verdict is Verdict.COMMAND and taken.judgement.command is not None:
            return await self._command(tx, thread, taken)
        if thread is not None and taken.is_uncertain:
            await _store(tx, thread, taken, InboxState.UNJUDGED)
            seen = Seen(ingress.UNJUDGED, taken.judgement.row, taken.arrival.interjects)
            await ingress.rejudge(tx, taken.message.dedupe_key, seen)
            return Receipt(None)
        if thread is None or verdict in {Verdict.IGNORE, Verdict.REFUSE, Verdict.COMMAND}:
            return Receipt(verdict, taken.judgement.reply)
        if verdict in STARTS_A_RUN and _was_stopped(thread, taken.message):
            await _store(tx, thread, taken, InboxState.WITHDRAWN)
            return Receipt(verdict)
        await _store(tx, thread, taken, InboxState.WAITING)
        return Receipt(verdict, taken.judgement.reply, await self._set_going(tx, thread, taken))

    async def _set_going(self, tx: Transaction, thread: Thread, taken: Taken) -> str | None:
        """Start a run, or tell the one there is; returns the run that the message is for."""
        if taken.judgement.verdict is Verdict.START:
            return await self._start(tx, thread, taken)
        run = taken.run
        if run is None or run.state is RunState.SETTLED:
            return None
        if taken.judgement.verdict is Verdict.STEER:
            await self._steer(tx, thread, run, taken)
        await cards.bump(tx, run.id, at_once=True)
        return run.id

    async def _start(self, tx: Transaction, thread: Thread, taken: Taken) -> str:
        run_id, author = self._means.mint_id(), taken.person.user_id
        previous = taken.run
        title, by = settlement.title_of(taken.message.text), runs.started_by(taken.source)
        await runs.create(tx, thread, NewRun(run_id, run_id, previous.id if previous else None, author, title, by))
        return run_id

    async def _steer(self, tx: Transaction, thread: Thread, run: Run, taken: Taken) -> None:
        """Have the run cut: by its worker, or right here where it has none. One that has not started is joined."""
        if run.started_at is None:
            if run.parked_for is ParkedFor.PAUSED:
                await interrupts.unpark(tx, thread, run)
            return
        if thread.owner is not None:
            await notify.notify(tx, notify.INTERRUPT, run=run.id, kind=InterruptKind.STEER)
            return
        steer = Pending(InterruptKind.STEER, InterruptSource.MESSAGE, taken.person.user_id)
        await settlement.settle_locked(tx, await threads.lock_again(tx, thread), run, Cut(steer), self._means)

    async def _command(self, tx: Transaction, thread: Thread | None, taken: Taken) -> Receipt:
        command = taken.judgement.command
        if command is Command.STATUS or thread is None:
            run = await runs.newest(tx, thread.id) if thread else None
            reply = None if command is Command.STATUS else WORDS[Result.NOTHING]
            return Receipt(Verdict.COMMAND, reply, run.id if run else None, command)
        order = Order(
            id=self._means.mint_id(),
            kind=InterruptKind.PAUSE if command is Command.PAUSE else InterruptKind.STOP,
            source=InterruptSource.MESSAGE,
            requested_by=taken.person.user_id,
            slack_ts=taken.message.ts,
        )
        if command is Command.STOP:
            done = await commands.stop(tx, thread, order, self._means)
        elif command is Command.PAUSE:
            done = await commands.pause(tx, thread, order, self._means)
        else:
            done = await commands.resume(tx, thread, None)
        return Receipt(Verdict.COMMAND, WORDS[done.result], done.run_id, command)

    async def _second_copy(self, tx: Transaction, thread: Thread | None, taken: Taken) -> Receipt:
        """A copy may only add the mention: the first may have come without it."""
        first = await ingress.first_copy(tx, taken.message.dedupe_key)
        adds_mention = first is not None and taken.message.mentions_bot and not first.interject
        if first is None or not adds_mention or first.verdict not in MAY_GAIN_A_MENTION:
            return Receipt(None, is_copy=True)
        row = await inbox_rows.at(tx, thread.id, taken.message.ts) if thread else None
        if row is not None and row.state not in {InboxState.WAITING, InboxState.UNJUDGED}:
            return Receipt(None, is_copy=True)
        if thread is not None and row is not None:
            await inbox_rows.remove(tx, thread.id, row.seq)
        await ingress.rejudge(tx, taken.message.dedupe_key, _seen(taken))
        return await self._carry_out(tx, thread, taken)


async def _is_done(tx: Transaction, message: Message) -> bool:
    """Whether a mention was taken in before: Slack sends each twice, and the second may not even wait for the lock."""
    first = await ingress.first_copy(tx, message.dedupe_key)
    return first is not None and first.verdict not in MAY_GAIN_A_MENTION


def _was_stopped(thread: Thread, message: Message) -> bool:
    """Whether this was sent before the thread's last stop: it came late, and may start and cut nothing any more."""
    return thread.stopped_before_ts is not None and ts_order(message.ts) <= thread.stopped_before_ts


def _needs_a_thread(taken: Taken) -> bool:
    if taken.judgement.verdict is Verdict.START or taken.judgement.command is Command.STOP:
        return True
    # A person whose class is not known yet may turn out to be one who may ask: the question must not be lost.
    return taken.is_uncertain and taken.arrival.interjects


def _seen(taken: Taken) -> Seen:
    return Seen(taken.judgement.verdict, taken.judgement.row, taken.arrival.interjects)


async def _store(tx: Transaction, thread: Thread, taken: Taken, state: InboxState) -> None:
    seq = thread.inbox_seq + 1
    values: dict[str, Any] = {
        "thread_id": thread.id,
        "seq": seq,
        "source": taken.source,
        "author": taken.person.user_id,
        "author_name": taken.person.name,
        "text": taken.message.text,
        "interject": taken.arrival.interjects,
        "slack_ts": taken.message.ts,
        "verdict": taken.judgement.verdict,
        "policy_row": taken.judgement.row,
        "state": state,
        "raw": asdict(taken.message) if state is InboxState.UNJUDGED else None,
    }
    await tx.execute(sa.insert(inbox).values(**values))
    # Only what asks for a run wakes the thread: notes and held messages wait for one.
    wakes = int(state is InboxState.WAITING and taken.judgement.verdict in STARTS_A_RUN)
    await threads.change(tx, thread.id, inbox_seq=seq, wake_seq=threads_table.c.wake_seq + wakes)
