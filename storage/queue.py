"""Who works on what: workers, claims, heartbeats, and taking over from a worker that was lost."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.rules.interrupt_order import Pending
from bot.rules.limits import NO_LIVE_LIMITS, LiveLimits
from bot.rules.terms import (
    InterruptKind,
    InterruptSource,
    ParkedFor,
    RunState,
    ThreadState,
    Verdict,
)
from bot.rules.turn_ends import Abandoned, Cut, End, TimedOut
from storage import cards, closing, inbox_rows, notify, runs, settlement, taking, threads
from storage.engine import Transaction
from storage.limits import may_begin, note_held, one_claim_at_a_time
from storage.oversight_tables import halts
from storage.runs import Run
from storage.settlement import Means, Settled, stored_end
from storage.tables import clock, interrupts, workers
from storage.tables import runs as runs_table
from storage.tables import threads as threads_table
from storage.threads import Claim, Place, Thread

TAKEN_AT_FIRST_CLAIM = (Verdict.START, Verdict.STEER, Verdict.QUEUE, Verdict.HOLD, Verdict.NOTE)
MAX_ATTEMPTS = 3
"""Fruitless take-overs after which a run is abandoned (design, section 7)."""
_HALTED = sa.exists().where(halts.c.lifted_at.is_(None))


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim and what its worker needs to begin; `first` when the run starts with it."""

    claim: Claim
    place: Place
    run: Run
    first: bool
    earlier_read: bool


class Unclaimed(StrEnum):
    """Why nothing was claimed: nothing is ready, or what is ready is locked for a moment by another transaction."""

    NONE_READY = "none_ready"
    LOCKED = "locked"


async def claim(
    tx: Transaction,
    worker_id: str,
    means: Means,
    picked: Callable[[str], None] = lambda _: None,
    limits: LiveLimits = NO_LIVE_LIMITS,
) -> Claimed | Settled | Unclaimed:
    """Claim the thread that has waited longest, of those whose run may begin.

    `picked` is told which, before anything about it can go wrong.

    The first claim of a run takes the waiting messages into the history. A run whose newest message is older than
    the thread's last stop is settled instead of started, and one whose end is stored is settled with that end.
    """
    await one_claim_at_a_time(tx, limits)
    thread_id = await _ready_thread(tx, limits)
    if thread_id is None or not await _is_alive(tx, worker_id):
        await note_held(tx, limits)
        return Unclaimed.LOCKED if await _any_ready(tx, limits) else Unclaimed.NONE_READY
    picked(thread_id)
    thread = await threads.lock(tx, thread_id)
    run = await runs.newest(tx, thread_id)
    if thread is None or run is None or run.state is RunState.SETTLED:
        raise AssertionError(f"thread {thread_id} is ready without an unsettled run")
    end = await _end_before_start(tx, thread, run) if run.started_at is None else await stored_end(tx, thread, run)
    if end is not None:
        return await settlement.settle_locked(tx, thread, run, end, means)
    return await _own(tx, thread, run, worker_id)


async def put_off(tx: Transaction, thread_id: str, seconds: float) -> None:
    """Let a thread wait whose claim broke: tried first again and again it would keep all others from their turn."""
    thread = await threads.lock(tx, thread_id)
    if thread is not None and thread.state is ThreadState.READY:
        later = clock() + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)
        await threads.change(tx, thread_id, ready_at=later)


async def give_back(tx: Transaction, claim: Claim) -> bool:
    """Hand a run back so that any worker may go on with it; the run itself does not change."""
    thread = await threads.lock_owned(tx, claim)
    if thread is None:
        return False
    await threads.release(tx, thread, ThreadState.READY)
    await notify.notify(tx, notify.READY, thread=thread.id)
    return True


async def lost_threads(tx: Transaction, lease_s: float) -> list[str]:
    """The threads whose worker has not been heard of for longer than the lease."""
    lost = (
        sa
        .select(threads_table.c.id)
        .select_from(threads_table.outerjoin(workers, workers.c.id == threads_table.c.owner))
        .where(threads_table.c.owner.is_not(None), _is_lost(lease_s))
    )
    return list((await tx.execute(lost)).scalars())


async def take_back(tx: Transaction, thread_id: str, lease_s: float, means: Means) -> Settled | None:
    """Take a thread from a lost worker: settle a run whose end is stored, abandon one that gets nowhere, else ready."""
    thread = await threads.lock(tx, thread_id)
    if thread is None or thread.owner is None or not await _owner_is_lost(tx, thread.owner, lease_s):
        return None
    await tx.execute(sa.update(workers).where(workers.c.id == thread.owner).values(state="dead"))
    run = await runs.newest(tx, thread_id)
    if run is None or run.state is RunState.SETTLED:
        raise AssertionError(f"thread {thread_id} has an owner and no unsettled run")
    # An attempt counts only where the run has stored nothing since the last one.
    attempts = run.attempts + 1 if thread.event_seq <= run.progress_seq else 0
    end = await stored_end(tx, thread, run) or (Abandoned() if attempts >= MAX_ATTEMPTS else None)
    if end is not None:
        return await settlement.settle_locked(tx, thread, run, end, means)
    await runs.change(tx, run.id, attempts=attempts, progress_seq=thread.event_seq)
    await threads.release(tx, thread, ThreadState.READY)
    await notify.notify(tx, notify.READY, thread=thread.id)
    await cards.bump(tx, run.id, at_once=True)
    return None


async def hung_stops(tx: Transaction, grace_s: float) -> list[tuple[str, str]]:
    """Threads and runs that have been cancelling for longer than the grace."""
    return await _runs_where(tx, RunState.CANCELLING, runs_table.c.cancelling_at, grace_s)


async def overdue_pauses(tx: Transaction, limit_s: float) -> list[tuple[str, str]]:
    """Threads and runs that have been paused for longer than the limit."""
    return await _runs_where(tx, RunState.PARKED, runs_table.c.parked_at, limit_s)


async def end_pause(tx: Transaction, thread_id: str, run_id: str, limit_s: float, means: Means) -> Settled | None:
    """Settle a run whose pause outlived its limit."""
    thread = await threads.lock(tx, thread_id)
    still = (thread_id, run_id) in await overdue_pauses(tx, limit_s)
    run = await runs.get(tx, run_id) if still else None
    if thread is None or run is None or run.parked_for is not ParkedFor.PAUSED:
        return None
    return await settlement.settle_locked(tx, thread, run, TimedOut(), means)


async def _own(tx: Transaction, thread: Thread, run: Run, worker_id: str) -> Claimed:
    first = run.started_at is None
    thread = replace(thread, fence=thread.fence + 1)
    owned = {"state": ThreadState.RUNNING, "owner": worker_id, "fence": thread.fence, "ready_at": None}
    await threads.change(tx, thread.id, **owned)
    await (_begin(tx, thread, run) if first else _continue(tx, thread, run))
    fresh = await runs.get(tx, run.id)
    if fresh is None:
        raise AssertionError(f"run {run.id} vanished")
    return Claimed(Claim(thread.id, run.id, worker_id, thread.fence), thread.place, fresh, first, thread.earlier_read)


async def _begin(tx: Transaction, thread: Thread, run: Run) -> None:
    """Start a run with the messages that wait; taking them is no progress of its own."""
    waiting = await inbox_rows.waiting(tx, thread.id, TAKEN_AT_FIRST_CLAIM)
    taken = await taking.take(tx, thread, run.id, waiting)
    progress = thread.event_seq + len(taken)
    await runs.change(tx, run.id, state=RunState.RUNNING, started_at=clock(), progress_seq=progress, held_by=None)
    await cards.bump(tx, run.id, at_once=True)


async def _continue(tx: Transaction, thread: Thread, run: Run) -> None:
    """Go on with a run; that somebody says how its lost writes stand is no progress either."""
    answered = await closing.answer_lost_writes(tx, thread, run)
    if answered.event_seq > thread.event_seq:
        await runs.change(tx, run.id, progress_seq=run.progress_seq + answered.event_seq - thread.event_seq)


async def _ready_thread(tx: Transaction, limits: LiveLimits) -> str | None:
    ready = (
        sa
        .select(threads_table.c.id)
        .where(_is_ready(), may_begin(limits))
        .order_by(threads_table.c.ready_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    found: str | None = (await tx.execute(ready)).scalar_one_or_none()
    return found


def _is_ready() -> sa.ColumnElement[bool]:
    """One that was put off is ready when its time has come; while a halt stands none is."""
    return sa.and_(threads_table.c.state == ThreadState.READY, threads_table.c.ready_at <= clock(), ~_HALTED)


async def _any_ready(tx: Transaction, limits: LiveLimits) -> bool:
    ready = sa.select(threads_table.c.id).where(_is_ready(), may_begin(limits))
    return (await tx.execute(ready.limit(1))).first() is not None


async def _is_alive(tx: Transaction, worker_id: str) -> bool:
    alive = sa.select(workers.c.id).where(workers.c.id == worker_id, workers.c.state == "alive")
    return (await tx.execute(alive)).first() is not None


async def _end_before_start(tx: Transaction, thread: Thread, run: Run) -> End | None:
    newest = await inbox_rows.newest_ask(tx, run)
    is_stopped = newest is not None and thread.stopped_before_ts is not None and newest <= thread.stopped_before_ts
    return Cut(await _last_stop(tx, thread)) if is_stopped else None


async def _last_stop(tx: Transaction, thread: Thread) -> Pending:
    last = (
        sa
        .select(interrupts.c.source, interrupts.c.requested_by)
        .where(interrupts.c.thread_id == thread.id, interrupts.c.kind == InterruptKind.STOP)
        .order_by(interrupts.c.requested_at.desc())
        .limit(1)
    )
    row = (await tx.execute(last)).one_or_none()
    source, who = (InterruptSource(row[0]), row[1]) if row else (InterruptSource.MESSAGE, "")
    return Pending(InterruptKind.STOP, source, who)


def _is_lost(lease_s: float) -> sa.ColumnElement[bool]:
    silent = workers.c.heartbeat_at < clock() - sa.func.make_interval(0, 0, 0, 0, 0, 0, lease_s)
    return sa.or_(workers.c.id.is_(None), workers.c.state == "dead", silent)


async def _owner_is_lost(tx: Transaction, worker_id: str, lease_s: float) -> bool:
    row = sa.select(_is_lost(lease_s)).where(workers.c.id == worker_id).with_for_update()
    lost = (await tx.execute(row)).scalar_one_or_none()
    return lost is None or bool(lost)


async def _runs_where(
    tx: Transaction, state: RunState, since: sa.ColumnElement[Any], longer_than_s: float
) -> list[tuple[str, str]]:
    interval = sa.func.make_interval(0, 0, 0, 0, 0, 0, longer_than_s)
    found = sa.select(runs_table.c.thread_id, runs_table.c.id).where(
        runs_table.c.state == state, since < clock() - interval
    )
    return [(row[0], row[1]) for row in await tx.execute(found)]
