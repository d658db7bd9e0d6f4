"""The calls of a run as people are shown them, read from the audit."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.rules.card_facts import StepFacts, StepState
from bot.rules.terms import Grade
from storage.engine import Transaction
from storage.tables import tool_calls


async def of_run(tx: Transaction, run_id: str) -> tuple[StepFacts, ...]:
    """The calls of a run, in the order in which they were asked for."""
    found = sa.select(tool_calls).where(tool_calls.c.run_id == run_id)
    ordered = found.order_by(tool_calls.c.round, tool_calls.c.recorded_at, tool_calls.c.position)
    return tuple(step_of(row) for row in (await tx.execute(ordered)).mappings())


def step_of(row: Any) -> StepFacts:
    """A row of the audit as the card shows it."""
    begun = StepState.RUNNING if row["started_at"] is not None else StepState.WAITING
    return StepFacts(
        call_id=row["call_id"],
        title=row["title"],
        target=row["target"],
        state=StepState(row["outcome"]) if row["outcome"] else begun,
        grade=Grade(row["grade"]),
        status=row["status"],
        elapsed_ms=row["elapsed_ms"],
        started_at=_epoch(row["started_at"]),
        blocked_by=row["blocked_by"],
        request_id=row["request_id"],
        round=row["round"],
    )


def _epoch(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
