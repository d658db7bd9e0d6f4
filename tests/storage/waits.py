"""Waits for what another connection does, by looking at the server; one outer limit ends a wait that is in vain."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

LIMIT_S = 20.0


async def until(is_so: Callable[[], Awaitable[Any]]) -> Any:
    """Look again and again until the answer is true, and give it."""
    async with asyncio.timeout(LIMIT_S):
        while not (found := await is_so()):
            await asyncio.to_thread(lambda: None)
        return found


async def waiters(raw: Any, number: int = 1) -> None:
    """Wait until so many sessions of this database wait for a lock."""
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

    async def enough() -> bool:
        return await raw.fetchval(waiting) >= number

    await until(enough)


async def terminate(raw: Any, pid: int) -> None:
    """End a session of the server, and wait until it is gone."""
    await raw.execute("select pg_terminate_backend($1)", pid)
    await gone(raw, pid)


async def gone(raw: Any, pid: int) -> None:
    """Wait until a session of the server is gone."""

    async def is_gone() -> bool:
        return not await raw.fetchval("select 1 from pg_stat_activity where pid = $1", pid)

    await until(is_gone)
