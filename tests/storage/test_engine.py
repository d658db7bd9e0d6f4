"""The way to the database: addresses as people have them, limits on every connection, work that is repeated."""

import asyncpg
import pytest
import sqlalchemy as sa

from bot.errors import DatabaseBusyError, DatabaseUnavailableError, SettingsError
from storage.embedded import EmbeddedPostgres
from storage.engine import BUSY_TRIES, LIMITS, Database, connect, dsn_of

ONE = sa.text("select 1")


@pytest.mark.parametrize(
    ("url", "dsn"),
    [
        ("postgres://u:p@h/d", "postgresql://u:p@h/d"),
        ("postgresql://u:p@h:5432/d", "postgresql://u:p@h:5432/d"),
        ("postgresql+asyncpg://u:p@h/d", "postgresql://u:p@h/d"),
        ("POSTGRES://u:p@h/d", "postgresql://u:p@h/d"),
        ("  postgres://u:p@h/d\n", "postgresql://u:p@h/d"),
        ("postgres://u:p@h/d?sslmode=require", "postgresql://u:p@h/d?sslmode=require"),
        ("postgresql:///d?host=/var/run/postgresql", "postgresql:///d?host=/var/run/postgresql"),
        ("postgresql://u:p%23%40@h/d", "postgresql://u:p%23%40@h/d"),
        ("postgresql://u@[::1]:5432/d", "postgresql://u@[::1]:5432/d"),
        ("postgresql://u@h/d?target_session_attrs=read-write", "postgresql://u@h/d?target_session_attrs=read-write"),
    ],
)
def test_an_address_is_taken_as_people_have_it(url, dsn):
    assert dsn_of(url) == dsn


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://u:secret@h/d", "mysql is not PostgreSQL"),
        ("u:secret@h/d", "(no scheme) is not PostgreSQL"),
        ("", "(no scheme) is not PostgreSQL"),
        ("postgresql:/u:secret@h/d", "(no scheme) is not PostgreSQL"),
        ("postgres://u:se#cret@h:5432/d", "its host or port cannot be read"),
        ("postgres://u:se/cret@h:5432/d", "its host or port cannot be read"),
        ("postgres://u:secret@h:port/d", "its host or port cannot be read"),
        ("postgres://u:secret@h:99999/d", "its host or port cannot be read"),
        ("postgres://u:secret@[::1/d", "its host or port cannot be read"),
        ("postgres://u:secret@h/d?sslmode=on", "sslmode has no such value"),
        ("postgres://u:secret@h/d?sslmode=require&channel_binding=require", "channel_binding is not understood"),
        ("postgres://u:secret@h/d?connect_timeout=5", "connect_timeout is not understood"),
    ],
)
def test_an_address_that_is_none_is_refused_in_one_line_that_repeats_no_secret(url, said):
    with pytest.raises(SettingsError) as caught:
        dsn_of(url)

    assert said in str(caught.value)
    assert "cret" not in str(caught.value)


async def test_the_address_of_the_embedded_server_is_a_socket_and_works(postgres):
    database = Database(postgres.url())

    async with database.transaction() as tx:
        found = (await tx.execute(ONE)).scalar_one()

    await database.close()
    assert "host=" in dsn_of(postgres.url())
    assert found == 1


async def test_every_connection_carries_its_limits(database):
    async with database.transaction() as tx:
        for name, value in LIMITS.items():
            shown = (await tx.execute(sa.text(f"select setting from pg_settings where name = '{name}'"))).scalar_one()

            assert shown == value


async def test_a_connection_of_its_own_carries_them_too(database):
    connection = await connect(database.dsn)

    limit = await connection.fetchval("select setting from pg_settings where name = 'lock_timeout'")

    await connection.close()
    assert limit == "5000"


async def test_what_a_transaction_did_is_gone_when_its_body_raises(database, raw):
    async def work():
        async with database.transaction() as tx:
            await tx.execute(sa.text("insert into workers (id) values ('w1')"))
            raise KeyError

    with pytest.raises(KeyError):
        await work()

    assert await raw.fetchval("select count(*) from workers") == 0


async def test_work_is_repeated_until_the_database_is_back(database):
    tries = []

    async def work(tx):
        tries.append(1)
        if len(tries) < 20:
            raise DatabaseUnavailableError
        return (await tx.execute(ONE)).scalar_one()

    done = await database.persist(work, give_up=lambda: False, pause_s=0)

    assert (done, len(tries)) == (1, 20)


async def test_work_is_given_up_when_its_claim_is_lost(database):
    tries = []

    async def work(_tx):
        tries.append(1)
        raise DatabaseUnavailableError

    with pytest.raises(DatabaseUnavailableError):
        await database.persist(work, give_up=lambda: len(tries) == 3, pause_s=0)

    assert len(tries) == 3


async def test_work_that_others_are_always_in_the_way_of_fails_in_the_end(database):
    tries = []

    async def work(_tx):
        tries.append(1)
        raise DatabaseBusyError

    with pytest.raises(DatabaseBusyError):
        await database.persist(work, give_up=lambda: False, pause_s=0)

    assert len(tries) == BUSY_TRIES


async def test_a_fault_of_the_work_itself_is_not_repeated(database):
    tries = []

    async def work(tx):
        tries.append(1)
        await tx.execute(sa.text("select * from no_such_table"))

    with pytest.raises(sa.exc.ProgrammingError):
        await database.persist(work, give_up=lambda: False, pause_s=0)

    assert tries == [1]


async def test_a_server_that_is_down_is_away_and_the_same_pool_works_when_it_is_back(short_folder):
    server = EmbeddedPostgres(short_folder)
    database = Database(server.url())
    async with database.transaction() as tx:
        await tx.execute(ONE)
    server.stop()
    with pytest.raises(DatabaseUnavailableError):
        async with database.transaction() as tx:
            await tx.execute(ONE)

    again = EmbeddedPostgres(short_folder)
    async with database.transaction() as tx:
        found = (await tx.execute(ONE)).scalar_one()

    await database.close()
    again.stop()
    assert found == 1


async def test_the_same_folder_is_the_same_server_with_the_same_rows(short_folder):
    first = EmbeddedPostgres(short_folder)
    connection = await asyncpg.connect(first.url())
    await connection.execute("create table kept as select 7 as seven")
    await connection.close()
    first.stop()

    second = EmbeddedPostgres(short_folder)
    connection = await asyncpg.connect(second.url())
    kept = await connection.fetchval("select seven from kept")
    await connection.close()

    second.stop()
    assert kept == 7
