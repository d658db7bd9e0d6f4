"""Pauses that get long: a day before one ends by itself the thread is told, once."""

import sqlalchemy as sa

from bot.rules.terms import ParkedFor, RunState
from storage import cards, posts, runs, threads
from storage.engine import Transaction
from storage.tables import clock
from storage.tables import runs as runs_table

REMIND_BEFORE_S = 24 * 3600.0
"""Seconds before the end of a pause at which the thread is told (design, section 6)."""
REMINDER = "reminder"


def remind_after(limit_s: float) -> float | None:
    """Seconds of a pause after which its end is announced; None where no pause lasts longer than the announcement."""
    return limit_s - REMIND_BEFORE_S if limit_s > REMIND_BEFORE_S else None


async def to_remind(tx: Transaction, after_s: float) -> list[tuple[str, str]]:
    """Threads and runs that have been paused for so long and whose thread was not told yet."""
    found = sa.select(runs_table.c.thread_id, runs_table.c.id).where(_is_due(after_s))
    return [(row[0], row[1]) for row in await tx.execute(found)]


async def remind(tx: Transaction, thread_id: str, run_id: str, after_s: float, post_key: str) -> bool:
    """Tell a thread that its pause is near its end; False where it was told before, or goes on again."""
    thread = await threads.lock(tx, thread_id)
    due = sa.select(runs_table.c.pause_id).where(runs_table.c.id == run_id, _is_due(after_s))
    pause_id = (await tx.execute(due)).scalar_one_or_none()
    if thread is None or pause_id is None:
        return False
    await runs.change(tx, run_id, reminded_at=clock())
    # Each pause of a run has a reminder of its own.
    kind = f"{REMINDER}:{pause_id}"
    await posts.add(tx, posts.NewPost(post_key, run_id, kind, 0, thread.place, _words()))
    await cards.bump(tx, run_id, at_once=True)
    return True


def _words() -> str:
    return (
        "This analysis has been paused for long and ends by itself in 24 hours. "
        "To go on with it press Resume on its card; to end it now press Stop."
    )


def _is_due(after_s: float) -> sa.ColumnElement[bool]:
    return sa.and_(
        runs_table.c.state == RunState.PARKED,
        runs_table.c.parked_for == ParkedFor.PAUSED,
        runs_table.c.reminded_at.is_(None),
        runs_table.c.parked_at < clock() - sa.func.make_interval(0, 0, 0, 0, 0, 0, after_s),
    )
