"""Looks after what nobody looks after: lost workers, hung stops, overlong pauses, and people not known yet.

Every process may run one; each step locks the thread and looks again, so that two do no harm.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.errors import DatabaseBusyError, DatabaseUnavailableError
from bot.telemetry import log
from storage import queue, settlement
from storage.engine import Database
from storage.settlement import Means


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: a worker's lease, the grace of a stop that hangs, and the longest pause (design, sections 6 and 7)."""

    lease_s: float = 15.0
    hung_stop_s: float = 4.0
    pause_s: float = 72 * 3600.0
    look_every_s: float = 1.0


class Reaper:
    """One reaper."""

    def __init__(
        self, database: Database, means: Means, limits: Limits, judge_people: Callable[[], Awaitable[None]]
    ) -> None:
        self._database, self._means, self._limits = database, means, limits
        self._judge_people = judge_people

    async def run(self) -> None:
        """Look around until cancelled."""
        away = False
        while True:
            try:
                # After an outage every heartbeat is old, and every worker alive: they get one lease to say so.
                if away:
                    await asyncio.sleep(self._limits.lease_s)
                await self.look()
                away = False
            except DatabaseUnavailableError as error:
                # A lock that was held for a moment makes no heartbeat old.
                away = not isinstance(error, DatabaseBusyError)
            await asyncio.sleep(self._limits.look_every_s)

    async def look(self) -> None:
        """Look once."""
        await self._take_over()
        await self._end_hung_stops()
        await self._end_pauses()
        await self._judge_people()

    async def _take_over(self) -> None:
        async with self._database.transaction() as tx:
            lost = await queue.lost_threads(tx, self._limits.lease_s)
        for thread_id in lost:
            async with self._database.transaction() as tx:
                settled = await queue.take_back(tx, thread_id, self._limits.lease_s, self._means)
            log.warning("thread.taken_back", thread_id=thread_id, reason=settled.reason if settled else None)

    async def _end_hung_stops(self) -> None:
        async with self._database.transaction() as tx:
            hung = await queue.hung_stops(tx, self._limits.hung_stop_s)
        for thread_id, run_id in hung:
            async with self._database.transaction() as tx:
                await settlement.overdue_stop(tx, thread_id, run_id, self._limits.hung_stop_s, self._means)
            log.warning("run.stop_was_hung", run_id=run_id)

    async def _end_pauses(self) -> None:
        async with self._database.transaction() as tx:
            overdue = await queue.overdue_pauses(tx, self._limits.pause_s)
        for thread_id, run_id in overdue:
            async with self._database.transaction() as tx:
                await queue.end_pause(tx, thread_id, run_id, self._limits.pause_s, self._means)
            log.info("run.pause_ended", run_id=run_id)
