"""The rows of workers: that one lives, what the database thinks it owns, and what is asked of its runs."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from bot.rules.terms import InboxState, InterruptKind, RunState, Verdict
from storage.engine import Transaction
from storage.oversight_tables import halts
from storage.tables import clock, inbox, interrupts, workers
from storage.tables import runs as runs_table
from storage.tables import threads as threads_table

_HALTED = sa.exists().where(halts.c.lifted_at.is_(None))


@dataclass(frozen=True, slots=True)
class Owned:
    """A thread that the database thinks a worker owns, and what is asked of its run.

    `unknown` are kinds that a newer version has asked for and that this one does not know: nothing to act on.
    """

    thread_id: str
    fence: int
    run_id: str
    kinds: frozenset[InterruptKind]
    unknown: frozenset[str] = frozenset()


async def register(tx: Transaction, worker_id: str) -> None:
    """Make the row of a worker."""
    await tx.execute(insert(workers).values(id=worker_id).on_conflict_do_nothing())


async def heartbeat(tx: Transaction, worker_id: str) -> list[Owned] | None:
    """Say that a worker lives and get what it owns, with what is asked; None when it was declared dead."""
    alive = sa.and_(workers.c.id == worker_id, workers.c.state != "dead")
    beat = await tx.execute(sa.update(workers).where(alive).values(heartbeat_at=clock()))
    if beat.rowcount == 0:
        return None
    return [_owned(row) for row in (await tx.execute(_owned_by(worker_id))).mappings()]


async def retire(tx: Transaction, worker_id: str) -> None:
    """Say that a worker has ended by itself."""
    await tx.execute(sa.update(workers).where(workers.c.id == worker_id).values(state="dead"))


def _owned_by(worker_id: str) -> sa.Select[Any]:
    run, thread = runs_table, threads_table
    asked = (
        sa
        .select(sa.func.array_agg(sa.distinct(interrupts.c.kind)))
        .where(interrupts.c.run_id == run.c.id, interrupts.c.state.in_(["triggered", "cancelling"]))
        .scalar_subquery()
    )
    steer = sa.exists().where(
        inbox.c.thread_id == thread.c.id, inbox.c.state == InboxState.WAITING, inbox.c.verdict == Verdict.STEER
    )
    return (
        sa
        .select(
            thread.c.id,
            thread.c.fence,
            run.c.id.label("run_id"),
            asked.label("asked"),
            steer.label("steer"),
            _HALTED.label("halted"),
        )
        .select_from(thread.join(run, sa.and_(run.c.thread_id == thread.c.id, run.c.state != RunState.SETTLED)))
        .where(thread.c.owner == worker_id)
    )


def _owned(row: Any) -> Owned:
    asked = frozenset(row["asked"] or ())
    kinds = {InterruptKind(kind) for kind in asked & set(InterruptKind)}
    if row["steer"]:
        kinds.add(InterruptKind.STEER)
    if row["halted"]:
        kinds.add(InterruptKind.STOP)
    return Owned(row["id"], row["fence"], row["run_id"], frozenset(kinds), asked - set(InterruptKind))
