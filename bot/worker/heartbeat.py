"""Says every second that this worker lives, and hears what it owns and what is asked of its runs.

The lease counts from when the last good beat was sent: a beat that took long must not extend the trust. A worker
that could not beat for too long brakes its own runs, before anybody else takes them over; no beat that hangs, and no
pool without a free connection, may put that off.
"""

import asyncio
from dataclasses import dataclass

from bot.errors import DatabaseUnavailableError
from bot.interrupts.watcher import LiveRuns
from bot.telemetry import log
from storage import queue, workers
from storage.engine import Database
from storage.threads import Claim
from storage.workers import Owned


@dataclass(frozen=True, slots=True)
class Lease:
    """Seconds: how often a worker beats, how long it is believed, and when it stops believing itself."""

    beat_s: float = 1.0
    lease_s: float = 15.0
    self_fence_s: float = 12.0


class DeclaredDeadError(Exception):
    """Another process has declared this worker dead; it must begin anew under another id."""


class Heartbeat:
    """The beat of one worker."""

    def __init__(self, database: Database, live: LiveRuns, lease: Lease) -> None:
        self._database, self._live, self._lease = database, live, lease
        self._not_run: frozenset[tuple[str, int]] = frozenset()

    async def run(self, worker_id: str) -> None:
        """Beat until cancelled; raises DeclaredDeadError."""
        loop = asyncio.get_running_loop()
        trust_ends = loop.call_later(self._lease.self_fence_s, self._live.lose_all)
        try:
            while True:
                sent = loop.time()
                if await self._beat(worker_id):
                    trust_ends.cancel()
                    trust_ends = loop.call_at(sent + self._lease.self_fence_s, self._live.lose_all)
                elif loop.time() > trust_ends.when():
                    # What was claimed since then is no more to be trusted.
                    self._live.lose_all()
                await asyncio.sleep(self._lease.beat_s)
        finally:
            trust_ends.cancel()

    async def _beat(self, worker_id: str) -> bool:
        # A run that is claimed while the beat is under way is in no answer to it.
        held = self._live.holds()
        try:
            async with asyncio.timeout(self._lease.self_fence_s / 2), self._database.transaction() as tx:
                owned = await workers.heartbeat(tx, worker_id)
        except (DatabaseUnavailableError, TimeoutError):
            return False
        if owned is None:
            self._live.lose_all()
            raise DeclaredDeadError
        await self._compare(worker_id, owned, held)
        return True

    async def _compare(self, worker_id: str, owned: list[Owned], held: frozenset[tuple[str, int]]) -> None:
        """Brake what the database says is not ours, and give back what it says is ours and we do not run.

        A thread counts as not run when two beats in a row say so: between them the claim was still being read.
        """
        for each in owned:
            self._live.pull(each.run_id, each.kinds)
            if each.unknown:
                # During a deploy: whoever asked knows what it means, and the run goes on here as if nobody had.
                log.warning("interrupt.unknown", run_id=each.run_id, kinds=sorted(each.unknown))
        theirs = {(each.thread_id, each.fence): each for each in owned}
        self._live.lose(held - theirs.keys())
        idle = theirs.keys() - self._live.holds()
        for key in idle & self._not_run:
            await self._give_back(worker_id, theirs[key])
        self._not_run = frozenset(idle)

    async def _give_back(self, worker_id: str, owned: Owned) -> None:
        claim = Claim(owned.thread_id, owned.run_id, worker_id, owned.fence)
        try:
            # A thread whose row is locked may not hold up the next beat; it is tried again after that.
            async with asyncio.timeout(self._lease.beat_s), self._database.transaction() as tx:
                is_given = await queue.give_back(tx, claim)
        except (DatabaseUnavailableError, TimeoutError):
            return
        if is_given:
            log.warning("claim.given_back", run_id=owned.run_id, fence=owned.fence)
