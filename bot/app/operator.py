"""What whoever runs Steersman may do without Slack and without any worker: list runs, stop them, halt everything.

Every act is written to the database as an interrupt is, so that it works with every worker down.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from bot.app.database import ready_database
from bot.app.ids import mint_id
from bot.app.services import answer_parts
from bot.rules.terms import InterruptKind, InterruptSource
from bot.settings.environment import Settings
from storage import halts, unsettled
from storage.commands import Commanded
from storage.engine import Database, Transaction
from storage.halts import Halt
from storage.interrupts import Order
from storage.settlement import Means
from storage.unsettled import Unsettled

T = TypeVar("T")

AT_A_TIME = 5
"""Threads that are stopped side by side: one that is locked holds up no other."""


class Operator:
    """The operator at work; `who` is the name that the records and the cards say."""

    def __init__(self, database: Database, who: str, means: Means) -> None:
        self._database, self._who, self._means = database, who, means

    async def runs(self) -> list[Unsettled]:
        """Every run that has not ended, the oldest first."""
        return await self._do(unsettled.listed)

    async def stop(self, run_id: str, reason: str) -> Commanded | None:
        """Stop one run; None where there is no such run."""
        order = Order(mint_id(), InterruptKind.STOP, InterruptSource.API, self._who, reason=reason)
        return await self._do(lambda tx: unsettled.order(tx, run_id, order, self._means))

    async def stop_all(self, reason: str) -> list[tuple[str, Commanded]]:
        """Stop every run that has not ended; what became of each."""
        found = await self.runs()
        stopped = [(each.run_id, await self.stop(each.run_id, reason)) for each in found]
        return [(run_id, done) for run_id, done in stopped if done is not None]

    async def halt(self, reason: str) -> Halt:
        """Halt everything, and stop every run; returns the halt that stands."""
        halt_id = mint_id()
        halt = await self._do(lambda tx: halts.begin(tx, halt_id, self._who, reason))
        # A thread that is locked right now is left to the reapers: the halt stands, and it cannot go on either way.
        await self._sweep()
        return halt

    async def unhalt(self) -> Halt | None:
        """Let things start again; what a halt has not reached yet is stopped first, or it would go on by itself."""
        missed = await self._sweep()
        if missed:
            raise missed[0]
        return await self._do(lambda tx: halts.lift(tx, self._who))

    async def halted(self) -> Halt | None:
        """The halt that stands."""
        return await self._do(halts.standing)

    async def _sweep(self) -> list[BaseException]:
        """Stop what is not being stopped; the errors of what could not be."""
        places = asyncio.Semaphore(AT_A_TIME)

        async def stop(thread_id: str) -> None:
            async with places:
                await self._do(lambda tx: halts.stop_thread(tx, thread_id, self._means))

        stops = [stop(each) for each in await self._do(halts.unstopped)]
        return [each for each in await asyncio.gather(*stops, return_exceptions=True) if each is not None]

    async def _do(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self._database.persist(work, give_up=lambda: True)


@asynccontextmanager
async def operator(settings: Settings, who: str) -> AsyncIterator[Operator]:
    """The operator on the database of these settings."""
    database = Database(await ready_database(settings), pool_size=AT_A_TIME)
    try:
        yield Operator(database, who, Means(mint_id, answer_parts(settings)))
    finally:
        await database.close()
