"""Where each queued run stands in the line, and the repainting of the cards that say so."""

from collections.abc import Collection

import sqlalchemy as sa

from bot.rules.terms import RunState, ThreadState
from storage import notify
from storage.engine import Transaction
from storage.tables import cards, runs, threads

MOST_SHOWN = 200
"""Runs whose place is kept up to date; farther back a place that is a little old tells as much."""


async def places(tx: Transaction) -> dict[str, int]:
    """The place of each queued run by its id, 1 is next."""
    in_line = (
        sa
        .select(threads.c.id, sa.func.row_number().over(order_by=threads.c.ready_at).label("place"))
        .where(threads.c.state == ThreadState.READY)
        .order_by(threads.c.ready_at)
        .limit(MOST_SHOWN)
        .subquery()
    )
    queued = sa.and_(runs.c.thread_id == in_line.c.id, runs.c.state == RunState.QUEUED)
    found = await tx.execute(sa.select(runs.c.id, in_line.c.place).join(in_line, queued))
    return {run_id: int(place) for run_id, place in found}


async def repaint(tx: Transaction, run_ids: Collection[str]) -> set[str]:
    """Ask for a new paint of these cards, without waiting for one that is just being written; which were asked for."""
    free = sa.select(cards.c.run_id).where(cards.c.run_id.in_(run_ids)).with_for_update(skip_locked=True)
    found = set((await tx.execute(free)).scalars())
    if found:
        raised = sa.update(cards).where(cards.c.run_id.in_(found)).values(wanted_rev=cards.c.wanted_rev + 1)
        await tx.execute(raised)
        await notify.notify(tx, notify.CARD)
    return found
