"""The checkpoints of a run, and the taking back itself: one event, written under the thread's lock.

Nothing is removed: what comes after the checkpoint stays readable, and only the projection leaves it out. Whoever
calls has locked the thread; whether it may be taken back is decided in storage/rollback.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sqlalchemy as sa

from bot.rules import checkpoints as rules
from bot.rules.card_facts import StepFacts
from bot.rules.checkpoints import Checkpoint
from bot.rules.messages import Event
from bot.rules.terms import EventKind, InboxState, InterruptKind, Source, Verdict
from storage import approval_rows, card_steps, cards, history, threads
from storage.engine import Transaction
from storage.history import NewEvent
from storage.runs import Run
from storage.tables import clock, events, inbox, interrupts, tool_calls
from storage.tables import threads as threads_table
from storage.threads import Thread


@dataclass(frozen=True, slots=True)
class TakenBack:
    """How far a run was taken back: to which of its steps (None: to before it began), and by whom."""

    step: int | None
    by: str


async def of_run(tx: Transaction, run: Run) -> tuple[Checkpoint, ...]:
    """The checkpoints of a run that are not set aside, oldest first."""
    return rules.checkpoints(await history.load(tx, run.thread_id), run.id, await _calls(tx, run.thread_id))


async def is_set_aside(tx: Transaction, run: Run, seq: int) -> bool:
    """Whether this was a point of the thread's history that does not count any more."""
    return rules.is_set_aside(await history.load(tx, run.thread_id), seq)


async def write(tx: Transaction, thread: Thread, run_id: str, seq: int, by: str) -> Thread:
    """Take a locked thread without open calls back to an event; returns it with its new last event.

    Approvals that were given are void, waiting reports of sub-agents become notes, and the thread is marked: a report
    of a sub-agent that was born before the mark starts nothing. Every card of the span is painted anew.
    """
    stored = await history.load(tx, thread.id)
    told = rules.note(stored, seq, await _calls(tx, thread.id))
    event = NewEvent(EventKind.ROLLED_BACK_TO, {"seq": seq, "note": told, "by": by})
    last = await history.insert(tx, thread, run_id, [event])
    await threads.change(tx, thread.id, rolled_back_at=clock())
    await approval_rows.supersede(tx, run_id)
    await _reports_become_notes(tx, thread.id)
    for each in sorted({run_id, *_runs_after(stored, seq)}):
        await cards.bump(tx, each, at_once=True)
    return replace(thread, event_seq=last)


async def write_ordered(tx: Transaction, thread: Thread, run: Run, by: str) -> Thread:
    """Carry out the rollback that is asked of a run: to the checkpoint that was written down with it."""
    asked = (
        sa
        .select(interrupts.c.checkpoint)
        .where(
            interrupts.c.run_id == run.id,
            interrupts.c.kind == InterruptKind.ROLLBACK,
            interrupts.c.checkpoint.is_not(None),
        )
        .order_by(interrupts.c.requested_at, interrupts.c.id)
        .limit(1)
    )
    return await write(tx, thread, run.id, (await tx.execute(asked)).scalar_one(), by)


async def taken_back(tx: Transaction, run: Run) -> TakenBack | None:
    """How far a run was taken back; None where everything that it did still counts."""
    marked = sa.select(threads_table.c.rolled_back_at).where(threads_table.c.id == run.thread_id)
    if (await tx.execute(marked)).scalar_one_or_none() is None:
        return None
    own = sa.and_(events.c.thread_id == run.thread_id, events.c.run_id == run.id)
    span = sa.select(sa.func.min(events.c.seq), sa.func.max(events.c.seq)).where(
        own, events.c.kind != EventKind.ROLLED_BACK_TO
    )
    first, last = (await tx.execute(span)).one()
    lowest = await _lowest_rollback(tx, run.thread_id, first) if first is not None else None
    if lowest is None or (lowest[0] >= last and not await _is_its_own(tx, run)):
        return None
    kept = sa.select(sa.func.count()).where(own, events.c.kind == EventKind.ASSISTANT, events.c.seq <= lowest[0])
    is_gone = lowest[0] < first
    return TakenBack(None if is_gone else int((await tx.execute(kept)).scalar_one()), lowest[1])


async def _lowest_rollback(tx: Transaction, thread_id: str, first: int) -> tuple[int, str] | None:
    """The point farthest back that the thread was taken to since this event, and by whom."""
    point = events.c.body["seq"].as_integer()
    since = sa.and_(events.c.thread_id == thread_id, events.c.kind == EventKind.ROLLED_BACK_TO, events.c.seq > first)
    found = sa.select(point, events.c.body["by"].as_string()).where(since).order_by(point, events.c.seq.desc())
    row = (await tx.execute(found.limit(1))).one_or_none()
    return (int(row[0]), row[1] or "") if row else None


async def _is_its_own(tx: Transaction, run: Run) -> bool:
    """Whether it was this run that was cut to be taken back, even if only what was under way was lost by it."""
    cut = sa.select(interrupts.c.id).where(interrupts.c.run_id == run.id, interrupts.c.kind == InterruptKind.ROLLBACK)
    return (await tx.execute(cut.limit(1))).first() is not None


async def _calls(tx: Transaction, thread_id: str) -> Mapping[str, StepFacts]:
    found = (await tx.execute(sa.select(tool_calls).where(tool_calls.c.thread_id == thread_id))).mappings()
    return {row["call_id"]: card_steps.step_of(row) for row in found}


async def _reports_become_notes(tx: Transaction, thread_id: str) -> None:
    reports = sa.and_(
        inbox.c.thread_id == thread_id, inbox.c.state == InboxState.WAITING, inbox.c.source == Source.SUBAGENT
    )
    await tx.execute(sa.update(inbox).where(reports).values(verdict=Verdict.NOTE))


def _runs_after(stored: list[Event], seq: int) -> set[str]:
    return {event.run_id for event in stored if event.seq > seq}
