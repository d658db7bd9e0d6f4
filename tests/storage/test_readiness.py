"""Whether a database can be used as it is: told from outside, without a change to it."""

import asyncpg
import pytest

from bot.errors import DatabaseUnavailableError, SettingsError
from storage.migrations import migrate
from storage.readiness import Readiness, readiness, require


async def revise(url: str, revision: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("update alembic_version set version_num = $1", revision)
    await connection.close()


async def test_a_database_without_tables_is_behind_and_stays_as_it_is(bare_database_url):
    found = await readiness(bare_database_url)

    connection = await asyncpg.connect(bare_database_url)
    tables = await connection.fetchval("select count(*) from pg_tables where schemaname = 'public'")
    await connection.close()
    assert (found, tables) == (Readiness.BEHIND, 0)


async def test_a_migrated_database_is_current(bare_database_url):
    await migrate(bare_database_url)

    found = await readiness(bare_database_url)

    assert found is Readiness.CURRENT


async def test_a_revision_that_nobody_has_heard_of_is_ahead(new_database_url):
    await revise(new_database_url, "of_tomorrow")

    found = await readiness(new_database_url)

    assert found is Readiness.AHEAD


async def test_what_is_not_current_is_refused_unless_it_is_allowed(bare_database_url):
    allowed = await require(bare_database_url, Readiness.BEHIND)

    with pytest.raises(SettingsError, match="run steersman migrate") as refused:
        await require(bare_database_url)

    assert allowed is Readiness.BEHIND
    assert refused.value.name == "DATABASE_URL"


@pytest.mark.parametrize("name", ["nosuch", "with%20blank"])
async def test_a_database_that_is_not_there_is_unavailable_in_one_line(postgres, name):
    with pytest.raises(DatabaseUnavailableError) as unavailable:
        await readiness(postgres.url(name))

    assert str(unavailable.value).startswith("DATABASE_URL: the database cannot be used (InvalidCatalogNameError")
    assert "\n" not in str(unavailable.value)


async def test_a_password_is_not_told_where_nobody_answers():
    with pytest.raises(DatabaseUnavailableError) as unavailable:
        await readiness("postgresql://ana:planted@127.0.0.1:1/x")

    assert "planted" not in str(unavailable.value)
