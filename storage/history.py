"""The history of a thread: append-only, and fenced."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.rules.messages import Event, JsonObject
from bot.rules.terms import EventKind, RunState
from storage import runs, threads
from storage.engine import Transaction
from storage.tables import events
from storage.threads import Claim, Thread


class Appended(StrEnum):
    """What became of an append."""

    STORED = "stored"
    CANCELLING = "cancelling"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that has no number yet."""

    kind: EventKind
    body: JsonObject
    provider: str | None = None
    model: str | None = None
    provider_blocks: tuple[JsonObject, ...] = ()


async def append(tx: Transaction, claim: Claim, seq: int, new: Sequence[NewEvent]) -> Appended:
    """Append events from number `seq` on, if the claim holds and the run may still write.

    Repeating an append whose reply was lost gives the same answer: the same number under the same fence is the same
    event.
    """
    thread = await threads.lock_owned(tx, claim)
    if thread is None:
        return Appended.STORED if await _is_mine(tx, claim, seq) else Appended.LOST
    run = await runs.get(tx, claim.run_id)
    if run is None or run.state is RunState.SETTLED:
        return Appended.LOST
    if run.state is RunState.CANCELLING:
        return Appended.CANCELLING
    if thread.event_seq >= seq:
        return Appended.STORED if await _is_mine(tx, claim, seq) else Appended.LOST
    await insert(tx, thread, claim.run_id, new)
    return Appended.STORED


async def insert(tx: Transaction, thread: Thread, run_id: str, new: Sequence[NewEvent]) -> int:
    """Append to a locked thread whose event numbers are still those of `thread`; returns the last number."""
    if not new:
        return thread.event_seq
    rows = [_row(thread, run_id, thread.event_seq + n, each) for n, each in enumerate(new, 1)]
    await tx.execute(sa.insert(events), rows)
    await threads.change(tx, thread.id, event_seq=thread.event_seq + len(new))
    return thread.event_seq + len(new)


async def load(tx: Transaction, thread_id: str) -> list[Event]:
    """The whole history of a thread, in order."""
    rows = await tx.execute(sa.select(events).where(events.c.thread_id == thread_id).order_by(events.c.seq))
    return [_event(row) for row in rows.mappings()]


async def last_batch(tx: Transaction, thread_id: str, run_id: str) -> list[Event]:
    """The newest model message of a run and what came after it; empty where it has none."""
    newest = (
        sa.select(sa.func.max(events.c.seq))
        .where(events.c.thread_id == thread_id, events.c.run_id == run_id, events.c.kind == EventKind.ASSISTANT)
        .scalar_subquery()
    )
    after = sa.select(events).where(events.c.thread_id == thread_id, events.c.seq >= newest).order_by(events.c.seq)
    return [_event(row) for row in (await tx.execute(after)).mappings()]


async def newest_event(tx: Transaction, thread_id: str) -> Event | None:
    """The last entry of a history."""
    newest = sa.select(events).where(events.c.thread_id == thread_id).order_by(events.c.seq.desc()).limit(1)
    row = (await tx.execute(newest)).mappings().one_or_none()
    return _event(row) if row else None


def is_final_text(event: Event | None) -> bool:
    """Whether this entry is a model message that ends a run: text, and no calls."""
    return (
        event is not None
        and event.kind is EventKind.ASSISTANT
        and not event.body.get("calls")
        and bool(str(event.body.get("text", "")).strip())
    )


async def _is_mine(tx: Transaction, claim: Claim, seq: int) -> bool:
    mine = sa.select(events.c.seq).where(
        events.c.thread_id == claim.thread_id,
        events.c.seq == seq,
        events.c.run_id == claim.run_id,
        events.c.fence == claim.fence,
    )
    return (await tx.execute(mine)).first() is not None


def _row(thread: Thread, run_id: str, seq: int, new: NewEvent) -> dict[str, Any]:
    return {
        "thread_id": thread.id,
        "seq": seq,
        "run_id": run_id,
        "fence": thread.fence,
        "kind": new.kind,
        "body": new.body,
        "provider": new.provider,
        "model": new.model,
        "provider_blocks": list(new.provider_blocks),
    }


def _event(row: Any) -> Event:
    return Event(
        seq=row["seq"],
        run_id=row["run_id"],
        kind=EventKind(row["kind"]),
        body=row["body"],
        provider=row["provider"],
        model=row["model"],
        provider_blocks=tuple(row["provider_blocks"] or ()),
    )
