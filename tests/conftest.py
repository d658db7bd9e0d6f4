"""What the tests share: one PostgreSQL for the whole run, a fresh database for each test that asks for one."""

import itertools
import shutil
import tempfile
from pathlib import Path

import asyncpg
import pytest

from storage.embedded import EmbeddedPostgres
from storage.engine import Database
from storage.migrations import migrate

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of the test run's own."""
    # The path of a Unix socket may have a hundred characters, which a test's own folder exceeds.
    folder = Path(tempfile.mkdtemp(prefix="steersman-", dir="/tmp"))
    server = EmbeddedPostgres(folder)
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def database_url(postgres):
    """The address of a database with the newest tables and nothing in them."""
    admin = await asyncpg.connect(postgres.url())
    if not await admin.fetchval("select 1 from pg_database where datname = 'template_steersman'"):
        await admin.execute("create database template_steersman")
        await migrate(postgres.url("template_steersman"))
    name = f"test_{next(_NUMBERS)}"
    await admin.execute(f"create database {name} template template_steersman strategy file_copy")
    yield postgres.url(name)
    await admin.execute(f"drop database {name} with (force)")
    await admin.close()


@pytest.fixture
async def database(database_url):
    """A pool of connections to a fresh database."""
    database = Database(database_url)
    yield database
    await database.close()
