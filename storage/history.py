"""The history of a thread: append-only, and fenced."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.rules.messages import Event, JsonObject
from bot.rules.terms import EventKind, RunState
from storage import runs, threads
from storage.columns import SafeJson
from storage.engine import Transaction
from storage.tables import events
from storage.threads import Claim, Thread


class Appended(StrEnum):
    """What became of an append; REPEATED: it had been stored before, with all that was written beside it."""

    STORED = "stored"
    REPEATED = "repeated"
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

    Repeating an append whose reply was lost is a success that writes nothing: the same numbers, under the same fence,
    with the same bodies. Other events under these numbers raise AssertionError: two would then be told as one.
    """
    thread = await threads.lock_owned(tx, claim)
    if await _are_stored(tx, claim, seq, new):
        return Appended.REPEATED
    run = await runs.get(tx, claim.run_id) if thread else None
    if thread is None or run is None or run.state is RunState.SETTLED:
        return Appended.LOST
    if run.state is RunState.CANCELLING:
        return Appended.CANCELLING
    if seq != thread.event_seq + 1:
        raise AssertionError(f"event {seq} cannot follow event {thread.event_seq} of thread {thread.id}")
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


async def load(tx: Transaction, thread_id: str, *, after: int = 0) -> list[Event]:
    """The history of a thread, in order, from the event after this number on."""
    wanted = sa.select(events).where(events.c.thread_id == thread_id, events.c.seq > after).order_by(events.c.seq)
    return [_event(row) for row in (await tx.execute(wanted)).mappings()]


async def open_calls(tx: Transaction, thread_id: str, run_id: str) -> list[JsonObject]:
    """The calls of a run's newest model message that have no answer yet."""
    batch = await last_batch(tx, thread_id, run_id)
    if not batch:
        return []
    answered = {event.body.get("call_id") for event in batch if event.kind is EventKind.TOOL_RESULT}
    calls = batch[0].body.get("calls")
    return [call for call in calls if call["id"] not in answered] if isinstance(calls, list) else []


async def last_batch(tx: Transaction, thread_id: str, run_id: str) -> list[Event]:
    """The newest model message of a run and what came after it; empty where it has none."""
    newest = (
        sa
        .select(sa.func.max(events.c.seq))
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


async def _are_stored(tx: Transaction, claim: Claim, seq: int, new: Sequence[NewEvent]) -> bool:
    """Whether these very events stand there; the database compares the bodies, since it writes numbers its own way."""
    mine = sa.and_(events.c.run_id == claim.run_id, events.c.fence == claim.fence)
    for number, each in enumerate(new, seq):
        here = sa.and_(events.c.thread_id == claim.thread_id, events.c.seq == number)
        same = sa.and_(events.c.kind == each.kind, events.c.body == sa.literal(each.body, SafeJson()))
        if (await tx.execute(sa.select(events.c.seq).where(here, mine, same))).first() is None:
            return False
    return bool(new)


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
