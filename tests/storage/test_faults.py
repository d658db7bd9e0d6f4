"""What an error of the database means, by the table, and by the errors that a real server gives."""

import asyncio

import asyncpg
import pytest
import sqlalchemy as sa

from bot.errors import DatabaseBusyError, DatabaseUnavailableError, SettingsError
from storage.engine import Database
from storage.faults import Fault, fault_of
from tests.storage.waits import gone, terminate, waiters

LOCK = sa.text("select pg_advisory_lock(1)")
WRITE = sa.text("insert into workers (id) values ('w1')")
PID = sa.text("select pg_backend_pid()")


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (asyncpg.ConnectionDoesNotExistError("x"), Fault.AWAY),
        (asyncpg.AdminShutdownError("x"), Fault.AWAY),
        (asyncpg.CrashShutdownError("x"), Fault.AWAY),
        (asyncpg.CannotConnectNowError("x"), Fault.AWAY),
        (asyncpg.TooManyConnectionsError("x"), Fault.AWAY),
        (asyncpg.DiskFullError("x"), Fault.AWAY),
        (asyncpg.IdleInTransactionSessionTimeoutError("x"), Fault.AWAY),
        (asyncpg.ReadOnlySQLTransactionError("x"), Fault.AWAY),
        (asyncpg.InterfaceError("connection is closed"), Fault.AWAY),
        (ConnectionRefusedError(), Fault.AWAY),
        (FileNotFoundError(), Fault.AWAY),
        (TimeoutError(), Fault.AWAY),
        (sa.exc.TimeoutError("the pool is empty"), Fault.AWAY),
        (asyncpg.QueryCanceledError("x"), Fault.BUSY),
        (asyncpg.LockNotAvailableError("x"), Fault.BUSY),
        (asyncpg.DeadlockDetectedError("x"), Fault.BUSY),
        (asyncpg.SerializationError("x"), Fault.BUSY),
        (asyncpg.InvalidPasswordError("x"), Fault.REFUSED),
        (asyncpg.InvalidAuthorizationSpecificationError("x"), Fault.REFUSED),
        (asyncpg.InvalidCatalogNameError("x"), Fault.REFUSED),
        (asyncpg.exceptions.ClientConfigurationError("x"), Fault.REFUSED),
        (asyncpg.UniqueViolationError("x"), Fault.OURS),
        (asyncpg.CharacterNotInRepertoireError("x"), Fault.OURS),
        (asyncpg.UndefinedTableError("x"), Fault.OURS),
        (asyncpg.InFailedSQLTransactionError("x"), Fault.OURS),
        (ValueError("x"), Fault.OURS),
    ],
)
def test_every_kind_of_error_has_its_meaning(error, fault):
    assert fault_of(error) is fault


async def test_a_session_that_is_ended_in_the_middle_of_a_query_is_a_database_that_is_away(database, raw):
    await raw.execute("select pg_advisory_lock(1)")

    async def blocked():
        async with database.transaction() as tx:
            pids.put_nowait((await tx.execute(PID)).scalar_one())
            await tx.execute(LOCK)

    pids = asyncio.Queue()
    task = asyncio.ensure_future(blocked())
    await waiters(raw)
    await raw.execute("select pg_terminate_backend($1)", await pids.get())

    with pytest.raises(DatabaseUnavailableError) as caught:
        await task
    assert not isinstance(caught.value, DatabaseBusyError)


async def test_a_session_that_is_ended_while_it_is_idle_goes_unnoticed(database, raw):
    async with database.transaction() as tx:
        pid = (await tx.execute(PID)).scalar_one()
    await terminate(raw, pid)

    async with database.transaction() as tx:
        again = (await tx.execute(PID)).scalar_one()

    assert again != pid


async def test_a_session_that_is_ended_between_the_last_statement_and_the_commit_is_away(database, raw):
    async def work():
        async with database.transaction() as tx:
            await tx.execute(WRITE)
            await terminate(raw, (await tx.execute(PID)).scalar_one())

    with pytest.raises(DatabaseUnavailableError):
        await work()

    assert await raw.fetchval("select count(*) from workers") == 0


async def test_a_session_that_is_silent_in_its_transaction_is_ended_by_the_server(database, raw):
    async def work():
        async with database.transaction() as tx:
            pid = (await tx.execute(PID)).scalar_one()
            await tx.execute(sa.text("set local idle_in_transaction_session_timeout = '50ms'"))
            await gone(raw, pid)
            await tx.execute(PID)

    with pytest.raises(DatabaseUnavailableError):
        await work()


@pytest.mark.parametrize("limit", ["lock_timeout", "statement_timeout"])
async def test_a_wait_that_runs_into_its_limit_is_busy_and_writes_nothing(database, raw, limit):
    await raw.execute("select pg_advisory_lock(1)")

    async def work():
        async with database.transaction() as tx:
            await tx.execute(WRITE)
            await tx.execute(sa.text(f"set local {limit} = '50ms'"))
            await tx.execute(LOCK)

    with pytest.raises(DatabaseBusyError):
        await work()

    assert await raw.fetchval("select count(*) from workers") == 0
    async with database.transaction() as tx:
        assert (await tx.execute(sa.text("select 1"))).scalar_one() == 1


async def test_a_deadlock_makes_one_of_the_two_busy_and_lets_the_other_through(database, raw):
    first, second = sa.text("select pg_advisory_xact_lock(7)"), sa.text("select pg_advisory_xact_lock(8)")
    met = asyncio.Barrier(2)

    async def cross(mine, theirs):
        async with database.transaction() as tx:
            await tx.execute(sa.text("set local deadlock_timeout = '10ms'"))
            await tx.execute(mine)
            await met.wait()
            await tx.execute(theirs)

    ends = await asyncio.gather(cross(first, second), cross(second, first), return_exceptions=True)

    assert [type(end) for end in ends if end is not None] == [DatabaseBusyError]


async def test_a_fault_of_our_own_stays_what_it_is(database):
    with pytest.raises(sa.exc.ProgrammingError):
        async with database.transaction() as tx:
            await tx.execute(sa.text("select * from no_such_table"))


async def test_a_task_that_is_cancelled_in_the_middle_of_a_query_leaves_the_pool_usable(database, raw):
    await raw.execute("select pg_advisory_lock(1)")

    async def blocked():
        async with database.transaction() as tx:
            await tx.execute(LOCK)

    task = asyncio.ensure_future(blocked())
    await waiters(raw)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    async with database.transaction() as tx:
        assert (await tx.execute(sa.text("select 1"))).scalar_one() == 1


async def test_a_role_that_may_have_no_more_connections_is_a_database_that_is_away(new_database_url):
    admin = await asyncpg.connect(new_database_url)
    await admin.execute("drop role if exists crowded")
    await admin.execute("create role crowded login connection limit 0")
    await admin.close()
    crowded = Database(new_database_url.replace("postgres:", "crowded:", 1).replace("postgresql:", "postgresql:"))

    with pytest.raises(DatabaseUnavailableError):
        async with crowded.transaction():
            pass

    await crowded.close()


async def test_an_empty_pool_is_a_database_that_is_away(database_url):
    small = Database(database_url, pool_size=1)
    waiting, all_held = asyncio.Event(), asyncio.Barrier(7)

    async def hold():
        async with small.transaction() as tx:
            await tx.execute(sa.text("select 1"))
            await all_held.wait()
            await waiting.wait()

    holders = [asyncio.ensure_future(hold()) for _ in range(6)]
    await all_held.wait()

    with pytest.raises(DatabaseUnavailableError):
        async with small.transaction():
            pass

    waiting.set()
    await asyncio.gather(*holders)
    await small.close()


async def test_a_server_that_only_reads_is_away_and_its_connections_are_not_used_again(new_database_url):
    admin = await asyncpg.connect(new_database_url)
    name = await admin.fetchval("select current_database()")
    await admin.execute(f"alter database {name} set default_transaction_read_only = on")
    old = Database(new_database_url)
    with pytest.raises(DatabaseUnavailableError):
        async with old.transaction() as tx:
            await tx.execute(WRITE)
    await admin.execute(f"alter database {name} reset default_transaction_read_only")

    async with old.transaction() as tx:
        await tx.execute(WRITE)

    assert await admin.fetchval("select count(*) from workers") == 1
    await old.close()
    await admin.close()


@pytest.mark.parametrize("change", [("/test_", "/no_such_"), ("postgres:", "nobody_at_all:")])
async def test_a_database_or_a_user_that_is_not_there_is_a_wrong_setting(new_database_url, change):
    wrong = Database(new_database_url.replace(*change, 1))

    with pytest.raises(SettingsError, match="DATABASE_URL: it was refused"):
        async with wrong.transaction():
            pass

    await wrong.close()
