"""Approve against stop, steer, pause, deny, expiry and a lost worker, in both orders at every point of a write's life.

Both sides queue up for the thread's lock, in an order that the test decides and the server shows; then they are let
through. The write may be begun once at most, and never after the other side has won.
"""

import asyncio
import itertools

import pytest

from bot.rules.terms import Command
from bot.rules.tool_policy import Vote
from bot.rules.turn_ends import Cut
from storage import interrupts, suspension, threads
from storage.approvals import Use
from storage.interrupts import ProbeAnswer
from storage.queue import Claimed
from tests.storage.approving import BOSS, CHIEF, Approving
from tests.storage.desk import ROOT
from tests.storage.waits import waiters

CALL = "write0001"
PLACE = threads.Place("T1", "C1", ROOT)
POINTS = ("park", "approve", "claim", "use", "use again")
RIVALS = ("stop", "steer", "pause", "deny", "expiry", "kill")
WINS = {"stop", "steer", "pause", "deny", "expiry"}
"""The rivals after which the write may not begin any more; a worker that is lost leaves the yes as it is."""


class Life:
    """The life of one write: asked for, parked, approved, claimed again, begun."""

    def __init__(self, desk) -> None:
        self.desk, self.approving = desk, Approving(desk)
        self.begun = 0
        self._tokens = (f"t{number}" for number in itertools.count(1))

    async def begins(self) -> None:
        self.claimed = await self.approving.is_asked(CALL)
        self.run_id = self.claimed.run.id

    async def step(self, point: str) -> None:
        """One step of those who want the write to be made."""
        match point:
            case "park":
                await self.approving.parks(self.claimed, CALL)
            case "approve":
                await self.approving.presses(BOSS, self.run_id, CALL)
            case "claim":
                await self._claim()
            case _:
                used = await self.approving.uses(self.claimed, CALL, token=next(self._tokens))
                self.begun += used.use is Use.GO

    async def rival(self, name: str) -> None:
        """One step of those who do not, or of fate."""
        match name:
            case "stop" | "steer":
                await self.desk.says("ana", "stop" if name == "stop" else "look at the gateway")
            case "pause":
                await self.desk.presses("ana", Command.PAUSE, self.run_id)
            case "deny":
                await self.approving.presses(CHIEF, self.run_id, CALL, Vote.NO)
            case "expiry":
                await self.approving.time_is_over(CALL)
                await self.approving.expires()
            case _:
                await self.desk.falls_silent(self.claimed.claim.worker_id)
                await self.desk.reaps()

    async def goes_on(self) -> None:
        """Workers and the approver do what they can, until nothing more comes of it."""
        for _ in range(3):
            await self.step("approve")
            await self._claim()
            probed = await self._looks()
            if probed.answer is ProbeAnswer.CUT:
                await self.desk.settles(self.claimed, Cut(probed.cut))
            await self.step("use")
            await self.step("park")

    async def _looks(self) -> interrupts.Probed:
        """A worker's look at a cut point, as it is written in one transaction."""
        known = await self.desk.event_seq(self.claimed.claim.thread_id)
        async with self.desk.database.transaction() as tx:
            await suspension.answer_before_a_pause(tx, self.claimed.claim)
            return await interrupts.probe(tx, self.claimed.claim, known)

    async def _claim(self) -> None:
        claimed = await self.desk.claims(f"w{next(self._tokens)}")
        if isinstance(claimed, Claimed) and claimed.run.id == self.run_id:
            self.claimed = claimed


async def in_order(desk, first, second) -> None:
    """Let two sides through the thread's lock in this order."""
    async with desk.database.transaction() as tx:
        await threads.lock_at(tx, PLACE)
        one = asyncio.ensure_future(first)
        await _queued(desk, one, 1)
        other = asyncio.ensure_future(second)
        await _queued(desk, other, 1 + (not one.done()))
    await asyncio.gather(one, other)


async def _queued(desk, side, number) -> None:
    """Wait until a side waits for the lock, or has passed by it: a claim leaves out a thread that is held."""
    waiting = asyncio.ensure_future(waiters(desk.watch, number))
    await asyncio.wait({side, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


@pytest.mark.parametrize("rival_first", [True, False], ids=["the rival first", "the rival second"])
@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("point", POINTS)
async def test_a_write_is_begun_at_most_once_and_never_after_the_other_side_has_won(desk, point, rival, rival_first):
    life = Life(desk)
    await life.begins()
    for earlier in POINTS[: POINTS.index(point)]:
        await life.step(earlier)
    before = life.begun
    sides = [life.step(point), life.rival(rival)]

    await in_order(desk, *(reversed(sides) if rival_first else sides))
    at_the_meeting = life.begun
    await life.goes_on()

    is_decided = POINTS.index(point) > POINTS.index("approve") or (point == "approve" and not rival_first)
    has_won = rival in WINS and not before and (rival_first or not at_the_meeting)
    if rival == "deny" and is_decided:
        # Who denies what is approved already is told to press Stop, and changes nothing.
        has_won = False
    assert life.begun <= 1
    assert life.begun == await life.approving.started()
    assert (life.begun == 0) is has_won
    assert await desk.value("select count(*) from approvals where state in ('waiting', 'approved')") == 0
