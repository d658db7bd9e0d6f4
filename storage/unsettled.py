"""The runs that have not ended: who lists them, and how an operator reaches one by its id."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from bot.rules.command_words import Result
from bot.rules.terms import InterruptKind, ParkedFor, RunState, SettleReason
from storage import commands, runs, settlement, threads
from storage.commands import Commanded
from storage.engine import Transaction
from storage.interrupts import Order
from storage.settlement import Means
from storage.tables import interrupts as interrupts_table
from storage.tables import runs as runs_table
from storage.tables import threads as threads_table


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A run that has not ended; `since` is when it was asked for, `worker` None while nobody works on it."""

    run_id: str
    channel_id: str
    thread_ts: str
    state: RunState
    since: datetime
    requested_by: str
    title: str
    worker: str | None
    held_by: str | None


class AlreadyUsedError(Exception):
    """The id of an order was used before, for something else."""


_UNSETTLED = (
    sa
    .select(
        runs_table.c.id,
        sa.func.coalesce(threads_table.c.channel_id, ""),
        sa.func.coalesce(threads_table.c.thread_ts, ""),
        runs_table.c.state,
        runs_table.c.created_at,
        runs_table.c.requested_by,
        runs_table.c.title,
        threads_table.c.owner,
        runs_table.c.held_by,
    )
    .join(threads_table, threads_table.c.id == runs_table.c.thread_id)
    .where(runs_table.c.state != RunState.SETTLED)
    .order_by(runs_table.c.created_at, runs_table.c.id)
)


async def listed(tx: Transaction) -> list[Unsettled]:
    """Every run that has not ended, the oldest first."""
    return [Unsettled(row[0], row[1], row[2], RunState(row[3]), *row[4:]) for row in await tx.execute(_UNSETTLED)]


async def order(tx: Transaction, run_id: str, wanted: Order, means: Means) -> Commanded | None:
    """Stop or pause the run with this id; None where there is no such run.

    Repeated under the same id it does nothing more; raises AlreadyUsedError where that id named something else.
    """
    thread_id = await runs.thread_of(tx, run_id)
    thread = await threads.lock(tx, thread_id) if thread_id else None
    run = await runs.newest(tx, thread.id) if thread else None
    if thread is None or run is None:
        return None
    if await _was_recorded(tx, run_id, wanted):
        return Commanded(await _how_it_stands(tx, run_id, wanted.kind), run_id)
    if run.id != run_id:
        return Commanded(Result.ALREADY_ENDED, run_id)
    carry_out = commands.pause if wanted.kind is InterruptKind.PAUSE else commands.stop
    return await carry_out(tx, thread, wanted, means)


async def _was_recorded(tx: Transaction, run_id: str, wanted: Order) -> bool:
    table = interrupts_table
    found = sa.select(table.c.run_id, table.c.kind, table.c.scope).where(table.c.id == wanted.id)
    row = (await tx.execute(found)).one_or_none()
    if row is not None and tuple(row) != (run_id, wanted.kind, wanted.scope):
        raise AlreadyUsedError(wanted.id)
    return row is not None


async def _how_it_stands(tx: Transaction, run_id: str, kind: InterruptKind) -> Result:
    """What has become, by now, of an order that was carried out before."""
    settled = await settlement.settled(tx, run_id)
    if settled is not None:
        is_stopped = kind is InterruptKind.STOP and settled.reason is SettleReason.STOPPED
        return Result.STOPPED if is_stopped else Result.ALREADY_ENDED
    run = await runs.get(tx, run_id)
    if kind is InterruptKind.PAUSE:
        return Result.PAUSED if run is not None and run.parked_for is ParkedFor.PAUSED else Result.PAUSING
    return Result.STOPPING
