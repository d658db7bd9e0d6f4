"""What a message needs to know that comes after a run has ended: could its sender have seen the answer?"""

from decimal import Decimal

import sqlalchemy as sa

from bot.rules.terms import SettleReason, Source
from storage import posts, settlement
from storage.engine import Transaction
from storage.runs import Run
from storage.tables import inbox, settlements

NOT_YET = Decimal("Infinity")


async def answer_time(tx: Transaction, run: Run) -> Decimal | None:
    """The Slack time of a run's answer; infinite while it is still to be posted, None where none is to come."""
    settled = await settlement.settled(tx, run.id)
    if settled is None or settled.reason is not SettleReason.COMPLETED:
        return None
    if await posts.is_answer_coming(tx, run.id):
        return NOT_YET
    ts = await posts.answer_ts(tx, run.id)
    return Decimal(ts) if ts else None


async def was_said_since(tx: Transaction, run: Run) -> bool:
    """Whether a requester has already said something in plain words since the run was settled."""
    settled_at = sa.select(settlements.c.settled_at).where(settlements.c.run_id == run.id).scalar_subquery()
    said = sa.select(inbox.c.seq).where(
        inbox.c.thread_id == run.thread_id, inbox.c.source == Source.REQUESTER, inbox.c.stored_at > settled_at
    )
    return (await tx.execute(said.limit(1))).first() is not None
