"""What the tests of the agent share: a desk over a fresh database, and a worker's bench on it."""

import asyncpg
import pytest

from tests.agent.bench import Bench, Counted
from tests.storage.desk import Desk
from tests.stories.cut_wire import CutWire


@pytest.fixture
async def raw(database_url):
    """A connection that commits each statement, for what only SQL can do or see."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def watch(database_url):
    """A second one, to look at the server while the first is at work."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
def desk(database, raw, watch):
    """People of one database."""
    return Desk(database, raw, watch)


@pytest.fixture
async def bench(desk, database_url):
    """A worker of that database."""
    database = Counted(database_url)
    bench = Bench(desk, database)
    yield bench
    await bench.close()
    await database.close()


@pytest.fixture
async def wire(database_url):
    """A wire to the database that can be cut."""
    async with CutWire.to(database_url) as wire:
        yield wire


@pytest.fixture
async def far_bench(desk, wire):
    """A worker whose wire to the database can be cut; the people's cannot."""
    database = Counted(wire.url)
    bench = Bench(desk, database)
    yield bench
    await bench.close()
    await database.close()
