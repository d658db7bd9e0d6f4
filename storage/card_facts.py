"""Everything that a card shows, read in one transaction from one snapshot, after the card's lease was taken."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from bot.rules.card_facts import CardFacts, StepState
from bot.rules.terms import (
    FailureClass,
    InboxState,
    InterruptKind,
    ParkedFor,
    RunState,
    SettleReason,
    ThreadState,
    Verdict,
)
from storage import approval_facts, card_steps, checkpoints, interrupts, posts, runs, step_lists
from storage.checkpoints import TakenBack
from storage.engine import Transaction
from storage.runs import Run
from storage.tables import cards, inbox, settlements, threads, usage
from storage.tables import runs as runs_table


async def of_run(tx: Transaction, run_id: str) -> CardFacts | None:
    """The facts of one run; None where there is no such run. Must be the first statement of its transaction."""
    await _read_one_moment(tx)
    row = (await tx.execute(sa.select(runs_table).where(runs_table.c.id == run_id))).mappings().one_or_none()
    run = await runs.get(tx, run_id)
    if row is None or run is None:
        return None
    settled = await _settlement(tx, run_id)
    steps = await card_steps.of_run(tx, run_id)
    waiting, held = await _messages(tx, run)
    facts = CardFacts(
        run_id=run_id,
        title=run.title,
        run_state=run.state,
        parked_for=ParkedFor(row["parked_for"]) if row["parked_for"] else None,
        settle_reason=SettleReason(settled["reason"]) if settled else None,
        failure=FailureClass(settled["error"]) if settled and settled["error"] else None,
        failure_detail=settled["detail"] if settled else "",
        status_code=settled["status"] if settled else None,
        requested_by=run.requested_by,
        acted_by=(settled["decided_by"] if settled else run.acted_by) or "",
        held_by=row["held_by"] if run.state is RunState.QUEUED else None,
        steps=steps,
        round=run.round,
        open_calls=sum(step.state in {StepState.RUNNING, StepState.WAITING} for step in steps),
        waiting_messages=waiting,
        held_messages=held,
        notes_count=row["notes_kept"],
        started_at=_seconds(row["started_at"] or row["created_at"]),
        settled_at=_seconds(settled["settled_at"]) if settled else None,
        paused_at=_seconds(row["parked_at"]) if run.parked_for or settled else None,
        calls=len(steps),
        pause_id=run.pause_id,
        is_reminded=row["reminded_at"] is not None,
    )
    facts = _as_taken_back(facts, await checkpoints.taken_back(tx, run))
    return await _with_what_belongs_to_it(tx, run, facts)


async def _with_what_belongs_to_it(tx: Transaction, run: Run, facts: CardFacts) -> CardFacts:
    tokens, cost = await _spent(tx, facts.run_id)
    return replace(
        facts,
        pending=await _pending(tx, run),
        queue_position=await _position(tx, run),
        tokens=tokens,
        cost=cost,
        next_card_permalink=await _next_permalink(tx, facts.run_id),
        answer_permalink=await posts.answer_permalink(tx, facts.run_id),
        approvals=await approval_facts.of_run(tx, facts.run_id),
        withdrawn_count=await step_lists.withdrawn(tx, facts.run_id),
    )


def _as_taken_back(facts: CardFacts, back: TakenBack | None) -> CardFacts:
    if back is None:
        return facts
    # A thread may be taken back farther than the run was cut for; the card then says who did that.
    acted_by = back.by if facts.settle_reason is SettleReason.ROLLED_BACK else facts.acted_by
    return replace(facts, rolled_back_to=back.step, rolled_back_by=back.by, acted_by=acted_by)


async def _read_one_moment(tx: Transaction) -> None:
    # Between two statements the run could be settled: the card would show the half of each.
    await tx.execute(sa.text("set transaction isolation level repeatable read read only"))


async def _settlement(tx: Transaction, run_id: str) -> Any:
    found = sa.select(settlements).where(settlements.c.run_id == run_id)
    return (await tx.execute(found)).mappings().one_or_none()


async def _pending(tx: Transaction, run: Run) -> tuple[tuple[InterruptKind, str], ...]:
    if run.state is RunState.SETTLED:
        return ()
    asked = [(each.kind, each.requested_by) for each in await interrupts.pending(tx, run)]
    if run.cut is not None and run.cut.kind not in {kind for kind, _ in asked}:
        asked.append((run.cut.kind, run.cut.requested_by))
    return tuple(asked)


async def _messages(tx: Transaction, run: Run) -> tuple[int, int]:
    """How many messages wait for the next run, and how many for Resume."""
    if run.state is RunState.SETTLED:
        return 0, 0
    counted = (
        sa
        .select(inbox.c.verdict, sa.func.count())
        .where(inbox.c.thread_id == run.thread_id, inbox.c.state == InboxState.WAITING)
        .group_by(inbox.c.verdict)
    )
    counts: dict[str, int] = {row[0]: row[1] for row in await tx.execute(counted)}
    # A run that has not started takes them itself, so none of them waits for another.
    waiting = 0 if run.started_at is None else counts.get(Verdict.STEER, 0) + counts.get(Verdict.QUEUE, 0)
    return waiting, counts.get(Verdict.HOLD, 0)


async def _position(tx: Transaction, run: Run) -> int | None:
    if run.state is not RunState.QUEUED:
        return None
    mine = sa.select(threads.c.ready_at).where(threads.c.id == run.thread_id).scalar_subquery()
    ahead = sa.select(sa.func.count()).where(threads.c.state == ThreadState.READY, threads.c.ready_at < mine)
    return int((await tx.execute(ahead)).scalar_one()) + 1


async def _spent(tx: Transaction, run_id: str) -> tuple[int, float | None]:
    summed = sa.select(
        sa.func.coalesce(sa.func.sum(usage.c.input_tokens + usage.c.output_tokens), 0),
        sa.func.sum(usage.c.cost),
        sa.func.bool_and(usage.c.cost.is_not(None)),
    ).where(usage.c.run_id == run_id)
    tokens, cost, is_known = (await tx.execute(summed)).one()
    return int(tokens), float(Decimal(cost)) if is_known and cost is not None else None


async def _next_permalink(tx: Transaction, run_id: str) -> str | None:
    following = (
        sa
        .select(cards.c.permalink)
        .join(runs_table, runs_table.c.id == cards.c.run_id)
        .where(runs_table.c.previous_id == run_id)
        .limit(1)
    )
    return (await tx.execute(following)).scalar_one_or_none()


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
