"""Alembic's way in: one connection to the database that DATABASE_URL names, or the one that was handed over."""

import asyncio
import os
from logging import getLogger
from pathlib import Path
from typing import Literal

from alembic import context
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from storage.columns import SafeJson, SafeText, SlackTs
from storage.embedded import EmbeddedPostgres
from storage.engine import connect, dsn_of
from storage.oversight_tables import schema

PLAIN: dict[type[object], str] = {SafeText: "sa.Text()", SafeJson: "postgresql.JSONB()", SlackTs: "sa.Numeric(20, 6)"}


def plain_type(kind: str, item: object, _: object) -> str | Literal[False]:
    """Write our column types as what they are in the database: a migration may not change when our code does."""
    return PLAIN.get(type(item), False) if kind == "type" else False


def migrate_on(connection: Connection) -> None:
    """Run the migrations on a connection."""
    context.configure(
        connection=connection, target_metadata=schema, compare_server_default=True, render_item=plain_type
    )
    with context.begin_transaction():
        context.run_migrations()


async def migrate() -> None:
    """Run the migrations on a connection of our own."""
    # `make migration` compares with a database of its own, so that nobody's data is needed to write one.
    url = os.environ.get("DATABASE_URL") or EmbeddedPostgres(Path(".demo/migrations")).url()
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: connect(dsn_of(url)))
    async with engine.begin() as connection:
        await connection.run_sync(migrate_on)
    await engine.dispose()


getLogger("alembic").setLevel("WARNING")
handed_over = context.config.attributes.get("connection")
if handed_over is not None:
    migrate_on(handed_over)
else:
    asyncio.run(migrate())
