"""A database that lives as long as a block."""

import asyncpg
import pytest

from storage.scratch import scratch


async def databases(postgres) -> set[str]:
    admin = await asyncpg.connect(postgres.url())
    found = {row[0] for row in await admin.fetch("select datname from pg_database")}
    await admin.close()
    return found


async def test_a_scratch_database_is_empty_and_goes_with_its_block(postgres):
    async with scratch(postgres, "scratch_one") as url:
        during = await databases(postgres)
        connection = await asyncpg.connect(url)
        tables = await connection.fetchval("select count(*) from pg_tables where schemaname = 'public'")
        await connection.close()

    assert "scratch_one" in during
    assert tables == 0
    assert "scratch_one" not in await databases(postgres)


async def connect_and_fail(postgres, kept: list[asyncpg.Connection]) -> None:
    async with scratch(postgres, "scratch_two") as url:
        kept.append(await asyncpg.connect(url))
        raise ZeroDivisionError


async def test_a_scratch_database_goes_even_while_somebody_is_connected_and_the_block_has_failed(postgres):
    kept = []

    with pytest.raises(ZeroDivisionError):
        await connect_and_fail(postgres, kept)

    assert len(kept) == 1
    assert "scratch_two" not in await databases(postgres)
