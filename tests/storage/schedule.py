"""Random schedules: people who write, edit, delete and press, workers who work, die, and come back as zombies.

Each step is one thing that somebody does, chosen by a seeded generator; the seed and the steps are the story of a
failure. After the schedule a phase without faults settles everything.
"""

from dataclasses import dataclass, field
from random import Random

from bot.rules.terms import CallOutcome, Command, FailureClass, Grade, InterruptKind, InterruptSource, PersonClass
from bot.rules.turn_ends import Cut, Empty, End, Failed, Finished
from storage import history
from storage.audit import Start
from storage.history import Appended
from storage.interrupts import ProbeAnswer
from storage.queue import Claimed
from tests.storage import backwards
from tests.storage.desk import ROOT, Desk, final, result, ts

WORDS = ("stop", "pause", "resume", "look at DNS", "thanks", "! check the disk", "and the disk?", "why?", "hm")
PLACES = (ROOT, ts(0.5))


@dataclass
class Hand:
    """What a worker believes that it holds; after a take-over it goes on believing it."""

    claimed: Claimed
    worker: str
    open_calls: list[str] = field(default_factory=list)
    has_final: int | None = None


class Schedule:
    """One random schedule over two threads."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk, self.random = desk, Random(seed)
        self.hands: list[Hand] = []
        self.story: list[str] = []
        self.sent: set[str] = set()
        self._workers, self._calls = 0, 0
        self.steps = (
            (self.somebody_writes, 7),
            (self.a_copy_comes, 3),
            (self.a_word_comes_late, 1),
            (self.somebody_edits, 1),
            (self.somebody_deletes, 2),
            (self.somebody_presses, 2),
            (self.somebody_goes_back, 1),
            (self.something_else_stops, 1),
            (self.a_worker_claims, 9),
            (self.a_worker_works, 36),
            (self.a_worker_gives_back, 1),
            (self.a_worker_falls_silent, 2),
            (self.the_reaper_looks, 4),
        )

    async def runs_for(self, steps: int) -> None:
        """Do so many things, one after another."""
        doing, weights = zip(*self.steps, strict=True)
        for step in self.random.choices(doing, weights, k=steps):
            self.story.append(step.__name__)
            await step()

    async def ends(self) -> None:
        """Everything that was started comes to its end: no faults, one worker, and nobody says anything more."""
        await self.desk.raw.execute("update workers set heartbeat_at = clock_timestamp() - interval '1 hour'")
        for _ in range(60):
            await self.desk.reaps()
            await self.desk.ends_hung_stops(grace_s=0)
            await self.desk.ends_pauses(limit_s=0)
            claimed = await self.desk.claims("closing")
            if isinstance(claimed, Claimed):
                await self._work_off(claimed)
            elif not await self.desk.value("select count(*) from runs where state <> 'settled'"):
                return

    async def somebody_writes(self) -> None:
        at, who = self.desk.now(), self.random.choice(("ana", "bob", "eve"))
        text, mention = self.random.choice(WORDS), self.random.random() < 0.4
        self.sent.add(at)
        if self.random.random() < 0.1:
            await self.desk.alerts("disk 99%", at=at, thread=self._place())
            return
        person = PersonClass.GUEST if who == "eve" else PersonClass.MEMBER
        await self.desk.says(who, text, at=at, mention=mention, thread=self._place(), person=person)

    async def a_copy_comes(self) -> None:
        if self.sent:
            at = self.random.choice(sorted(self.sent))
            await self.desk.says("ana", "look at DNS", at=at, mention=self.random.random() < 0.5, thread=self._place())

    async def a_word_comes_late(self) -> None:
        at = ts(self.random.randrange(1, 80) + self.random.randrange(1, 900) / 1000)
        if at in self.sent:
            return
        self.sent.add(at)
        text, mention = self.random.choice(("stop", "why?")), self.random.random() < 0.7
        await self.desk.says("ana", text, at=at, mention=mention, thread=self._place())

    async def somebody_edits(self) -> None:
        if self.sent:
            text, mention = self.random.choice(("never mind", "stop", "why?")), self.random.random() < 0.5
            await self.desk.edits(self.random.choice(sorted(self.sent)), text, mention=mention)

    async def somebody_deletes(self) -> None:
        if self.sent:
            await self.desk.deletes(self.random.choice(sorted(self.sent)))

    async def somebody_presses(self) -> None:
        rows = await self.desk.rows("select id, pause_id from runs order by seq")
        if rows:
            row = self.random.choice(rows)
            command = self.random.choice((Command.STOP, Command.PAUSE, Command.RESUME))
            await self.desk.presses("ana", command, row["id"], ref=row["pause_id"])

    async def somebody_goes_back(self) -> None:
        rows = await self.desk.rows("select id from runs order by seq")
        if rows:
            run_id = self.random.choice(rows)["id"]
            offered = [seq for _, seq in await backwards.points(self.desk, run_id)]
            # Now and then what is chosen was never offered.
            seq = self.random.choice([*offered, 3])
            await backwards.goes_back(self.desk, run_id, seq)

    async def something_else_stops(self) -> None:
        if await self.desk.value("select count(*) from threads where thread_ts = $1", ROOT):
            source = self.random.choice((InterruptSource.TIMEOUT, InterruptSource.API, InterruptSource.POLICY))
            # The time of a stop by the API is the database's, and far beyond all that is written here.
            await self.desk.orders(InterruptKind.STOP, source, sent=self.desk.now())

    async def a_worker_claims(self) -> None:
        self._workers += 1
        worker = f"w{self._workers % 4}"
        if await self.desk.value("select state from workers where id = $1", worker) == "dead":
            await self.desk.raw.execute("update workers set state = 'alive' where id = $1", worker)
        claimed = await self.desk.claims(worker)
        await self.desk.beats(worker)
        if isinstance(claimed, Claimed):
            self.hands.append(Hand(claimed, worker, await self._left_open(claimed)))

    async def a_worker_works(self) -> None:
        if self.hands:
            await self._step(self.random.choice(self.hands[-3:]))

    async def a_worker_gives_back(self) -> None:
        if self.hands:
            await self.desk.gives_back(self.random.choice(self.hands).claimed)

    async def a_worker_falls_silent(self) -> None:
        if self.hands:
            await self.desk.falls_silent(self.random.choice(self.hands).worker)

    async def the_reaper_looks(self) -> None:
        await self.desk.reaps()
        await self.desk.ends_hung_stops(grace_s=0)
        if self.random.random() < 0.1:
            await self.desk.ends_pauses(limit_s=0)

    async def _step(self, hand: Hand) -> None:
        """The next thing that a worker does, whether or not it still holds what it believes to hold."""
        if hand.has_final is not None:
            await self.desk.settles(hand.claimed, Finished(hand.has_final))
        elif hand.open_calls:
            await self._answer(hand)
        else:
            await self._cut_point(hand)

    async def _answer(self, hand: Hand) -> None:
        call_id = hand.open_calls[0]
        started = await self.desk.starts(hand.claimed, call_id)
        if started.start is Start.GO and self.random.random() < 0.2:
            return
        if started.start is Start.LOST or await self._store(hand, result(call_id)) is not Appended.STORED:
            hand.open_calls.clear()
            return
        await self.desk.ends_call(call_id, CallOutcome.OK)
        hand.open_calls.pop(0)

    async def _cut_point(self, hand: Hand) -> None:
        probed = await self.desk.probes(hand.claimed)
        if probed.answer is ProbeAnswer.CUT and self.random.random() < 0.7:
            await self.desk.settles(hand.claimed, Cut(probed.cut))
        if probed.answer is not ProbeAnswer.GO_ON or await self._left_open(hand.claimed):
            return
        match self.random.randrange(6):
            case 0:
                await self.desk.settles(hand.claimed, self.random.choice((Empty(), Failed(FailureClass.INTERNAL))))
            case 1 | 2:
                await self._finish(hand)
            case _:
                await self._call(hand)

    async def _call(self, hand: Hand) -> None:
        self._calls += 1
        call_ids = [f"call{self._calls:03}{letter * 2}" for letter in "ab"[: self.random.randrange(1, 3)]]
        await self.desk.calls(hand.claimed, *call_ids, grade=self.random.choice(list(Grade)))
        hand.open_calls = await self._left_open(hand.claimed)

    async def _finish(self, hand: Hand) -> None:
        if await self._store(hand, final()) is Appended.STORED:
            hand.has_final = await self.desk.event_seq(hand.claimed.claim.thread_id)

    async def _store(self, hand: Hand, event: history.NewEvent) -> Appended:
        stored = await self.desk.stores(hand.claimed, event)
        thread = await self.desk.raw.fetchrow("select * from threads where id = $1", hand.claimed.claim.thread_id)
        owns = (thread["owner"], thread["fence"]) == (hand.worker, hand.claimed.claim.fence)
        assert owns or stored is Appended.LOST, "I2: a stale claim has written"
        return stored

    async def _work_off(self, claimed: Claimed) -> None:
        """A worker without faults: answer what is open, look, and end."""
        hand = Hand(claimed, "closing", await self._left_open(claimed))
        for call_id in hand.open_calls:
            await self._store(hand, result(call_id))
        probed = await self.desk.probes(claimed)
        end: End = Empty()
        if probed.answer is ProbeAnswer.CUT and probed.cut is not None:
            end = Cut(probed.cut)
        elif probed.answer is ProbeAnswer.GO_ON:
            await self._finish(hand)
            end = Finished(hand.has_final or 0)
        await self.desk.settles(claimed, end)

    async def _left_open(self, claimed: Claimed) -> list[str]:
        async with self.desk.database.transaction() as tx:
            calls = await history.open_calls(tx, claimed.claim.thread_id, claimed.run.id)
        return [str(call["id"]) for call in calls]

    def _place(self) -> str:
        return self.random.choice(PLACES)
