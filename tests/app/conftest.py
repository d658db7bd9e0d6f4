"""What the tests of the app share: a connection of the test's own."""

import asyncpg
import pytest

from tests.storage.desk import Desk


@pytest.fixture
async def raw(database_url):
    """A connection that commits each statement, for what only SQL can do or see."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
def desk(database, raw):
    """People and workers of one database."""
    return Desk(database, raw, raw)
