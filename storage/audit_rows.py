"""Reads the audit of calls for people: what a run did, and what is exported. It changes nothing and takes no lock."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.rules.messages import JsonObject
from storage import attempts
from storage.attempts import AttemptRow
from storage.engine import Transaction
from storage.tables import threads, tool_calls

PAGE = 500
"""Calls read at a time, so that the export of a year needs no more memory than one of a day."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A call as the audit has it, with its HTTP requests. Names and meanings are those of bot.rules.audit_export."""

    time: datetime
    thread: str
    run: str
    person: str
    agent: str
    tool: str
    grade: str
    target: str
    arguments: JsonObject
    method: str | None
    url: str | None
    status: int | None
    started_at: datetime | None
    elapsed_ms: int | None
    outcome: str | None
    interrupted: bool
    blocked_by: str | None
    approved_by: str | None
    request_id: str
    round: int
    title: str
    attempts: tuple[AttemptRow, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which calls: of a thread, of a run, recorded since; None asks for any."""

    thread_id: str | None = None
    run_id: str | None = None
    since: datetime | None = None


async def page(tx: Transaction, wanted: Wanted, after: AuditRow | None = None, most: int = PAGE) -> list[AuditRow]:
    """The calls that follow this one, in the order in which they were written down; empty where it was the last.

    A page at a time, so that no transaction stays open while somebody reads what is printed.
    """
    found = (await tx.execute(_selected(wanted, after).limit(most))).mappings().all()
    made = await attempts.of_calls(tx, [row["request_id"] for row in found]) if found else {}
    return [_row(row, made.get(row["request_id"], ())) for row in found]


async def of_run(tx: Transaction, run_id: str) -> list[AuditRow]:
    """The calls of a run, in order; the first thousand."""
    return await page(tx, Wanted(run_id=run_id), most=1_000)


async def thread_at(tx: Transaction, channel_id: str, thread_ts: str) -> str | None:
    """The id of the thread that begins with this message; None where there is none."""
    here = sa.select(threads.c.id).where(threads.c.channel_id == channel_id, threads.c.thread_ts == thread_ts)
    return (await tx.execute(here.limit(1))).scalar_one_or_none()


def _selected(wanted: Wanted, after: AuditRow | None) -> sa.Select[Any]:
    order = (tool_calls.c.recorded_at, tool_calls.c.request_id)
    found = sa.select(tool_calls).order_by(*order)
    if wanted.thread_id is not None:
        found = found.where(tool_calls.c.thread_id == wanted.thread_id)
    if wanted.run_id is not None:
        found = found.where(tool_calls.c.run_id == wanted.run_id)
    if wanted.since is not None:
        found = found.where(tool_calls.c.recorded_at >= wanted.since)
    if after is not None:
        found = found.where(sa.tuple_(*order) > sa.tuple_(sa.literal(after.time), sa.literal(after.request_id)))
    return found


def _row(row: Any, made: Sequence[AttemptRow]) -> AuditRow:
    renamed = {"time": row["recorded_at"], "thread": row["thread_id"], "run": row["run_id"]}
    renamed |= {"person": row["requested_by"], "attempts": tuple(made)}
    same = {name: row[name] for name in AuditRow.__dataclass_fields__ if name not in renamed}
    return AuditRow(**renamed, **same)
