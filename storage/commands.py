"""Stop, pause and resume: recorded for the worker that owns the run, carried out at once where none does.

Stop works with every worker down, and a stop never touches what was asked after it.
"""

from dataclasses import dataclass, replace

import sqlalchemy as sa

from bot.rules.command_words import Result
from bot.rules.inbound_message import ts_order
from bot.rules.interrupt_order import Pending
from bot.rules.terms import (
    InterruptKind,
    InterruptScope,
    InterruptSource,
    ParkedFor,
    RunState,
    SettleReason,
    Verdict,
)
from bot.rules.turn_ends import Cut
from storage import cards, closing, inbox_rows, interrupts, notify, posts, runs, settlement, taking, threads
from storage.columns import SlackTs
from storage.engine import Transaction
from storage.interrupts import Order
from storage.runs import Run
from storage.settlement import Means
from storage.tables import clock
from storage.tables import runs as runs_table
from storage.tables import threads as threads_table
from storage.threads import Thread

OF_A_PERSON = frozenset({
    InterruptSource.BUTTON,
    InterruptSource.NATIVE_STOP,
    InterruptSource.MESSAGE,
    InterruptSource.API,
    InterruptSource.HALT,
})
"""After a stop of these nothing starts by itself; one by a limit only ends its run."""

NAMES_NO_RUN = frozenset({InterruptSource.MESSAGE, InterruptSource.NATIVE_STOP})
"""A stop of these is meant for what ran when it was sent; it may come late, when something newer runs."""


@dataclass(frozen=True, slots=True)
class Commanded:
    """What a command came to, and for which run."""

    result: Result
    run_id: str | None = None


async def stop(tx: Transaction, thread: Thread, order: Order, means: Means) -> Commanded:
    """Stop the unsettled run of a locked thread, and whatever was asked before this stop and has not started."""
    thread = await _mark(tx, thread, order)
    run = await runs.newest(tx, thread.id)
    if run is None or run.state is RunState.SETTLED:
        return await _nothing_to_stop(tx, run)
    if await _is_for_an_older_run(tx, run, order):
        return Commanded(Result.NEWER_REQUEST, run.id)
    order = await _clear(tx, thread, order)
    if run.state is RunState.CANCELLING and not order.withdrawn and not await interrupts.is_taken_back(tx, run):
        return Commanded(Result.ALREADY_STOPPING, run.id)
    await interrupts.record(tx, thread, run, order)
    if thread.owner is None:
        await settlement.settle_locked(tx, thread, run, Cut(_pending(order)), means)
        return Commanded(Result.STOPPED, run.id)
    await cancel(tx, run, order.kind)
    return Commanded(Result.STOPPING, run.id)


async def pause(tx: Transaction, thread: Thread, order: Order, means: Means) -> Commanded:
    """Pause the unsettled run of a locked thread; one that has ended already, and only lacks a worker, is settled."""
    run = await runs.newest(tx, thread.id)
    if run is None or run.state is RunState.SETTLED:
        return await _nothing_to_stop(tx, run)
    if run.parked_for is ParkedFor.PAUSED:
        return Commanded(Result.ALREADY_PAUSED, run.id)
    if run.state is RunState.CANCELLING or run.cut is not None:
        return Commanded(Result.ALREADY_STOPPING, run.id)
    if any(each.kind is InterruptKind.PAUSE for each in await interrupts.pending(tx, run)):
        return Commanded(Result.ALREADY_PAUSING, run.id)
    end = await settlement.stored_end(tx, thread, run) if thread.owner is None else None
    if end is not None:
        await settlement.settle_locked(tx, thread, run, end, means)
        return await _nothing_to_stop(tx, run)
    await interrupts.record(tx, thread, run, order)
    if thread.owner is None:
        thread = await closing.answer_unstarted_writes(tx, thread, run, order.kind)
        await interrupts.park(tx, thread, run, _pending(order))
        return Commanded(Result.PAUSED, run.id)
    await _tell_owner(tx, run, order.kind)
    return Commanded(Result.PAUSING, run.id)


async def resume(tx: Transaction, thread: Thread, pause_id: str | None) -> Commanded:
    """Go on with a paused run: same run, same card; held messages are taken. `pause_id` None means whichever pause."""
    run = await runs.newest(tx, thread.id)
    if run is None or run.state is RunState.SETTLED:
        return await _nothing_to_stop(tx, run)
    if run.parked_for is ParkedFor.APPROVAL:
        return Commanded(Result.WAITS_FOR_APPROVAL, run.id)
    if run.parked_for is not ParkedFor.PAUSED:
        withdrawn = await interrupts.make_moot(tx, run.id, InterruptKind.PAUSE)
        if withdrawn:
            await cards.bump(tx, run.id, at_once=True)
        return Commanded(Result.PAUSE_WITHDRAWN if withdrawn else Result.NOT_PAUSED, run.id)
    if pause_id is not None and pause_id != run.pause_id:
        return Commanded(Result.STALE, run.id)
    if run.started_at is not None:
        await taking.take(tx, thread, run.id, await inbox_rows.waiting(tx, thread.id, [Verdict.HOLD]))
    await interrupts.unpark(tx, thread, run)
    return Commanded(Result.RESUMED, run.id)


async def cancel(tx: Transaction, run: Run, kind: InterruptKind) -> None:
    """Have the worker of a run end it at once; what it is still at when the grace is over is settled without it."""
    since = sa.func.coalesce(runs_table.c.cancelling_at, clock())
    await runs.change(tx, run.id, state=RunState.CANCELLING, cancelling_at=since)
    await interrupts.cancel(tx, run.id)
    await _tell_owner(tx, run, kind)


async def _tell_owner(tx: Transaction, run: Run, kind: InterruptKind) -> None:
    await notify.notify(tx, notify.INTERRUPT, run=run.id, kind=kind)
    await cards.bump(tx, run.id, at_once=True)


async def _mark(tx: Transaction, thread: Thread, order: Order) -> Thread:
    """Write down until when nothing may start any more: the Slack time of the stop, or now."""
    if order.source not in OF_A_PERSON:
        return thread
    sent = sa.extract("epoch", clock()) if order.slack_ts is None else sa.cast(order.slack_ts, SlackTs)
    newest = sa.func.greatest(threads_table.c.stopped_before_ts, sent)
    await threads.change(tx, thread.id, stopped_before_ts=newest)
    return await threads.lock_again(tx, thread)


async def _clear(tx: Transaction, thread: Thread, order: Order) -> Order:
    """Withdraw what waits in the thread, where a stop reaches that far."""
    if order.scope is not InterruptScope.THREAD:
        return order
    return replace(order, withdrawn=await inbox_rows.withdraw(tx, thread.id, thread.stopped_before_ts))


async def _is_for_an_older_run(tx: Transaction, run: Run, order: Order) -> bool:
    if order.source not in NAMES_NO_RUN or order.slack_ts is None:
        return False
    newest = await inbox_rows.newest_ask(tx, run)
    return newest is not None and newest > ts_order(order.slack_ts)


async def _nothing_to_stop(tx: Transaction, run: Run | None) -> Commanded:
    if run is None:
        return Commanded(Result.NOTHING)
    settled = await settlement.settled(tx, run.id)
    is_done = settled is not None and settled.reason is SettleReason.COMPLETED
    is_coming = is_done and await posts.is_answer_coming(tx, run.id)
    return Commanded(Result.JUST_FINISHED if is_coming else Result.ALREADY_ENDED, run.id)


def _pending(order: Order) -> Pending:
    return Pending(order.kind, order.source, order.requested_by, order.id)
