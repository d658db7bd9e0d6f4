"""The rows of the inbox: messages of a thread that wait, were taken, or were withdrawn."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from bot.rules.inbound_message import AuthorFacts, Message
from bot.rules.terms import InboxState, Source, Verdict
from storage import runs
from storage.engine import Transaction
from storage.runs import Run
from storage.tables import clock, inbox

STARTS_A_RUN = (Verdict.START, Verdict.STEER, Verdict.QUEUE)
ASKS = (*STARTS_A_RUN, Verdict.HOLD)
"""What asks something of a run; a note only says something."""

JUDGED_WITHIN_S = 60
"""Seconds after which a message is judged even if Slack has not said who its author is (design, section 5)."""


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
        sa
        .select(inbox)
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
    # Our own note that a message was deleted has that message's time.
    here = sa.and_(inbox.c.thread_id == thread_id, inbox.c.slack_ts == slack_ts, inbox.c.source != Source.SYSTEM)
    row = (await tx.execute(sa.select(inbox).where(here).order_by(inbox.c.seq).limit(1))).mappings().one_or_none()
    return _waiting(row) if row else None


async def unjudged(tx: Transaction) -> list[Message]:
    """The messages whose authors were not known when they came, oldest first, twenty at most."""
    found = sa.select(inbox.c.raw).where(inbox.c.state == InboxState.UNJUDGED).order_by(inbox.c.stored_at).limit(20)
    return [_message(raw) for raw in (await tx.execute(found)).scalars()]


async def is_overdue(tx: Transaction, thread_id: str, seq: int) -> bool:
    """Whether a message has waited for its judgement longer than it may."""
    late = inbox.c.stored_at < clock() - sa.func.make_interval(0, 0, 0, 0, 0, 0, JUDGED_WITHIN_S)
    found = sa.select(late).where(inbox.c.thread_id == thread_id, inbox.c.seq == seq)
    return bool((await tx.execute(found)).scalar_one_or_none())


async def newest_ask(tx: Transaction, run: Run) -> Decimal | None:
    """The Slack time of the newest message that a run was asked by; of its chain, where it has none itself."""
    asks = sa.and_(inbox.c.thread_id == run.thread_id, inbox.c.verdict.in_(ASKS))
    taken = sa.and_(inbox.c.state == InboxState.CONSUMED, inbox.c.run_id == run.id)
    if run.started_at is None:
        # A run that has not started takes all that waits when it does.
        taken = sa.or_(taken, inbox.c.state == InboxState.WAITING)
    newest = sa.select(sa.func.max(inbox.c.slack_ts))
    own: Decimal | None = (await tx.execute(newest.where(asks, taken))).scalar_one()
    if own is not None:
        return own
    chain = sa.and_(inbox.c.state == InboxState.CONSUMED, inbox.c.run_id.in_(runs.of_chain(run.chain_id)))
    inherited: Decimal | None = (await tx.execute(newest.where(asks, chain))).scalar_one()
    return inherited


async def take(tx: Transaction, thread_id: str, seqs: list[int], run_id: str) -> None:
    """Mark messages as taken by a run."""
    mine = sa.and_(inbox.c.thread_id == thread_id, inbox.c.seq.in_(seqs))
    await tx.execute(sa.update(inbox).where(mine).values(state=InboxState.CONSUMED, run_id=run_id))


async def change(tx: Transaction, thread_id: str, seq: int, **values: Any) -> None:
    """Set columns of one message."""
    await tx.execute(sa.update(inbox).where(inbox.c.thread_id == thread_id, inbox.c.seq == seq).values(**values))


async def change_unjudged(tx: Transaction, thread_id: str, seq: int, message: Message) -> None:
    """Replace a message whose author is not known yet."""
    await change(tx, thread_id, seq, text=message.text, raw=asdict(message))


async def unjudged_at(tx: Transaction, thread_id: str, seq: int) -> Message:
    """A message whose author is not known yet, as it came."""
    raw = sa.select(inbox.c.raw).where(inbox.c.thread_id == thread_id, inbox.c.seq == seq)
    return _message((await tx.execute(raw)).scalar_one())


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


async def withdraw(tx: Transaction, thread_id: str, not_later_than: Decimal | None) -> int:
    """Withdraw what waits and was sent until then, and everything queued; how many messages that were."""
    until_then = sa.false() if not_later_than is None else inbox.c.slack_ts <= not_later_than
    these = sa.and_(
        inbox.c.thread_id == thread_id,
        inbox.c.state == InboxState.WAITING,
        inbox.c.verdict.in_(ASKS),
        sa.or_(until_then, inbox.c.verdict == Verdict.QUEUE),
    )
    return (await tx.execute(sa.update(inbox).where(these).values(state=InboxState.WITHDRAWN))).rowcount


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
