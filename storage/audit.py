"""The audit of tool calls: one row a call, written before anything starts and never removed.

It is also where a successor reads whether a call had started, so that it can answer an open call truthfully.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.rules.interrupt_order import HOLDS_BACK, Pending
from bot.rules.messages import JsonObject
from bot.rules.terms import CallOutcome, Grade, RunState
from storage import cards, interrupts, runs, threads
from storage.engine import Transaction
from storage.tables import clock, tool_calls
from storage.threads import Claim


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call of a model message, as it is written down with the message: nothing has started yet."""

    request_id: str
    call_id: str
    tool: str
    grade: Grade
    title: str
    target: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended; times in milliseconds."""

    request_id: str
    outcome: CallOutcome
    elapsed_ms: int
    url: str | None = None
    method: str | None = None
    status: int | None = None
    blocked_by: str | None = None
    interrupted: bool = False


class Start(StrEnum):
    """Whether a call may start."""

    GO = "go"
    PENDING = "pending"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """The answer to a call that wants to start; `by` is the interrupt that is in its way."""

    start: Start
    by: Pending | None = None


@dataclass(frozen=True, slots=True)
class CallRow:
    """What the audit says of a call whose answer is not in the history."""

    request_id: str
    call_id: str
    tool: str
    grade: Grade
    started: bool


async def plan(tx: Transaction, claim: Claim, round_number: int, calls: Sequence[PlannedCall]) -> None:
    """Write down the calls of a message, in the transaction that stores it."""
    rows = [_planned(claim, round_number, position, call) for position, call in enumerate(calls)]
    if rows:
        await tx.execute(sa.insert(tool_calls), rows)


async def start(tx: Transaction, claim: Claim, request_id: str) -> StartAnswer:
    """Write down that a call starts, unless something is pending that ends the batch: then it never starts."""
    if await threads.lock_owned(tx, claim) is None:
        return StartAnswer(Start.LOST)
    run = await runs.get(tx, claim.run_id)
    if run is None or run.state is RunState.SETTLED:
        return StartAnswer(Start.LOST)
    blocking = await interrupts.first_pending(tx, run)
    if blocking is not None and blocking.kind in HOLDS_BACK:
        return StartAnswer(Start.PENDING, blocking)
    # A read that a successor repeats is its own from here on: what the lost worker still brings is late.
    mine = sa.update(tool_calls).where(tool_calls.c.request_id == request_id)
    await tx.execute(mine.values(started_at=clock(), fence=claim.fence))
    await cards.bump(tx, claim.run_id)
    return StartAnswer(Start.GO)


async def finish(tx: Transaction, end: CallEnd) -> None:
    """Write down how a call ended, in the transaction that stores its answer: that one has compared the fence."""
    await _finish(tx, end, sa.true())


async def finish_late(tx: Transaction, end: CallEnd, fence: int) -> None:
    """Write down an end whose answer nobody takes in any more; `fence` is the one that the call was made under.

    A write that nobody has answered for yet has truly ended so, and its answer can say it. All else is kept beside
    the row and changes nothing: neither what was told, nor what a successor's repetition of the call brought.
    """
    row = tool_calls.c
    unanswered = sa.and_(row.grade == Grade.WRITE, row.fence == fence, row.outcome.is_(None))
    if await _finish(tx, end, unanswered):
        return
    late = {"outcome": end.outcome, "status": end.status, "elapsed_ms": end.elapsed_ms, "fence": fence}
    first = sa.and_(row.request_id == end.request_id, row.late.is_(None))
    await tx.execute(sa.update(tool_calls).where(first).values(late=late, late_at=clock()))


async def _finish(tx: Transaction, end: CallEnd, only: sa.ColumnElement[bool]) -> bool:
    ended = sa.update(tool_calls).where(tool_calls.c.request_id == end.request_id, only).returning(tool_calls.c.run_id)
    values: dict[str, Any] = {
        "outcome": end.outcome,
        "elapsed_ms": end.elapsed_ms,
        "url": end.url,
        "method": end.method,
        "status": end.status,
        "blocked_by": end.blocked_by,
        "interrupted": end.interrupted,
    }
    run_id = (await tx.execute(ended.values(**values))).scalar_one_or_none()
    if run_id is not None:
        await cards.bump(tx, run_id)
    return run_id is not None


async def close(tx: Transaction, request_id: str, outcome: CallOutcome) -> None:
    """Say of a call that is closed without an answer of its own how it stands; an end already written stays."""
    still_open = sa.and_(tool_calls.c.request_id == request_id, tool_calls.c.outcome.is_(None))
    await tx.execute(sa.update(tool_calls).where(still_open).values(outcome=outcome, interrupted=True))


async def rows_of(tx: Transaction, run_id: str, call_ids: Sequence[str]) -> dict[str, CallRow]:
    """The audit's rows of these calls, by call id."""
    wanted = sa.select(tool_calls).where(tool_calls.c.run_id == run_id, tool_calls.c.call_id.in_(call_ids))
    found = (await tx.execute(wanted)).mappings()
    return {row["call_id"]: _row(row) for row in found}


def _planned(claim: Claim, round_number: int, position: int, call: PlannedCall) -> dict[str, Any]:
    return {
        "request_id": call.request_id,
        "thread_id": claim.thread_id,
        "run_id": claim.run_id,
        "fence": claim.fence,
        "call_id": call.call_id,
        "round": round_number,
        "position": position,
        "tool": call.tool,
        "grade": call.grade,
        "title": call.title,
        "target": call.target,
        "arguments": call.arguments,
    }


def _row(row: Any) -> CallRow:
    return CallRow(row["request_id"], row["call_id"], row["tool"], Grade(row["grade"]), row["started_at"] is not None)
