"""The database of the settings: where it is, and that its tables are the newest."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.settings.environment import Settings
from storage.embedded import EmbeddedPostgres
from storage.engine import Database, Transaction
from storage.migrations import migrate
from storage.readiness import Readiness, require


def database_url(settings: Settings) -> str:
    """The address of the database; the embedded one is started where none is set."""
    return settings.database_url or EmbeddedPostgres(settings.home / "postgres").url()


async def ready_database(settings: Settings) -> str:
    """The address of a database with the newest tables; raises SettingsError or DatabaseUnavailableError.

    The embedded one is brought to them, since nobody else looks after it; one that was set is its operator's to change.
    """
    if settings.database_url is None:
        await migrated(settings)
    url = await asyncio.to_thread(database_url, settings)
    await require(url)
    return url


async def migrated(settings: Settings) -> bool:
    """Bring the database of these settings to the newest tables; whether there was anything to do."""
    url = await asyncio.to_thread(database_url, settings)
    found = await require(url, Readiness.BEHIND)
    await migrate(url)
    return found is Readiness.BEHIND


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Database]:
    """The database of these settings, for a command; closed on leaving."""
    database = Database(await ready_database(settings), pool_size=2)
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[Transaction]:
    """One snapshot of the database that can be read and not changed: what is read in several steps fits together."""
    async with opened(settings) as database, database.transaction() as tx:
        await tx.exec_driver_sql("set transaction isolation level repeatable read read only")
        yield tx
