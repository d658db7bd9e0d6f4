"""The rows of the inbox: messages of a thread that wait, were taken, or were withdrawn."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from bot.rules.inbound_message import AuthorFacts, Message
from bot.rules.terms import InboxState, Source, Verdict
from storage.engine import Transaction
from storage.tables import inbox


@dataclass(frozen=True, slots=True)
class Waiting:
    """A stored message."""

    seq: int
    source: Source
    author: str
    author_name: str
    text: str
    slack_ts: Decimal | None
    verdict: Verdict
    state: InboxState
    run_id: str | None


async def waiting(tx: Transaction, thread_id: str, verdicts: Iterable[Verdict]) -> list[Waiting]:
    """The waiting messages with one of these verdicts, in Slack's time order."""
    found = (
        sa.select(inbox)
        .where(
            inbox.c.thread_id == thread_id,
            inbox.c.state == InboxState.WAITING,
            inbox.c.verdict.in_(list(verdicts)),
        )
        .order_by(inbox.c.slack_ts, inbox.c.seq)
    )
    return [_waiting(row) for row in (await tx.execute(found)).mappings()]


async def at(tx: Transaction, thread_id: str, slack_ts: str) -> Waiting | None:
    """The stored message with this Slack timestamp."""
    found = sa.select(inbox).where(inbox.c.thread_id == thread_id, inbox.c.slack_ts == slack_ts)
    row = (await tx.execute(found.limit(1))).mappings().one_or_none()
    return _waiting(row) if row else None


async def unjudged(tx: Transaction) -> list[Message]:
    """The messages whose authors were not known when they came, oldest first."""
    found = sa.select(inbox.c.raw).where(inbox.c.state == InboxState.UNJUDGED).order_by(inbox.c.stored_at).limit(20)
    return [_message(raw) for raw in (await tx.execute(found)).scalars()]


async def take(tx: Transaction, thread_id: str, seqs: list[int], run_id: str) -> None:
    """Mark messages as taken by a run."""
    mine = sa.and_(inbox.c.thread_id == thread_id, inbox.c.seq.in_(seqs))
    await tx.execute(sa.update(inbox).where(mine).values(state=InboxState.CONSUMED, run_id=run_id))


async def change(tx: Transaction, thread_id: str, seq: int, **values: Any) -> None:
    """Set columns of one message."""
    await tx.execute(sa.update(inbox).where(inbox.c.thread_id == thread_id, inbox.c.seq == seq).values(**values))


async def remove(tx: Transaction, thread_id: str, seq: int) -> None:
    """Remove a message that is about to be stored again under another verdict."""
    await tx.execute(sa.delete(inbox).where(inbox.c.thread_id == thread_id, inbox.c.seq == seq))


async def become_notes(
    tx: Transaction, thread_id: str, verdicts: Iterable[Verdict], *, not_later_than: Decimal | None = None
) -> int:
    """Turn waiting messages into notes, which start nothing; how many there were."""
    these = sa.and_(
        inbox.c.thread_id == thread_id, inbox.c.state == InboxState.WAITING, inbox.c.verdict.in_(list(verdicts))
    )
    if not_later_than is not None:
        these = sa.and_(these, inbox.c.slack_ts <= not_later_than)
    return (await tx.execute(sa.update(inbox).where(these).values(verdict=Verdict.NOTE))).rowcount


def _message(raw: Any) -> Message:
    return Message(**{**raw, "author": AuthorFacts(**raw["author"]), "files": tuple(raw["files"])})


def _waiting(row: Any) -> Waiting:
    return Waiting(
        seq=row["seq"],
        source=Source(row["source"]),
        author=row["author"],
        author_name=row["author_name"],
        text=row["text"],
        slack_ts=row["slack_ts"],
        verdict=Verdict(row["verdict"]),
        state=InboxState(row["state"]),
        run_id=row["run_id"],
    )
