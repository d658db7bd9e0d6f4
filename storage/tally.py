"""What the rows say in numbers, for whoever watches: the same from every process, and read by nobody who decides."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from bot.rules.measures import Tally
from bot.rules.terms import InterruptKind, InterruptSource, RunState, SettleReason
from storage.engine import Transaction
from storage.oversight_tables import approvals, halts
from storage.tables import interrupts, runs, settlements

LIVE = tuple(state for state in RunState if state is not RunState.SETTLED)


async def read(tx: Transaction) -> Tally:
    """The numbers of this moment; what never happened is zero, not missing."""
    stop = interrupts.c.kind == InterruptKind.STOP
    stops = await _counted(tx, interrupts.c.source, stop)
    settled = await _counted(tx, settlements.c.reason)
    live = await _counted(tx, runs.c.state, runs.c.state != RunState.SETTLED)
    outcomes = await _counted(tx, approvals.c.state)
    is_halted = (await tx.execute(sa.select(sa.exists().where(halts.c.lifted_at.is_(None))))).scalar_one()
    return Tally(
        stops={each.value: stops.get(each, 0) for each in InterruptSource},
        settled={each.value: settled.get(each, 0) for each in SettleReason},
        live={each.value: live.get(each, 0) for each in LIVE},
        approvals=outcomes,
        is_halted=bool(is_halted),
    )


async def is_there(tx: Transaction) -> None:
    """Raise DatabaseUnavailableError while the database is away."""
    await tx.execute(sa.select(1))


async def _counted(tx: Transaction, label: sa.ColumnElement[Any], *where: sa.ColumnElement[bool]) -> Mapping[str, int]:
    counted = sa.select(label, sa.func.count()).where(*where).group_by(label)
    return {str(row[0]): int(row[1]) for row in await tx.execute(counted)}
