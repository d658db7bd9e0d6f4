"""The approvals of a run as its card shows them. Reads only; what changes them is in storage/approvals.py."""

from typing import Any

import sqlalchemy as sa

from bot.rules.card_facts import ApprovalFacts
from bot.rules.terms import ApprovalState
from bot.rules.tool_policy import Vote
from storage.engine import Transaction
from storage.oversight_tables import approval_votes, approvals
from storage.tables import tool_calls


async def of_run(tx: Transaction, run_id: str) -> tuple[ApprovalFacts, ...]:
    """Every approval that a run has asked for, in the order of asking."""
    asked = (
        sa
        .select(approvals, tool_calls.c.title)
        .join(tool_calls, tool_calls.c.request_id == approvals.c.request_id)
        .where(approvals.c.run_id == run_id)
        .order_by(tool_calls.c.round, tool_calls.c.position)
    )
    rows = (await tx.execute(asked)).mappings().all()
    votes = await _votes(tx, run_id) if rows else {}
    return tuple(_facts(row, tuple(votes.get(row["id"], ()))) for row in rows)


async def _votes(tx: Transaction, run_id: str) -> dict[str, list[str]]:
    cast = (
        sa
        .select(approval_votes.c.approval_id, approval_votes.c.user_id)
        .join(approvals, approvals.c.id == approval_votes.c.approval_id)
        .where(approvals.c.run_id == run_id, approval_votes.c.vote == Vote.YES)
        .order_by(approval_votes.c.voted_at)
    )
    votes: dict[str, list[str]] = {}
    for approval_id, user_id in await tx.execute(cast):
        votes.setdefault(approval_id, []).append(user_id)
    return votes


def _facts(row: Any, votes: tuple[str, ...]) -> ApprovalFacts:
    return ApprovalFacts(
        id=row["id"],
        request_id=row["request_id"],
        title=row["title"],
        shown=row["shown"],
        approvers=tuple(row["approvers"]),
        needed=row["needed"],
        votes=votes,
        expires_at=row["expires_at"].timestamp(),
        state=ApprovalState(row["state"]),
    )
