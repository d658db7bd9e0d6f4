"""How a run is settled: once, under the thread's lock, with everything that follows in the same transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.rules.audit_chain import Entry, EntryKind
from bot.rules.terms import RunState, SettleReason, ThreadState, Verdict
from bot.rules.turn_ends import Cut, End, Finished, Outcome, decide
from storage import audit_chain, cards, checkpoints, closing, history, inbox_rows, interrupts, posts, runs, threads
from storage.engine import Transaction
from storage.inbox_rows import STARTS_A_RUN, Waiting
from storage.runs import NewRun, Run
from storage.tables import clock, settlements
from storage.tables import runs as runs_table
from storage.threads import Claim, Thread


@dataclass(frozen=True, slots=True)
class Means:
    """What a settlement is lent: ids for the next run, and how an answer is cut into posts."""

    mint_id: Callable[[], str]
    answer_parts: Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Settled:
    """How a run stands settled, and the run that goes on in its thread, if one does."""

    run_id: str
    reason: SettleReason
    final_event_id: int | None
    next_run_id: str | None = None


async def settle(tx: Transaction, claim: Claim, end: End, means: Means) -> Settled | None:
    """Settle the run of a claim; None when the claim no longer holds it. A repeat gives the same answer."""
    thread = await threads.lock_owned(tx, claim)
    already = await settled(tx, claim.run_id)
    if already is not None:
        return already
    run = await runs.get(tx, claim.run_id)
    if thread is None or run is None:
        return None
    return await settle_locked(tx, thread, run, end, means)


async def settled(tx: Transaction, run_id: str) -> Settled | None:
    """How a run stands settled; None while it is not."""
    found = sa.select(settlements.c.reason, settlements.c.final_event_id).where(settlements.c.run_id == run_id)
    row = (await tx.execute(found)).one_or_none()
    return Settled(run_id, SettleReason(row[0]), row[1]) if row else None


async def settle_locked(tx: Transaction, thread: Thread, run: Run, end: End, means: Means) -> Settled:
    """Settle an unsettled run of a locked thread; whoever holds the lock may, be it a worker or not."""
    outcome = decide(end if run.cut is None else Cut(run.cut), await interrupts.pending(tx, run))
    by = outcome.decided_by.kind if outcome.decided_by else None
    thread = await closing.answer_open_calls(tx, thread, run, by)
    if outcome.reason is SettleReason.ROLLED_BACK and outcome.decided_by is not None:
        thread = await checkpoints.write_ordered(tx, thread, run, outcome.decided_by.requested_by)
    await _write(tx, thread, run, outcome)
    await _convert_waiting(tx, thread, run, outcome)
    await threads.release(tx, thread, ThreadState.IDLE)
    if outcome.final_event_id is not None:
        await _post_answer(tx, thread, run, outcome.final_event_id, means)
    await cards.bump(tx, run.id, at_once=True)
    next_run = await _next_run(tx, thread, run, outcome, means)
    return Settled(run.id, outcome.reason, outcome.final_event_id, next_run)


async def stored_end(tx: Transaction, thread: Thread, run: Run) -> End | None:
    """The end that a run without a worker has already: a cut, a stop under way, or a final text as its last event."""
    if run.cut is not None:
        return Cut(run.cut)
    if run.state is RunState.CANCELLING and (stop := await interrupts.first_pending(tx, run)) is not None:
        return Cut(stop)
    newest = await history.newest_event(tx, thread.id)
    if newest is not None and newest.run_id == run.id and history.is_final_text(newest):
        return Finished(newest.seq)
    return None


async def overdue_stop(tx: Transaction, thread_id: str, run_id: str, grace_s: float, means: Means) -> Settled | None:
    """Settle a run that has been cancelling for longer than its grace, whoever owns it: a hung worker holds nothing."""
    thread = await threads.lock(tx, thread_id)
    overdue = sa.select(runs_table.c.id).where(
        runs_table.c.id == run_id,
        runs_table.c.state == RunState.CANCELLING,
        runs_table.c.cancelling_at < clock() - sa.func.make_interval(0, 0, 0, 0, 0, 0, grace_s),
    )
    run = await runs.get(tx, run_id) if (await tx.execute(overdue)).first() else None
    stop = await interrupts.first_pending(tx, run) if run else None
    if thread is None or run is None or stop is None:
        return None
    return await settle_locked(tx, thread, run, Cut(stop), means)


def title_of(text: str) -> str:
    """The title of a run: the first line that says something, at most 200 characters."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "(no text)")[:200]


async def _write(tx: Transaction, thread: Thread, run: Run, outcome: Outcome) -> None:
    decided_by = outcome.decided_by
    await tx.execute(
        sa.insert(settlements).values(
            run_id=run.id,
            thread_id=thread.id,
            fence=thread.fence,
            reason=outcome.reason,
            final_event_id=outcome.final_event_id,
            error=outcome.failure,
            detail=outcome.detail,
            status=outcome.status,
            decided_by=decided_by.requested_by if decided_by else None,
        )
    )
    await audit_chain.note(tx, thread.id, [_entry(thread, run, outcome)])
    await runs.change(tx, run.id, state=RunState.SETTLED, parked_for=None, pause_id=None)
    if decided_by is not None and (run.cut is None or run.cut.kind is not decided_by.kind):
        await runs.stamp_cut(tx, run.id, decided_by)
    await interrupts.settle(tx, run.id, decided_by.kind if decided_by else None)


def _entry(thread: Thread, run: Run, outcome: Outcome) -> Entry:
    by = outcome.decided_by
    said = {
        "reason": outcome.reason,
        "fence": thread.fence,
        "failure": outcome.failure,
        "final_event_id": outcome.final_event_id,
        "requested_by": run.requested_by,
        "decided_by": by.requested_by if by else None,
    }
    return Entry(EntryKind.SETTLED, {name: value for name, value in said.items() if value is not None}, run.id)


async def _convert_waiting(tx: Transaction, thread: Thread, run: Run, outcome: Outcome) -> None:
    """Held messages become notes; after a stop so do those that were there before it, and start nothing."""
    kept = await inbox_rows.become_notes(tx, thread.id, [Verdict.HOLD])
    if outcome.reason is SettleReason.STOPPED and thread.stopped_before_ts is not None:
        kept += await inbox_rows.become_notes(tx, thread.id, STARTS_A_RUN, not_later_than=thread.stopped_before_ts)
    elif run.started_at is None and outcome.reason is not SettleReason.ROLLED_BACK:
        # They asked for this run: left waiting, they would start the same run again, for ever.
        kept += await inbox_rows.become_notes(tx, thread.id, [Verdict.START, Verdict.STEER])
    if kept:
        await runs.change(tx, run.id, notes_kept=kept)


async def _post_answer(tx: Transaction, thread: Thread, run: Run, event_id: int, means: Means) -> None:
    final = await history.newest_event(tx, thread.id)
    if final is None or final.seq != event_id:
        raise AssertionError(f"the final event {event_id} is not the newest of thread {thread.id}")
    for part, body in enumerate(means.answer_parts(str(final.body.get("text", "")))):
        await posts.add(tx, posts.NewPost(means.mint_id(), run.id, "answer", part, thread.place, body))


async def _next_run(tx: Transaction, thread: Thread, run: Run, outcome: Outcome, means: Means) -> str | None:
    """Queue the run that the waiting messages ask for; whether one is made is decided by them alone."""
    waiting = await inbox_rows.waiting(tx, thread.id, STARTS_A_RUN)
    if not waiting:
        await threads.change(tx, thread.id, done_seq=sa.text("wake_seq"))
        return None
    goes_on = outcome.reason is SettleReason.STEERED
    new = _goes_on(run, means.mint_id()) if goes_on else _fresh(run, waiting[0], means.mint_id())
    await runs.create(tx, thread, new)
    return new.id


def _goes_on(run: Run, run_id: str) -> NewRun:
    """A steered run goes on as the same request: same chain, same requester, same title."""
    return NewRun(run_id, run.chain_id, run.id, run.requested_by, run.title)


def _fresh(run: Run, asked: Waiting, run_id: str) -> NewRun:
    by = runs.started_by(asked.source)
    return NewRun(run_id, run_id, run.id, asked.author, title_of(asked.text), by)
