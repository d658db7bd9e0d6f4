"""The rows of runs. A run is made in two places only: by a message in an idle thread, and by a settlement."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.rules.interrupt_order import Pending
from bot.rules.terms import (
    InterruptKind,
    InterruptSource,
    ParkedFor,
    RunState,
    Source,
    StartedBy,
    ThreadState,
    Verdict,
)
from storage import cards, notify, threads
from storage.engine import Transaction
from storage.tables import cards as cards_table
from storage.tables import inbox, runs
from storage.threads import Thread


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its row says it is."""

    id: str
    thread_id: str
    chain_id: str
    state: RunState
    parked_for: ParkedFor | None
    pause_id: str | None
    acted_by: str | None
    requested_by: str
    title: str
    model: str | None
    attempts: int
    progress_seq: int
    round: int
    cut: Pending | None
    started_at: datetime | None
    flat: bool = False


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a run is made from; a chain is the runs that go on with the same request."""

    id: str
    chain_id: str
    previous_id: str | None
    requested_by: str
    title: str
    started_by: StartedBy = StartedBy.MESSAGE


def started_by(source: Source) -> StartedBy:
    """What a run is started by that a message of this source starts."""
    made = {Source.ALERT_BOT: StartedBy.ALERT, Source.SUBAGENT: StartedBy.SUBAGENT}
    return made.get(source, StartedBy.MESSAGE)


def of_chain(chain_id: str) -> sa.Select[tuple[str]]:
    """The ids of the runs of a chain."""
    return sa.select(runs.c.id).where(runs.c.chain_id == chain_id)


async def create(tx: Transaction, thread: Thread, new: NewRun) -> None:
    """Queue a run in a locked thread that has none unsettled, with its card, and make the thread ready."""
    await tx.execute(
        sa.insert(runs).values(
            id=new.id,
            thread_id=thread.id,
            chain_id=new.chain_id,
            previous_id=new.previous_id,
            state=RunState.QUEUED,
            requested_by=new.requested_by,
            started_by=new.started_by,
            title=new.title,
        )
    )
    await cards.create(tx, new.id, thread.place)
    await threads.change(tx, thread.id, state=ThreadState.READY, owner=None, ready_at=sa.func.clock_timestamp())
    await notify.notify(tx, notify.READY, thread=thread.id)


async def get(tx: Transaction, run_id: str) -> Run | None:
    """A run by its id."""
    return await _one(tx, sa.select(runs).where(runs.c.id == run_id))


async def newest(tx: Transaction, thread_id: str) -> Run | None:
    """The newest run of a thread; the only one that can be unsettled."""
    return await _one(tx, sa.select(runs).where(runs.c.thread_id == thread_id).order_by(runs.c.seq.desc()).limit(1))


async def thread_of(tx: Transaction, run_id: str) -> str | None:
    """The thread of a run, without locking anything."""
    found = sa.select(runs.c.thread_id).where(runs.c.id == run_id)
    return (await tx.execute(found)).scalar_one_or_none()


async def is_card_at(tx: Transaction, run_id: str, channel_id: str, ts: str) -> bool:
    """Whether this message is the card of this run; one whose place is not known yet is taken at its word."""
    at = sa.select(cards_table.c.channel_id, cards_table.c.ts).where(cards_table.c.run_id == run_id)
    row = (await tx.execute(at)).one_or_none()
    return row is not None and row[0] == channel_id and row[1] in {None, ts}


async def change(tx: Transaction, run_id: str, **values: Any) -> None:
    """Set columns of a run of a locked thread."""
    await tx.execute(sa.update(runs).where(runs.c.id == run_id).values(**values))


async def stamp_cut(tx: Transaction, run_id: str, cut: Pending) -> None:
    """Write down that the run is cut, at the moment it happens: a successor settles it so and need not guess."""
    stamp = {"cut_by": cut.kind, "cut_source": cut.source, "cut_who": cut.requested_by}
    await change(tx, run_id, cut_at=sa.func.clock_timestamp(), **stamp)


async def is_requester(tx: Transaction, run: Run | None, author: str) -> bool:
    """Whether a person asked for this chain of runs, or had a message taken by it as start or steer."""
    if run is None:
        return False
    if run.requested_by == author:
        return True
    took = sa.select(inbox.c.seq).where(
        inbox.c.thread_id == run.thread_id,
        inbox.c.author == author,
        inbox.c.verdict.in_([Verdict.START, Verdict.STEER]),
        inbox.c.run_id.in_(of_chain(run.chain_id)),
    )
    return (await tx.execute(took.limit(1))).first() is not None


async def _one(tx: Transaction, statement: sa.Select[Any]) -> Run | None:
    row = (await tx.execute(statement)).mappings().one_or_none()
    return _run(row) if row else None


def _run(row: Any) -> Run:
    return Run(
        id=row["id"],
        thread_id=row["thread_id"],
        chain_id=row["chain_id"],
        state=RunState(row["state"]),
        parked_for=ParkedFor(row["parked_for"]) if row["parked_for"] else None,
        pause_id=row["pause_id"],
        acted_by=row["acted_by"],
        requested_by=row["requested_by"],
        title=row["title"],
        model=row["model"],
        attempts=row["attempts"],
        progress_seq=row["progress_seq"],
        round=row["round"],
        cut=_cut(row),
        started_at=row["started_at"],
        flat=row["flat"],
    )


def _cut(row: Any) -> Pending | None:
    if row["cut_by"] is None:
        return None
    return Pending(InterruptKind(row["cut_by"]), InterruptSource(row["cut_source"]), row["cut_who"] or "")
