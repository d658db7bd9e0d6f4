"""The database of the settings: where it is, and that its tables are the newest."""

import asyncio

from bot.settings.environment import Settings
from storage.embedded import EmbeddedPostgres
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
