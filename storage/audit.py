"""The audit of tool calls: one row a call, written before anything starts and never removed.

It is also where a successor reads whether a call had started, so that it can answer an open call truthfully. What is
written here is told to the thread's chain too, in the same transaction.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.rules.audit_chain import Entry, EntryKind
from bot.rules.interrupt_order import HOLDS_BACK, Pending
from bot.rules.messages import JsonObject
from bot.rules.terms import CallOutcome, Grade, RunState
from storage import audit_chain, cards, interrupts, runs, threads
from storage.columns import storable_json
from storage.engine import Transaction
from storage.tables import clock, tool_calls
from storage.tables import runs as runs_table
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
    outcome: CallOutcome | None = None
    status: int | None = None


async def plan(tx: Transaction, claim: Claim, round_number: int, calls: Sequence[PlannedCall]) -> None:
    """Write down the calls of a message, in the transaction that stores it."""
    rows = [_planned(claim, round_number, position, call) for position, call in enumerate(calls)]
    if rows:
        await tx.execute(_PLAN, [{**row, "of_run": claim.run_id} for row in rows])
        entries = [Entry(EntryKind.PLANNED, _intent(row), claim.run_id, row["request_id"]) for row in rows]
        await audit_chain.note(tx, claim.thread_id, entries)


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
    await begin(tx, claim, request_id)
    await cards.bump(tx, claim.run_id)
    return StartAnswer(Start.GO)


async def begin(tx: Transaction, claim: Claim, request_id: str, *, approved_by: str | None = None) -> None:
    """Write down that a call of a locked thread starts; `approved_by` names who said yes to a write."""
    # A read that a successor repeats is its own from here on: what the lost worker still brings is late.
    mine = sa.update(tool_calls).where(tool_calls.c.request_id == request_id)
    await tx.execute(mine.values(started_at=clock(), fence=claim.fence, approved_by=approved_by))
    entry = Entry(EntryKind.STARTED, {"fence": claim.fence}, claim.run_id, request_id)
    await audit_chain.note(tx, claim.thread_id, [entry])


async def finish(tx: Transaction, end: CallEnd) -> None:
    """Write down how a call ended, in the transaction that stores its answer: that one has compared the fence."""
    await _finish(tx, end, sa.true())


async def finish_late(tx: Transaction, end: CallEnd, fence: int) -> None:
    """Write down an end whose answer nobody takes in any more; `fence` is the one that the call was made under.

    A write that nobody has answered for yet has truly ended so, and its answer can say it. All else is kept beside
    the row and changes nothing: neither what was told, nor what a successor's repetition of the call brought.
    """
    thread_id = await _thread_of(tx, end.request_id)
    if thread_id is None:
        return
    # The chain of a thread grows under its lock alone; locked after the call's row, it could wait in a circle.
    await threads.lock(tx, thread_id)
    row = tool_calls.c
    unanswered = sa.and_(row.grade == Grade.WRITE, row.fence == fence, row.outcome.is_(None))
    if await _finish(tx, end, unanswered):
        return
    late = {"outcome": end.outcome, "status": end.status, "elapsed_ms": end.elapsed_ms, "fence": fence}
    first = sa.and_(row.request_id == end.request_id, row.late.is_(None))
    kept = sa.update(tool_calls).where(first).values(late=late, late_at=clock()).returning(tool_calls.c.run_id)
    run_id = (await tx.execute(kept)).scalar_one_or_none()
    if run_id is not None:
        said = {name: value for name, value in late.items() if value is not None}
        await audit_chain.note(tx, thread_id, [Entry(EntryKind.LATE, said, run_id, end.request_id)])


async def _thread_of(tx: Transaction, request_id: str) -> str | None:
    found = sa.select(tool_calls.c.thread_id).where(tool_calls.c.request_id == request_id)
    return (await tx.execute(found)).scalar_one_or_none()


async def _finish(tx: Transaction, end: CallEnd, only: sa.ColumnElement[bool]) -> bool:
    ended = sa.update(tool_calls).where(tool_calls.c.request_id == end.request_id, only).returning(*_WHOSE)
    values: dict[str, Any] = {
        "outcome": end.outcome,
        "elapsed_ms": end.elapsed_ms,
        "url": end.url,
        "method": end.method,
        "status": end.status,
        "blocked_by": end.blocked_by,
        "interrupted": end.interrupted,
    }
    row = (await tx.execute(ended.values(**values))).one_or_none()
    if row is not None:
        said = {name: value for name, value in values.items() if value is not None}
        await audit_chain.note(tx, row.thread_id, [Entry(EntryKind.ENDED, said, row.run_id, end.request_id)])
        await cards.bump(tx, row.run_id)
    return row is not None


async def close(tx: Transaction, request_id: str, outcome: CallOutcome) -> None:
    """Say of a call that is closed without an answer of its own how it stands; an end already written stays."""
    still_open = sa.and_(tool_calls.c.request_id == request_id, tool_calls.c.outcome.is_(None))
    closed = sa.update(tool_calls).where(still_open).values(outcome=outcome, interrupted=True).returning(*_WHOSE)
    row = (await tx.execute(closed)).one_or_none()
    if row is not None:
        said = {"outcome": outcome, "interrupted": True}
        await audit_chain.note(tx, row.thread_id, [Entry(EntryKind.ENDED, said, row.run_id, request_id)])


async def rows_of(tx: Transaction, run_id: str, call_ids: Sequence[str]) -> dict[str, CallRow]:
    """The audit's rows of these calls, by call id."""
    wanted = sa.select(tool_calls).where(tool_calls.c.run_id == run_id, tool_calls.c.call_id.in_(call_ids))
    found = (await tx.execute(wanted)).mappings()
    return {row["call_id"]: _row(row) for row in found}


_WHOSE = (tool_calls.c.thread_id, tool_calls.c.run_id)

# The requester is read where the row is made: asking for it before would cost a statement each round.
_PLAN = sa.insert(tool_calls).values(
    requested_by=sa.select(runs_table.c.requested_by).where(runs_table.c.id == sa.bindparam("of_run")).scalar_subquery()
)


def _intent(row: JsonObject) -> JsonObject:
    """What was asked for, for the chain; the arguments as one text, which every database gives back as it was."""
    arguments = json.dumps(storable_json(row["arguments"]), ensure_ascii=False, sort_keys=True)
    named = ("call_id", "round", "position", "tool", "grade", "target")
    return {**{name: row[name] for name in named}, "arguments": arguments}


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
    return CallRow(
        request_id=row["request_id"],
        call_id=row["call_id"],
        tool=row["tool"],
        grade=Grade(row["grade"]),
        started=row["started_at"] is not None,
        outcome=CallOutcome(row["outcome"]) if row["outcome"] else None,
        status=row["status"],
    )
