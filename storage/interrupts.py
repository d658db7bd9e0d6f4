"""Interrupts: what is asked of a run, recorded, probed and, where nobody owns the run, carried out at once."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import sqlalchemy as sa

from bot.rules.audit_chain import Entry, EntryKind
from bot.rules.interrupt_order import SUSPENDS, Pending, first
from bot.rules.interrupt_states import OPEN
from bot.rules.messages import Event
from bot.rules.terms import (
    InboxState,
    InterruptKind,
    InterruptScope,
    InterruptSource,
    InterruptState,
    ParkedFor,
    RunState,
    ThreadState,
    Verdict,
)
from storage import audit_chain, cards, history, notify, runs, step_lists, taking, threads
from storage.columns import SafeJson
from storage.engine import Transaction
from storage.oversight_tables import halts
from storage.runs import Run
from storage.tables import clock, inbox, interrupts
from storage.tables import runs as runs_table
from storage.threads import Claim, Thread

KNOWN_KINDS = tuple(InterruptKind)
"""During a deploy a newer version may ask for what this one does not know: it is left to the newer one."""


@dataclass(frozen=True, slots=True)
class Order:
    """Somebody's wish to interrupt a run; `slack_ts` is the Slack time of the gesture, where it was one.

    `withdrawn` is how many waiting messages it has taken along.
    """

    id: str
    kind: InterruptKind
    source: InterruptSource
    requested_by: str
    slack_ts: str | None = None
    scope: InterruptScope = InterruptScope.FAMILY
    reason: str = ""
    withdrawn: int = 0


class ProbeAnswer(StrEnum):
    """What a probe at a cut point found."""

    GO_ON = "go_on"
    CUT = "cut"
    SUSPENDED = "suspended"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe found; `cut` is set with CUT, `news` with GO_ON: the events that its worker does not know yet."""

    answer: ProbeAnswer
    cut: Pending | None = None
    news: tuple[Event, ...] = ()


async def record(
    tx: Transaction, thread: Thread, run: Run, order: Order, state: InterruptState = InterruptState.TRIGGERED
) -> None:
    """Write an interrupt down."""
    await tx.execute(
        sa.insert(interrupts).values(
            id=order.id,
            thread_id=thread.id,
            run_id=run.id,
            kind=order.kind,
            scope=order.scope,
            source=order.source,
            requested_by=order.requested_by,
            slack_ts=order.slack_ts,
            reason=order.reason,
            state=state,
            steps={step_lists.WITHDRAWN: order.withdrawn} if order.withdrawn else None,
        )
    )
    said = {
        "kind": order.kind,
        "scope": order.scope,
        "source": order.source,
        "requested_by": order.requested_by,
    }
    await audit_chain.note(tx, thread.id, [Entry(EntryKind.INTERRUPT, said, run.id)])


async def cancel(tx: Transaction, run_id: str) -> None:
    """Say of what ends a run at once that its run is being ended."""
    hard = sa.and_(
        interrupts.c.run_id == run_id,
        interrupts.c.kind.in_([InterruptKind.STOP, InterruptKind.ROLLBACK]),
        interrupts.c.state == InterruptState.TRIGGERED,
    )
    begun = {"state": InterruptState.CANCELLING, "cancelling_at": clock()}
    await tx.execute(sa.update(interrupts).where(hard).values(**begun))


async def pending(tx: Transaction, run: Run) -> list[Pending]:
    """What is asked of a run and not yet done, oldest first; a steer is pending while its message waits.

    A run that has not started takes waiting messages at its first claim, so none of them can cut it. A halt is
    pending for every run exactly while it stands.
    """
    found = [_pending(row) for row in await tx.execute(_ASKED, {"run_id": run.id})]
    steer = None if run.started_at is None else await _waiting_steer(tx, run.thread_id)
    return [*found, steer] if steer else found


async def first_pending(tx: Transaction, run: Run) -> Pending | None:
    """The interrupt that decides, by the order of the rules; None where nothing is asked."""
    return first(await pending(tx, run))


async def probe(tx: Transaction, claim: Claim, known_seq: int) -> Probed:
    """Look, at a cut point, whether the run goes on; a cut is stamped and a suspension carried out right here.

    `known_seq` is the number of the last event that the worker knows: a probe whose reply was lost is repeated, and
    what the first one appended is among the news of the second.
    """
    thread = await threads.lock_owned(tx, claim)
    run = await runs.get(tx, claim.run_id) if thread else None
    if thread is None or run is None or run.state is RunState.SETTLED:
        return Probed(ProbeAnswer.LOST)
    if run.cut is not None:
        return Probed(ProbeAnswer.CUT, run.cut)
    decisive = await first_pending(tx, run)
    if decisive is None:
        return Probed(ProbeAnswer.GO_ON, news=await _news(tx, thread, run, known_seq))
    if decisive.kind in SUSPENDS:
        await _suspend(tx, thread, run, decisive)
        return Probed(ProbeAnswer.SUSPENDED)
    await runs.stamp_cut(tx, run.id, decisive)
    return Probed(ProbeAnswer.CUT, decisive)


async def _news(tx: Transaction, thread: Thread, run: Run, known_seq: int) -> tuple[Event, ...]:
    appended = await taking.take_news(tx, thread, run.id)
    if not appended and thread.event_seq == known_seq:
        return ()
    return tuple(await history.load(tx, thread.id, after=known_seq))


async def _suspend(tx: Transaction, thread: Thread, run: Run, by: Pending) -> None:
    if by.kind is InterruptKind.PAUSE:
        await park(tx, thread, run, by)
        return
    await threads.release(tx, thread, ThreadState.READY)
    await finish(tx, run.id, {by.kind})
    await notify.notify(tx, notify.READY, thread=thread.id)


async def park(tx: Transaction, thread: Thread, run: Run, pause: Pending) -> None:
    """Suspend a run for a pause and let its worker go; the waiting steers become hold."""
    await runs.change(
        tx,
        run.id,
        state=RunState.PARKED,
        parked_for=ParkedFor.PAUSED,
        parked_at=clock(),
        pause_id=pause.id,
        acted_by=pause.requested_by,
        reminded_at=None,
    )
    held = sa.and_(inbox.c.thread_id == thread.id, inbox.c.state == InboxState.WAITING)
    if run.started_at is not None:
        steers = sa.and_(held, inbox.c.verdict == Verdict.STEER)
        await tx.execute(sa.update(inbox).where(steers).values(verdict=Verdict.HOLD))
    await threads.release(tx, thread, ThreadState.PARKED)
    await finish(tx, run.id, {InterruptKind.PAUSE})
    await cards.bump(tx, run.id, at_once=True)


async def unpark(tx: Transaction, thread: Thread, run: Run) -> None:
    """Make a paused run ready again; one that was paused before its first claim is queued again."""
    state = RunState.RUNNING if run.started_at is not None else RunState.QUEUED
    # How long it was parked does not count as work (storage.limits).
    parked_ms = sa.func.coalesce(sa.extract("epoch", clock() - runs_table.c.parked_at) * 1000, 0)
    unparked = {"parked_for": None, "parked_at": None, "parked_ms": runs_table.c.parked_ms + parked_ms}
    await runs.change(tx, run.id, state=state, pause_id=None, acted_by=None, **unparked)
    await threads.change(tx, thread.id, state=ThreadState.READY, ready_at=clock())
    await notify.notify(tx, notify.READY, thread=thread.id)
    await cards.bump(tx, run.id, at_once=True)


async def finish(tx: Transaction, run_id: str, done: set[InterruptKind]) -> None:
    """Say of the open interrupts of these kinds that they were carried out."""
    await tx.execute(sa.update(interrupts).where(_open(run_id), interrupts.c.kind.in_(done)).values(**_over("done")))


async def settle(tx: Transaction, run_id: str, by: InterruptKind | None) -> None:
    """Close the interrupts of a run that is settled: those of the kind that decided are done, all others are moot.

    What had become of every call is kept with those that are done.
    """
    if by is not None:
        lists = sa.literal(await step_lists.of_run(tx, run_id), SafeJson())
        steps = sa.func.coalesce(interrupts.c.steps, sa.literal({}, SafeJson())).op("||")(lists)
        decided = sa.and_(_open(run_id), interrupts.c.kind == by)
        await tx.execute(sa.update(interrupts).where(decided).values(**_over("done"), steps=steps))
    await tx.execute(sa.update(interrupts).where(_open(run_id)).values(**_over("moot")))


async def make_moot(tx: Transaction, run_id: str, kind: InterruptKind) -> bool:
    """Take back open interrupts of one kind; whether there was one."""
    mine = sa.update(interrupts).where(_open(run_id), interrupts.c.kind == kind)
    return (await tx.execute(mine.values(**_over("moot")))).rowcount > 0


_OF_A_RUN = sa.select(
    interrupts.c.kind, interrupts.c.source, interrupts.c.requested_by, interrupts.c.id, interrupts.c.requested_at
).where(interrupts.c.run_id == sa.bindparam("run_id"), interrupts.c.state.in_(OPEN), interrupts.c.kind.in_(KNOWN_KINDS))
_OF_EVERY_RUN = sa.select(
    sa.literal(InterruptKind.STOP.value),
    sa.literal(InterruptSource.HALT.value),
    halts.c.set_by,
    sa.null(),
    halts.c.set_at,
).where(halts.c.lifted_at.is_(None))
# One statement for both, built once: every probe and every start of a call asks it.
_ASKED = sa.union_all(_OF_A_RUN, _OF_EVERY_RUN).order_by("requested_at", "id")


async def is_taken_back(tx: Transaction, run: Run) -> bool:
    """Whether what ends this run is that it is taken back; a stop comes before that, and is still to be written."""
    first_asked = await first_pending(tx, run)
    return first_asked is not None and first_asked.kind is InterruptKind.ROLLBACK


async def _waiting_steer(tx: Transaction, thread_id: str) -> Pending | None:
    waiting = (
        sa
        .select(inbox.c.author)
        .where(inbox.c.thread_id == thread_id, inbox.c.state == InboxState.WAITING, inbox.c.verdict == Verdict.STEER)
        .order_by(inbox.c.slack_ts, inbox.c.seq)
        .limit(1)
    )
    author = (await tx.execute(waiting)).scalar_one_or_none()
    return None if author is None else Pending(InterruptKind.STEER, InterruptSource.MESSAGE, author)


def _open(run_id: str) -> sa.ColumnElement[bool]:
    """A state is only ever left by a write that has this in its condition, so none is taken back."""
    return sa.and_(interrupts.c.run_id == run_id, interrupts.c.state.in_(OPEN))


def _over(state: Literal["done", "moot"]) -> dict[str, Any]:
    return {"state": InterruptState(state), "done_at": clock()}


def _pending(row: Any) -> Pending:
    # A source of a newer version is somebody's wish all the same.
    source = row.source if row.source in set(InterruptSource) else InterruptSource.API
    return Pending(InterruptKind(row.kind), InterruptSource(source), row.requested_by, row.id)
