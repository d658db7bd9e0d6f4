"""Databases of one demo: made empty when it starts, dropped when it ends.

The playground's Slack begins empty each time, so runs of an earlier demo would point at threads that are gone, and a
second demo on the same server would work off runs of the first.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from storage.embedded import EmbeddedPostgres
from storage.engine import connect


@asynccontextmanager
async def scratch(server: EmbeddedPostgres, name: str) -> AsyncIterator[str]:
    """An empty database on a server of ours, by its address; `name` is letters, digits and _."""
    await _say(server, f"create database {name}")
    try:
        yield server.url(name)
    finally:
        await _say(server, f"drop database if exists {name} with (force)")


async def _say(server: EmbeddedPostgres, statement: str) -> None:
    connection = await connect(server.url())
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
