"""Claims ready threads while there is room, and works each off in a task of its own."""

import asyncio
from collections.abc import Awaitable, Callable

from bot.errors import DatabaseUnavailableError
from bot.telemetry import log
from storage import queue
from storage.engine import Database
from storage.queue import Claimed, Unclaimed
from storage.settlement import Means, Settled

LOCKED_S = 0.02
"""Seconds until a ready thread that was locked is tried again: a second copy of its message holds it that long."""


class ClaimLoop:
    """The claims of one worker; `poll_s` is how long it waits without a hint before it looks by itself."""

    def __init__(
        self,
        database: Database,
        means: Means,
        work: Callable[[Claimed], Awaitable[None]],
        *,
        at_once: int,
        poll_s: float,
    ) -> None:
        self._database, self._means, self._work = database, means, work
        self._room = asyncio.Semaphore(at_once)
        self._poll_s = poll_s
        self._hint = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def hear(self) -> None:
        """Something is ready."""
        self._hint.set()

    async def run(self, worker_id: str) -> None:
        """Claim until cancelled; the runs under way are then cancelled too, and hand themselves back."""
        try:
            while True:
                await self._room.acquire()
                claimed = await self._claim(worker_id)
                if isinstance(claimed, Claimed):
                    self._begin(claimed)
                    continue
                self._room.release()
                if isinstance(claimed, Unclaimed):
                    await self._wait(LOCKED_S if claimed is Unclaimed.LOCKED else self._poll_s)
        finally:
            await self._end_all()

    async def _claim(self, worker_id: str) -> Claimed | Settled | Unclaimed:
        self._hint.clear()
        try:
            async with self._database.transaction() as tx:
                return await queue.claim(tx, worker_id, self._means)
        except DatabaseUnavailableError:
            return Unclaimed.NONE_READY

    def _begin(self, claimed: Claimed) -> None:
        task = asyncio.create_task(self._one(claimed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _one(self, claimed: Claimed) -> None:
        try:
            await self._work(claimed)
        # A fault outside a turn may not end the loop that every other run needs.
        except Exception:
            log.exception("claim.broke", run_id=claimed.claim.run_id)
        finally:
            self._room.release()

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._hint.wait()
        except TimeoutError:
            return

    async def _end_all(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
