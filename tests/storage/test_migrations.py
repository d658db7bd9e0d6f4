"""A database that was built by the migrations is the one that the tables describe, whoever migrates, and how often."""

import asyncio

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.ext.asyncio import create_async_engine

from bot.errors import DatabaseUnavailableError, SettingsError
from storage.engine import connect, dsn_of
from storage.migrations import ONE_AT_A_TIME, migrate
from storage.oversight_tables import schema
from tests.storage.waits import waiters

COLUMNS = """
select table_name, column_name, data_type, is_nullable, column_default, is_identity, identity_generation,
       numeric_precision, numeric_scale
from information_schema.columns where table_schema = 'public'
"""
CONSTRAINTS = """
select conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid)
from pg_constraint where connamespace = 'public'::regnamespace
"""
INDEXES = "select tablename, indexname, indexdef from pg_indexes where schemaname = 'public'"


def engine_of(url):
    return create_async_engine("postgresql+asyncpg://", async_creator=lambda: connect(dsn_of(url)))


async def catalogue(url):
    """Everything that the server knows of the tables of a database."""
    connection = await asyncpg.connect(url)
    found = [tuple(row) for query in (COLUMNS, CONSTRAINTS, INDEXES) for row in await connection.fetch(query)]
    await connection.close()
    return sorted((row for row in found if "alembic_version" not in row[0]), key=str)


async def differences(url):
    """What Alembic would write into a migration."""
    engine = engine_of(url)
    options = {"compare_type": True, "compare_server_default": True}
    async with engine.connect() as connection:
        found = await connection.run_sync(
            lambda sync: compare_metadata(MigrationContext.configure(sync, opts=options), schema)
        )
    await engine.dispose()
    return found


async def test_the_migrations_leave_nothing_for_alembic_to_write(database_url):
    assert await differences(database_url) == []


async def test_the_tables_as_described_and_as_migrated_are_the_same_to_the_server(database_url, bare_database_url):
    engine = engine_of(bare_database_url)
    async with engine.begin() as connection:
        await connection.run_sync(schema.create_all)
    await engine.dispose()

    described, migrated = await catalogue(bare_database_url), await catalogue(database_url)

    assert described == migrated
    assert len(described) > 200


async def test_a_column_that_is_missing_would_be_seen(new_database_url):
    connection = await asyncpg.connect(new_database_url)
    await connection.execute("alter table runs drop column title")
    await connection.close()

    assert [each[0] for each in await differences(new_database_url)] == ["add_column"]


async def test_migrating_a_second_time_changes_nothing(new_database_url):
    before = await catalogue(new_database_url)

    await migrate(new_database_url)

    assert await catalogue(new_database_url) == before


async def test_five_processes_that_start_together_migrate_once(bare_database_url, database_url):
    await asyncio.gather(*(migrate(bare_database_url) for _ in range(5)))

    assert await catalogue(bare_database_url) == await catalogue(database_url)


async def test_whoever_comes_second_waits_for_the_first(bare_database_url):
    holder = await asyncpg.connect(bare_database_url)
    await holder.execute(f"select pg_advisory_lock({ONE_AT_A_TIME})")
    migrating = asyncio.ensure_future(migrate(bare_database_url))
    await waiters(holder)
    before = await holder.fetchval("select to_regclass('threads')")

    await holder.execute(f"select pg_advisory_unlock({ONE_AT_A_TIME})")
    await migrating

    assert before is None
    assert await holder.fetchval("select count(*) from threads") == 0
    await holder.close()


async def test_a_database_that_cannot_be_reached_is_away(tmp_path):
    with pytest.raises(DatabaseUnavailableError):
        await migrate(f"postgresql:///postgres?host={tmp_path}")


async def test_an_address_that_is_none_is_a_wrong_setting():
    with pytest.raises(SettingsError):
        await migrate("mysql://h/d")
