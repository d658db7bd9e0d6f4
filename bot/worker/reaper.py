"""Looks after what nobody looks after: lost workers, hung stops, overlong pauses and questions, people not known yet.

Every process may run one; each step locks the thread and looks again, so that two do no harm.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from bot.errors import DatabaseBusyError, DatabaseUnavailableError
from bot.telemetry import log
from bot.worker.faults import contained
from bot.worker.queue_line import QueueLine
from storage import approval_rows, approvals, halts, limits, pauses, queue, settlement
from storage.engine import Database, Transaction
from storage.settlement import Means

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: a worker's lease, the grace of a stop that hangs, and the longest pause (design, sections 6 and 7).

    run_minutes: how long a run may work.
    """

    lease_s: float = 15.0
    hung_stop_s: float = 4.0
    pause_s: float = 72 * 3600.0
    run_minutes: float | None = None
    look_every_s: float = 1.0


class Reaper:
    """One reaper."""

    def __init__(
        self, database: Database, means: Means, settings: Limits, judge_people: Callable[[], Awaitable[None]]
    ) -> None:
        self._database, self._means, self._limits = database, means, settings
        self._judge_people = judge_people
        self._line = QueueLine(database)

    async def run(self) -> None:
        """Look around until cancelled."""
        clock = asyncio.get_running_loop().time
        # Whoever starts cannot know whether the database was away until now, which makes every heartbeat old.
        away, beats_count_from = True, 0.0
        while True:
            try:
                if away:
                    await self._is_there()
                    beats_count_from = clock() + self._limits.lease_s
                    away = False
                await self.look(take_over=clock() >= beats_count_from)
            except DatabaseUnavailableError as error:
                # A lock that was held for a moment makes no heartbeat old.
                away = away or not isinstance(error, DatabaseBusyError)
            await asyncio.sleep(self._limits.look_every_s)

    async def look(self, *, take_over: bool = True) -> None:
        """Look once; without `take_over` every worker is believed to be alive."""
        if take_over:
            await self._each("thread.not_taken_back", await self._read(self._lost), self._take_back)
        await self._each("run.stop_still_hangs", await self._read(self._hung), self._end_hung_stop)
        await self._each("run.still_paused", await self._read(self._overdue), self._end_pause)
        await self._each("run.not_reminded", await self._read(self._to_remind), self._remind)
        await contained("queue.not_repainted", self._line.look())
        await self._each("run.still_works", await self._read(self._late), self._end_late)
        await self._each("run.not_halted", await self._read(halts.unstopped), self._halt)
        await self._each("approval.still_waits", await self._read(approval_rows.overdue), self._expire)
        await contained("people.not_judged", self._judge_people())

    async def _is_there(self) -> None:
        """Raise DatabaseUnavailableError while the database is away."""
        await self._read(self._lost)

    async def _read(self, look: Callable[[Transaction], Awaitable[list[T]]]) -> list[T]:
        async with self._database.transaction() as tx:
            return await look(tx)

    async def _each(self, event: str, found: Iterable[T], end: Callable[[T], Awaitable[None]]) -> None:
        """Deal with what was found, one after the other; one that is locked or broken holds up no other."""
        for each in found:
            try:
                await contained(event, end(each), found=str(each))
            except DatabaseBusyError:
                log.info("reaper.will_look_again", found=str(each))

    async def _lost(self, tx: Transaction) -> list[str]:
        return await queue.lost_threads(tx, self._limits.lease_s)

    async def _take_back(self, thread_id: str) -> None:
        async with self._database.transaction() as tx:
            settled = await queue.take_back(tx, thread_id, self._limits.lease_s, self._means)
        log.warning("thread.taken_back", thread_id=thread_id, reason=settled.reason if settled else None)

    async def _hung(self, tx: Transaction) -> list[tuple[str, str]]:
        return await queue.hung_stops(tx, self._limits.hung_stop_s)

    async def _end_hung_stop(self, hung: tuple[str, str]) -> None:
        async with self._database.transaction() as tx:
            await settlement.overdue_stop(tx, *hung, self._limits.hung_stop_s, self._means)
        log.warning("run.stop_was_hung", run_id=hung[1])

    async def _late(self, tx: Transaction) -> list[tuple[str, str]]:
        minutes = self._limits.run_minutes
        return await limits.overdue(tx, minutes) if minutes is not None else []

    async def _end_late(self, late: tuple[str, str]) -> None:
        async with self._database.transaction() as tx:
            await limits.end_overdue(tx, *late, self._limits.run_minutes or 0, self._means)
        log.info("run.out_of_time", run_id=late[1])

    async def _halt(self, thread_id: str) -> None:
        async with self._database.transaction() as tx:
            await halts.stop_thread(tx, thread_id, self._means)
        log.info("run.halted", thread_id=thread_id)

    async def _expire(self, overdue: tuple[str, str]) -> None:
        async with self._database.transaction() as tx:
            is_expired = await approvals.expire(tx, *overdue)
        if is_expired:
            log.info("approval.expired", approval_id=overdue[1])

    async def _overdue(self, tx: Transaction) -> list[tuple[str, str]]:
        return await queue.overdue_pauses(tx, self._limits.pause_s)

    async def _to_remind(self, tx: Transaction) -> list[tuple[str, str]]:
        after_s = pauses.remind_after(self._limits.pause_s)
        return await pauses.to_remind(tx, after_s) if after_s is not None else []

    async def _remind(self, paused: tuple[str, str]) -> None:
        after_s = pauses.remind_after(self._limits.pause_s) or 0
        async with self._database.transaction() as tx:
            is_told = await pauses.remind(tx, *paused, after_s, self._means.mint_id())
        if is_told:
            log.info("run.pause_reminded", run_id=paused[1])

    async def _end_pause(self, overdue: tuple[str, str]) -> None:
        async with self._database.transaction() as tx:
            await queue.end_pause(tx, *overdue, self._limits.pause_s, self._means)
        log.info("run.pause_ended", run_id=overdue[1])
