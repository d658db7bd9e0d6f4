"""Work that may be ended from outside: the one way in which a wait is tied to a run's brake.

Work is cancelled once, by the function that began it, and is waited for only a moment: what ignores its cancellation
is left behind. Nothing here may lose an error, or leave a task that nobody holds.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bot.errors import DatabaseUnavailableError
from bot.interrupts.brake import Brake, Signal
from bot.telemetry import log

T = TypeVar("T")

LETTING_GO_S = 0.5
"""Seconds that cancelled work is given to let go; what ignores its cancellation is left behind, not waited for."""

_AT_WORK: set[asyncio.Future[Any]] = set()
"""The event loop holds its tasks weakly: work that was left behind could be collected in the middle of a write."""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The work came to its end."""

    value: T


async def unless_pulled(brake: Brake, work: Coroutine[Any, Any, T], *, hard_only: bool = False) -> Done[T] | None:
    """Do work until the brake is pulled; None when the brake ended it, or did not let it begin."""
    return await unless(work, brake.hard_signal if hard_only else brake.soft_signal)


async def unless(work: Coroutine[Any, Any, T], *signals: Signal) -> Done[T] | None:
    """Do work until one of the signals is given; None when that ended it, or when one was given before it began.

    Work that came to its end counts, even in the same instant, or while it was letting go: nothing that came is
    thrown away here. An error while it was letting go is no news to whoever ended it.
    """
    watchers = [asyncio.ensure_future(signal.wait()) for signal in signals]
    worker = _begin(_begun(work, signals))
    told = False
    try:
        await asyncio.wait({worker, *watchers}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for watcher in watchers:
            watcher.cancel()
        if not worker.done():
            told = True
            await _let_go(worker)
        if worker.done():
            # It may never have begun: the task was cancelled before its first step.
            work.close()
    return _came_of(worker) if not told else _in_the_end(worker)


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Do short work whole, however often its caller is cancelled meanwhile; that cancellation is raised afterwards."""
    worker, cancelled = _begin(work), False
    while not worker.done():
        try:
            await asyncio.wait({worker})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return worker.result()


async def together(pieces: Iterable[Coroutine[Any, Any, None]], beside: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do pieces of work side by side, and what is `beside` them for as long as they last.

    There is at least one piece. Where one breaks the others are cancelled, and its error is raised as it is: a group
    of errors would hide an outage from whoever waits for exactly that.
    """
    try:
        async with asyncio.TaskGroup() as group:
            companions = [group.create_task(each) for each in beside]
            await asyncio.wait([group.create_task(each) for each in pieces])
            for companion in companions:
                companion.cancel()
    except ExceptionGroup as broke:
        _raise_if_cancelled(broke)
        raise _decisive(broke.exceptions) from broke


def _begin(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    worker = asyncio.create_task(work)
    _AT_WORK.add(worker)
    worker.add_done_callback(_over)
    return worker


def _over(worker: asyncio.Task[Any]) -> None:
    _AT_WORK.discard(worker)
    if not worker.cancelled():
        # Otherwise asyncio complains, at some later time, of an error that nobody asked for.
        worker.exception()


async def _begun(work: Coroutine[Any, Any, T], signals: Sequence[Signal]) -> Done[T] | None:
    # Begun work would get as far as its first wait, and a request could leave.
    return None if any(signal.is_set() for signal in signals) else Done(await work)


async def _let_go(worker: asyncio.Task[Any]) -> None:
    worker.cancel()
    await asyncio.wait({worker}, timeout=LETTING_GO_S)
    if not worker.done():
        log.warning("work.left_behind", work=getattr(worker.get_coro(), "__qualname__", ""))


def _came_of(worker: asyncio.Task[Done[T] | None]) -> Done[T] | None:
    if worker.cancelled():
        # Passed on, it would look as if our own caller had been cancelled.
        raise RuntimeError("work was cancelled by somebody who did not begin it")
    return worker.result()


def _in_the_end(worker: asyncio.Task[Done[T] | None]) -> Done[T] | None:
    is_whole = worker.done() and not worker.cancelled() and worker.exception() is None
    return worker.result() if is_whole else None


def _raise_if_cancelled(broke: ExceptionGroup[Exception]) -> None:
    """Say so where the caller was cancelled: a group that has errors to tell keeps that to itself."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from broke


def _decisive(errors: Sequence[Exception]) -> Exception:
    return next((error for error in errors if isinstance(error, DatabaseUnavailableError)), errors[0])
