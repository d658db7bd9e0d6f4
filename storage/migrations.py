"""Brings a database to the newest tables."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from storage.engine import connect, dsn_of
from storage.faults import named_faults

FOLDER = Path(__file__).parent.parent / "migrations"

ONE_AT_A_TIME = 7_341_905_522
"""The advisory lock under which a database is migrated: two processes that start together must not both do it."""

LIMITS: Mapping[str, str] = MappingProxyType({"application_name": "steersman-migrate", "lock_timeout": "0"})
"""Whoever waits for another's migration waits as long as it takes; a migration itself sets a lock_timeout."""


async def migrate(url: str) -> None:
    """Run every migration that a database lacks; nothing happens where it lacks none.

    Raises DatabaseUnavailableError, DatabaseBusyError or SettingsError; then the database is as it was.
    """
    dsn = dsn_of(url)
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: connect(dsn, LIMITS, command_timeout=None)
    )
    try:
        with named_faults():
            async with engine.begin() as connection:
                await connection.exec_driver_sql(f"select pg_advisory_xact_lock({ONE_AT_A_TIME})")
                await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
