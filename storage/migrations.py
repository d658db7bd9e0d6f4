"""Brings a database to the newest tables."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from storage.engine import connect, dsn_of

FOLDER = Path(__file__).parent.parent / "migrations"

ONE_AT_A_TIME = 7_341_905_522
"""The advisory lock under which a database is migrated: two processes that start together must not both do it."""


async def migrate(url: str) -> None:
    """Run every migration that a database lacks; nothing happens where it lacks none."""
    dsn = dsn_of(url)
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: connect(dsn))
    try:
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
