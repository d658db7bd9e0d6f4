"""How waiting messages enter the history: in Slack's time order, each once."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from bot.rules.terms import EventKind, Source, Verdict
from storage import history, inbox_rows
from storage.engine import Transaction
from storage.history import NewEvent
from storage.inbox_rows import Waiting
from storage.tables import settlements
from storage.threads import Thread


async def take(tx: Transaction, thread: Thread, run_id: str, waiting: Sequence[Waiting]) -> list[NewEvent]:
    """Append waiting messages to the history of a locked thread and mark them as taken; returns what was appended."""
    if not waiting:
        return []
    newest = await history.newest_event(tx, thread.id)
    unsent = newest is not None and history.is_final_text(newest) and await _was_not_sent(tx, newest.run_id)
    new = [NewEvent(EventKind.USER, _body(each, unsent_answer=unsent and n == 0)) for n, each in enumerate(waiting)]
    await history.insert(tx, thread, run_id, new)
    await inbox_rows.take(tx, thread.id, [each.seq for each in waiting], run_id)
    return new


async def take_news(tx: Transaction, thread: Thread, run_id: str) -> list[NewEvent]:
    """Append what a live run must be told between two rounds: that a message it has seen was withdrawn."""
    notes = await inbox_rows.waiting(tx, thread.id, [Verdict.NOTE])
    return await take(tx, thread, run_id, [each for each in notes if each.source is Source.SYSTEM])


async def _was_not_sent(tx: Transaction, run_id: str) -> bool:
    unsent = sa.select(settlements.c.run_id).where(
        settlements.c.run_id == run_id, settlements.c.final_event_id.is_(None)
    )
    return (await tx.execute(unsent)).first() is not None


def _body(message: Waiting, *, unsent_answer: bool) -> dict[str, Any]:
    return {
        "text": message.text,
        "author": message.author,
        "name": message.author_name or message.author,
        "source": message.source,
        "slack_ts": str(message.slack_ts) if message.slack_ts is not None else None,
        "note": message.verdict is Verdict.NOTE or message.source is Source.SYSTEM,
        "unsent_answer": unsent_answer,
    }
