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
from storage.oversight_tables import schema

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


@pytest.fixture(scope="session")
def emptied():
    """The databases of earlier tests that have been emptied: making one takes thirty times as long."""
    return []


@pytest.fixture
async def database_url(postgres, emptied):
    """The address of a database with the newest tables and nothing in them; a test may not change its tables."""
    admin = await asyncpg.connect(postgres.url())
    name = emptied.pop() if emptied else await _create(admin, postgres)
    yield postgres.url(name)
    await admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
    await admin.close()
    await _empty(postgres.url(name))
    emptied.append(name)


@pytest.fixture
async def new_database_url(postgres):
    """The address of a database of the test's own, with the newest tables, to do anything with."""
    admin = await asyncpg.connect(postgres.url())
    name = await _create(admin, postgres)
    yield postgres.url(name)
    await admin.execute(f"drop database {name} with (force)")
    await admin.close()


@pytest.fixture
async def bare_database_url(postgres):
    """The address of a database without any tables."""
    admin = await asyncpg.connect(postgres.url())
    name = f"bare_{next(_NUMBERS)}"
    await admin.execute(f"create database {name} strategy file_copy")
    yield postgres.url(name)
    await admin.execute(f"drop database {name} with (force)")
    await admin.close()


async def _create(admin, postgres):
    if not await admin.fetchval("select 1 from pg_database where datname = 'template_steersman'"):
        # Waiting for the disk takes longer than all the rest, and no test pulls the plug of the machine.
        await admin.execute("alter system set fsync = off")
        await admin.execute("select pg_reload_conf()")
        await admin.execute("create database template_steersman")
        await migrate(postgres.url("template_steersman"))
    name = f"test_{next(_NUMBERS)}"
    await admin.execute(f"create database {name} template template_steersman strategy file_copy")
    return name


async def _empty(url):
    connection = await asyncpg.connect(url)
    # Rows point at each other in both directions, and all of them go.
    await connection.execute("set session_replication_role = replica")
    await connection.execute("".join(f"delete from {table.name};" for table in schema.tables.values()))
    await connection.close()


@pytest.fixture
async def database(database_url):
    """A pool of connections to a fresh database."""
    database = Database(database_url)
    yield database
    await database.close()
