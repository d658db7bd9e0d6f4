"""The runs of one thread and how each ended, for whoever judges them from outside. It only reads."""

from dataclasses import dataclass

import sqlalchemy as sa

from bot.rules.terms import RunState, SettleReason
from storage.engine import Transaction
from storage.tables import cards, runs, settlements
from storage.threads import Place


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """One run; `reason` is None until it is settled, `post_key` is the key of its card in Slack."""

    run_id: str
    state: RunState
    post_key: str
    reason: SettleReason | None
    final_event_id: int | None


async def of_thread(tx: Transaction, place: Place) -> tuple[RunOutcome, ...]:
    """The runs of a thread, oldest first; none where nobody has asked for one."""
    found = (
        sa
        .select(runs.c.id, runs.c.state, cards.c.post_key, settlements.c.reason, settlements.c.final_event_id)
        .select_from(
            runs.join(cards, cards.c.run_id == runs.c.id).outerjoin(settlements, settlements.c.run_id == runs.c.id)
        )
        .where(
            cards.c.team_id == place.team_id,
            cards.c.channel_id == place.channel_id,
            cards.c.thread_ts == place.thread_ts,
        )
        .order_by(runs.c.seq)
    )
    return tuple(
        RunOutcome(run_id, RunState(state), post_key, SettleReason(reason) if reason else None, final)
        for run_id, state, post_key, reason, final in await tx.execute(found)
    )
