"""What the tests of the storage share: a desk over a fresh database, and a connection of the test's own."""

import shutil
import tempfile
from pathlib import Path

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
async def watch(database_url):
    """A second one, to look at the server while the first is at work."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
def desk(database, raw, watch):
    """People and workers of one database."""
    return Desk(database, raw, watch)


@pytest.fixture
def short_folder():
    """A folder for a server of the test's own; a test's usual folder is too long a path for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="steersman-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
