"""Work that the brake may end: the one way in which a wait is tied to a run's brake."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bot.interrupts.brake import Brake

T = TypeVar("T")

LETTING_GO_S = 0.5
"""Seconds that cancelled work is given to let go; what ignores its cancellation is left behind, not waited for."""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The work came to its end first."""

    value: T


async def unless_pulled(brake: Brake, work: Coroutine[Any, Any, T], *, hard_only: bool = False) -> Done[T] | None:
    """Do work until the brake is pulled; None when it was ended by the brake.

    Work that has ended counts, even when the brake was pulled in the same instant: what came is not thrown away here.
    """
    if brake.is_hard or (brake.is_pulled and not hard_only):
        # Begun work would get as far as its first wait, and a request could leave.
        work.close()
        return None
    return await unless(brake.pulled_hard() if hard_only else brake.pulled(), work)


async def unless(signal: Coroutine[Any, Any, object], work: Coroutine[Any, Any, T]) -> Done[T] | None:
    """Do work until a signal comes; the work is then cancelled once, by this function alone."""
    worker, watcher = asyncio.ensure_future(work), asyncio.ensure_future(signal)
    try:
        await asyncio.wait({worker, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if worker.done():
            return Done(worker.result())
        worker.cancel()
        await asyncio.wait({worker}, timeout=LETTING_GO_S)
        return None
    finally:
        watcher.cancel()
        if not worker.done():
            worker.cancel()
