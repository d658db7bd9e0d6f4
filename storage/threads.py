"""The rows of threads, and their locks.

Every transaction about a thread locks its row here first, in a statement of its own, and reads inbox, interrupts and
runs only afterwards: a statement that had to wait decides on an older snapshot.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from bot.rules.terms import ThreadState
from storage.engine import Transaction
from storage.tables import threads


@dataclass(frozen=True, slots=True)
class Place:
    """Where a thread is in Slack."""

    team_id: str
    channel_id: str
    thread_ts: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread whose row this transaction has locked."""

    id: str
    place: Place
    state: ThreadState
    fence: int
    owner: str | None
    event_seq: int
    inbox_seq: int
    stopped_before_ts: Decimal | None
    earlier_read: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's hold on a thread; every write of a run carries it, and one with an old fence writes nothing."""

    thread_id: str
    run_id: str
    worker_id: str
    fence: int


async def lock(tx: Transaction, thread_id: str) -> Thread | None:
    """Lock a thread by its id; None where there is none."""
    return await _locked(tx, _BY_ID, {"id": thread_id})


async def lock_at(tx: Transaction, place: Place) -> Thread | None:
    """Lock the thread of a place; None where there is none yet."""
    where = {"team_id": place.team_id, "channel_id": place.channel_id, "thread_ts": place.thread_ts}
    return await _locked(tx, _AT_A_PLACE, where)


async def lock_owned(tx: Transaction, claim: Claim) -> Thread | None:
    """Lock the thread of a claim; None when the claim no longer holds it. Owner and fence are both compared."""
    thread = await lock(tx, claim.thread_id)
    if thread is None or thread.owner != claim.worker_id or thread.fence != claim.fence:
        return None
    return thread


async def lock_again(tx: Transaction, thread: Thread) -> Thread:
    """A locked thread as it is now, after this transaction itself has changed its row."""
    fresh = await lock(tx, thread.id)
    if fresh is None:
        raise AssertionError(f"thread {thread.id} vanished under its lock")
    return fresh


async def create(tx: Transaction, thread_id: str, place: Place) -> bool:
    """Make the row of a place; False when another transaction made it first."""
    statement = (
        insert(threads)
        .values(id=thread_id, team_id=place.team_id, channel_id=place.channel_id, thread_ts=place.thread_ts)
        .on_conflict_do_nothing()
    )
    return (await tx.execute(statement)).rowcount == 1


async def change(tx: Transaction, thread_id: str, **values: Any) -> None:
    """Set columns of a locked thread."""
    await tx.execute(sa.update(threads).where(threads.c.id == thread_id).values(**values))


async def release(tx: Transaction, thread: Thread, state: ThreadState) -> None:
    """Take the thread from its worker. The fence grows, so that nothing the worker still writes counts."""
    ready_at = sa.func.clock_timestamp() if state is ThreadState.READY else None
    await change(tx, thread.id, state=state, owner=None, fence=threads.c.fence + 1, ready_at=ready_at)


# Built once: every transaction begins with one of these, and building a statement costs more than sending it.
_BY_ID = sa.select(threads).where(threads.c.id == sa.bindparam("id")).with_for_update()
_AT_A_PLACE = (
    sa
    .select(threads)
    .where(*(threads.c[name] == sa.bindparam(name) for name in ("team_id", "channel_id", "thread_ts")))
    .with_for_update()
)


async def _locked(tx: Transaction, statement: sa.Select[Any], where: dict[str, str]) -> Thread | None:
    row = (await tx.execute(statement, where)).mappings().one_or_none()
    return _thread(row) if row else None


def _thread(row: Any) -> Thread:
    return Thread(
        id=row["id"],
        place=Place(row["team_id"] or "", row["channel_id"] or "", row["thread_ts"] or ""),
        state=ThreadState(row["state"]),
        fence=row["fence"],
        owner=row["owner"],
        event_seq=row["event_seq"],
        inbox_seq=row["inbox_seq"],
        stopped_before_ts=row["stopped_before_ts"],
        earlier_read=row["earlier_read"],
    )
