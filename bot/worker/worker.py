"""A worker: its claims, its heartbeat, its reaper and its ear for hints, alive and ended together."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from bot.errors import DatabaseUnavailableError, SettingsError
from bot.interrupts.races import to_the_end
from bot.interrupts.watcher import LiveRuns
from bot.rules.terms import InterruptKind
from bot.telemetry import log
from bot.worker.claim_loop import ClaimLoop
from bot.worker.drain import Drain
from bot.worker.heartbeat import DeclaredDeadError, Heartbeat
from bot.worker.reaper import Reaper
from storage import notify, workers
from storage.engine import Database
from storage.notify import Listener


class Worker:
    """One worker process's share of the work."""

    def __init__(self, database: Database, parts: tuple[ClaimLoop, Heartbeat, Reaper, Drain], live: LiveRuns) -> None:
        self._database = database
        self._claims, self._heartbeat, self._reaper, self._drain = parts
        ears = {
            notify.READY: lambda _: self._claims.hear(),
            notify.INTERRUPT: live.hear,
            notify.HALT: lambda _: live.pull_all(InterruptKind.STOP),
        }
        self._listener = Listener(database.dsn, ears)

    async def run(self, mint_id: Callable[[], str]) -> None:
        """Work until drained or cancelled; a worker that was declared dead begins anew under another id."""
        is_over = False
        while not is_over:
            worker_id = f"w-{mint_id()}"
            try:
                await self._live(worker_id)
                is_over = True
            except* DeclaredDeadError:
                log.warning("worker.declared_dead", worker_id=worker_id)

    async def _live(self, worker_id: str) -> None:
        await self._register(worker_id)
        log.info("worker.started", worker_id=worker_id)
        try:
            async with asyncio.TaskGroup() as group:
                forever = (
                    self._heartbeat.run(worker_id),
                    self._listener.run(),
                    self._claims.run(worker_id),
                    self._reaper.run(),
                )
                at_work = [group.create_task(each) for each in forever]
                await self._drain.run(worker_id)
                for each in at_work:
                    each.cancel()
        finally:
            await to_the_end(self._retire(worker_id))

    async def _retire(self, worker_id: str) -> None:
        """Say that this worker is gone, so that nobody waits for its lease."""
        with suppress(DatabaseUnavailableError, SettingsError):
            async with self._database.transaction() as tx:
                await workers.retire(tx, worker_id)

    async def _register(self, worker_id: str) -> None:
        await self._database.persist(lambda tx: workers.register(tx, worker_id), give_up=lambda: False)
