"""Holding a lease for one call, and giving it back when the process ends.

Else nobody could take it before it runs out: after a deploy that is the first thing people would see.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from bot.errors import DatabaseUnavailableError

Leased = TypeVar("Leased")


@asynccontextmanager
async def held(
    take: Awaitable[Leased | None], give_back: Callable[[Leased], Awaitable[None]]
) -> AsyncIterator[Leased | None]:
    """Take a lease and hold it; None where there is nothing to lease. Whoever is cancelled meanwhile gives it back.

    Also what is only being taken when the cancellation comes: its commit may have happened already.
    """
    taking = asyncio.ensure_future(take)
    try:
        yield await asyncio.shield(taking)
    except asyncio.CancelledError:
        with suppress(DatabaseUnavailableError):
            leased = await taking
            if leased is not None:
                await give_back(leased)
        raise
