"""The limits, as the rows know them: what a run has spent and how long it has worked, and which queued runs must wait.

A run over its own limit gets a stop on record, like any other; a queued run over a limit of live runs is skipped when
work is claimed, and holds up nobody behind it.
"""

from typing import Any

import sqlalchemy as sa

from bot.rules.interrupt_order import Pending
from bot.rules.limits import LiveLimit, LiveLimits, RunLimits, out_of_time, overspent
from bot.rules.terms import InterruptKind, InterruptSource, InterruptState, RunState, StartedBy, ThreadState
from storage import cards, commands, interrupts, runs, threads
from storage.commands import Commanded
from storage.engine import Transaction
from storage.interrupts import Order
from storage.settlement import Means
from storage.tables import clock, usage
from storage.tables import runs as runs_table
from storage.tables import threads as threads_table
from storage.threads import Claim

AT_WORK = (RunState.RUNNING, RunState.CANCELLING)
"""The states in which a run counts as live; one that waits, for its start or for a person, is in nobody's way."""
ONE_AT_A_TIME = 7_363_302_801
"""The advisory lock of claims under limits of live runs: two at once would both find the last place free."""

# What one run may spend.


async def end_if_overspent(tx: Transaction, claim: Claim, limits: RunLimits) -> None:
    """Record a stop for a run that has spent what it may; the probe in the same transaction then cuts it."""
    if not limits.of_spending:
        return
    spent = sa.select(
        sa.func.coalesce(sa.func.sum(usage.c.input_tokens + usage.c.output_tokens), 0),
        sa.func.coalesce(sa.func.sum(usage.c.cost), 0),
    ).where(usage.c.run_id == claim.run_id)
    tokens, cost = (await tx.execute(spent)).one()
    reached = overspent(limits, int(tokens), cost)
    if reached is None:
        return
    thread = await threads.lock_owned(tx, claim)
    run = await runs.get(tx, claim.run_id) if thread else None
    if thread is None or run is None or run.cut is not None or _is_stopped(await interrupts.pending(tx, run)):
        return
    order = Order(f"{run.id}:spent", InterruptKind.STOP, InterruptSource.POLICY, reached)
    await interrupts.record(tx, thread, run, order, InterruptState.TRIGGERED)


async def overdue(tx: Transaction, minutes: float) -> list[tuple[str, str]]:
    """Threads and runs that have worked for longer than they may."""
    found = sa.select(runs_table.c.thread_id, runs_table.c.id).where(_is_overdue(minutes))
    return [(row[0], row[1]) for row in await tx.execute(found)]


async def end_overdue(tx: Transaction, thread_id: str, run_id: str, minutes: float, means: Means) -> Commanded | None:
    """Stop a run that is out of time, whoever owns it; None where it is not, or not any more."""
    thread = await threads.lock(tx, thread_id)
    still = sa.select(runs_table.c.id).where(runs_table.c.id == run_id, _is_overdue(minutes))
    if thread is None or (await tx.execute(still)).first() is None:
        return None
    order = Order(f"{run_id}:time", InterruptKind.STOP, InterruptSource.TIMEOUT, out_of_time(minutes))
    return await commands.stop(tx, thread, order, means)


def _is_overdue(minutes: float) -> sa.ColumnElement[bool]:
    parked = sa.func.make_interval(0, 0, 0, 0, 0, 0, runs_table.c.parked_ms / 1000.0)
    worked = clock() - runs_table.c.started_at - parked
    return sa.and_(
        runs_table.c.state == RunState.RUNNING, worked > sa.func.make_interval(0, 0, 0, 0, 0, 0, minutes * 60)
    )


def _is_stopped(pending: list[Pending]) -> bool:
    return any(each.kind is InterruptKind.STOP for each in pending)


# How many may be live at once.


async def one_claim_at_a_time(tx: Transaction, limits: LiveLimits) -> None:
    """Wait until no other claim is under way; nothing is waited for where nothing is limited."""
    if limits.any:
        await tx.execute(sa.select(sa.func.pg_advisory_xact_lock(ONE_AT_A_TIME)))


def may_begin(limits: LiveLimits) -> sa.ColumnElement[bool]:
    """Whether the run of a ready thread may be claimed, for a query of threads; one that has begun always may."""
    if not limits.any:
        return sa.true()
    held = (
        sa
        .exists()
        .where(runs_table.c.thread_id == threads_table.c.id, runs_table.c.state == RunState.QUEUED)
        .where(_held_by(limits).is_not(None))
        .correlate(threads_table)
    )
    return ~held


async def note_held(tx: Transaction, limits: LiveLimits) -> None:
    """Write down which queued runs wait for what, and have their cards say so; a locked one is noted the next time."""
    if not limits.any:
        return
    held_by = _held_by(limits)
    changed = (
        sa
        .select(runs_table.c.id, held_by.label("held_by"))
        .join(threads_table, threads_table.c.id == runs_table.c.thread_id)
        .where(threads_table.c.state == ThreadState.READY, runs_table.c.state == RunState.QUEUED)
        .where(runs_table.c.held_by.is_distinct_from(held_by))
        .with_for_update(of=runs_table, skip_locked=True)
        .cte("changed")
    )
    noting = sa.update(runs_table).where(runs_table.c.id == changed.c.id).values(held_by=changed.c.held_by)
    for run_id in (await tx.execute(noting.returning(runs_table.c.id))).scalars().all():
        await cards.bump(tx, run_id, at_once=True)


def _held_by(limits: LiveLimits) -> sa.ColumnElement[Any]:
    """The limit that keeps a queued run from its start, for a query of runs and threads; null where none does."""
    run, thread = runs_table, threads_table
    live, at = runs_table.alias("live"), threads_table.alias("live_at")
    alike: dict[LiveLimit, tuple[int | None, sa.ColumnElement[bool]]] = {
        # Alerts are nobody's: a bot that raises many is held by its channel, not as if it were one person.
        LiveLimit.PERSON: (
            limits.person,
            sa.and_(live.c.requested_by == run.c.requested_by, run.c.started_by != StartedBy.ALERT),
        ),
        LiveLimit.CHANNEL: (
            limits.channel,
            sa.and_(at.c.channel_id == thread.c.channel_id, at.c.team_id == thread.c.team_id),
        ),
        LiveLimit.WORKSPACE: (limits.workspace, at.c.team_id == thread.c.team_id),
    }
    whens = []
    for limit, (most, is_alike) in alike.items():
        counted = sa.select(sa.func.count()).select_from(live.join(at, at.c.id == live.c.thread_id))
        number = counted.where(live.c.state.in_(AT_WORK), is_alike).correlate(run, thread).scalar_subquery()
        whens += [(number >= most, limit.value)] if most is not None else []
    return sa.case(*whens, else_=sa.null())
