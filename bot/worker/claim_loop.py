"""Claims ready threads while there is room, and works each off in a task of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from bot.errors import DatabaseUnavailableError
from bot.interrupts.races import to_the_end
from bot.metrics import current
from bot.rules.limits import NO_LIVE_LIMITS, LiveLimits
from bot.telemetry import log
from bot.worker.faults import contained
from storage import queue
from storage.engine import Database
from storage.queue import Claimed, Unclaimed
from storage.settlement import Means, Settled

PUT_OFF_S = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds that a thread waits whose claim broke, at its first time, its second, and so on; the last one ever after."""
MOST_BROKEN = 1000
LOCKED_S = 0.02
"""Seconds until a ready thread that was locked is tried again: a second copy of its message holds it that long."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much a worker takes on: so many runs at once, under these limits of live runs.

    poll_s: how long it waits without a hint before it looks by itself.
    """

    at_once: int
    poll_s: float
    limits: LiveLimits = NO_LIVE_LIMITS


class ClaimLoop:
    """The claims of one worker."""

    def __init__(
        self, database: Database, means: Means, work: Callable[[Claimed], Awaitable[None]], room: Room
    ) -> None:
        self._database, self._means, self._work = database, means, work
        self._at_once, self._poll_s, self._limits = room.at_once, room.poll_s, room.limits
        self._hint, self._room = asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._broke: dict[str, int] = {}
        self._closed, self._claims_nothing = asyncio.Event(), asyncio.Event()

    async def close(self) -> None:
        """Claim nothing more; when this returns no claim is under way. The runs go on."""
        self._closed.set()
        self._hint.set()
        self._room.set()
        await self._claims_nothing.wait()

    async def idle(self) -> None:
        """Wait until no run is at work here; only a loop that is closed stays so."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def hear(self) -> None:
        """Something is ready."""
        self._hint.set()

    async def run(self, worker_id: str) -> None:
        """Claim until closed, and work until cancelled; the runs under way then hand themselves back."""
        self._claims_nothing.clear()
        try:
            await self._claim_on(worker_id)
            self._claims_nothing.set()
            await asyncio.Event().wait()
        finally:
            self._claims_nothing.set()
            await to_the_end(self._end_all())

    async def _claim_on(self, worker_id: str) -> None:
        while True:
            await self._until_room()
            if self._closed.is_set():
                return
            self._hint.clear()
            # Cancelled in the middle, a claim could be ours without anybody who works on it or hands it back.
            wait_s = await to_the_end(self._claim(worker_id))
            await self._until_hint(wait_s)

    async def _until_room(self) -> None:
        while len(self._tasks) >= self._at_once and not self._closed.is_set():
            self._room.clear()
            await self._room.wait()

    async def _until_hint(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0 if self._closed.is_set() else seconds):
                await self._hint.wait()

    async def _claim(self, worker_id: str) -> float:
        """Claim one thread and begin with it; the seconds until the next look, if no hint comes before."""
        picked: list[str] = []
        try:
            claimed = await contained("claim.broke", self._take(worker_id, picked))
            if claimed is None and picked:
                await contained("claim.not_put_off", self._put_off(picked[0]))
                return LOCKED_S
        except DatabaseUnavailableError:
            return self._poll_s
        for thread_id in picked:
            self._broke.pop(thread_id, None)
        return self._began(claimed)

    def _began(self, claimed: Claimed | Settled | Unclaimed | None) -> float:
        match claimed:
            case Claimed():
                self._begin(claimed)
                return 0
            case Settled():
                return 0
            case Unclaimed.LOCKED:
                return LOCKED_S
            case _:
                return self._poll_s

    async def _take(self, worker_id: str, picked: list[str]) -> Claimed | Settled | Unclaimed:
        async with self._database.transaction() as tx:
            return await queue.claim(tx, worker_id, self._means, picked.append, self._limits)

    async def _put_off(self, thread_id: str) -> None:
        """Have a thread whose claim broke wait, longer each time, so that all others have their turn."""
        times = self._broke.pop(thread_id, 0) + 1
        self._broke[thread_id] = times
        if len(self._broke) > MOST_BROKEN:
            del self._broke[next(iter(self._broke))]
        seconds = PUT_OFF_S[min(times, len(PUT_OFF_S)) - 1]
        current().claims_put_off.inc()
        log.error("claim.put_off", thread_id=thread_id, times=times, seconds=seconds)
        async with self._database.transaction() as tx:
            await queue.put_off(tx, thread_id, seconds)

    def _begin(self, claimed: Claimed) -> None:
        task = asyncio.create_task(self._one(claimed))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _one(self, claimed: Claimed) -> None:
        with suppress(DatabaseUnavailableError):
            await contained("run.escaped", self._work(claimed), run_id=claimed.claim.run_id)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.set()
        if self._limits.any:
            # A run that waited for this one to end may begin now.
            self._hint.set()

    async def _end_all(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
