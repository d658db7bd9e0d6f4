"""Holding a thread's row, so that what wants it queues up behind us in an order that is proved and not guessed."""

import contextlib
from collections.abc import Awaitable, Callable

import asyncpg

from tests.stories.stage import Stage, Thread

WAITING = "select count(*) >= $1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


@contextlib.asynccontextmanager
async def held(stage: Stage, thread: Thread):
    """Hold the row of a thread until the block is left; gives a wait for so many transactions in the queue.

    PostgreSQL lets those in that queue through in the order in which they came.
    """
    holder = await asyncpg.connect(stage.url)
    try:
        async with holder.transaction():
            await holder.execute(
                "select 1 from threads where channel_id = $1 and thread_ts = $2 for update", thread.channel, thread.ts
            )
            yield _queue(stage)
    finally:
        await holder.close()


def _queue(stage: Stage) -> Callable[[int], Awaitable[bool]]:
    async def queued(count: int) -> bool:
        return await stage.until(lambda: stage.reader.fetchval(WAITING, count))

    return queued
