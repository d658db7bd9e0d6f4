"""Hints between processes: heard when a transaction commits, and heard again after the connection was lost."""

import asyncio

import pytest

from storage import notify
from storage.notify import CARD, INTERRUPT, READY, Listener
from tests.storage.waits import gone, until

LISTENS = "select pid from pg_stat_activity where datname = current_database() and query ilike 'listen%'"


@pytest.fixture
async def heard(database):
    """A queue of what a listener hears."""
    hints: asyncio.Queue = asyncio.Queue()
    hear = {READY: lambda ids: hints.put_nowait((READY, ids)), CARD: lambda ids: hints.put_nowait((CARD, ids))}
    listener = Listener(database.dsn, hear)
    running = asyncio.ensure_future(listener.run(retry_after=0, check_every=0.05))
    await asyncio.wait_for(listener.is_connected.wait(), 10)
    hints.listener = listener
    yield hints
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def say(database, channel=READY, **ids):
    async with database.transaction() as tx:
        await notify.notify(tx, channel, **ids)


async def test_a_hint_is_heard_with_its_ids(database, heard):
    await say(database, thread="t1")

    assert await asyncio.wait_for(heard.get(), 10) == (READY, {"thread": "t1"})


async def test_a_hint_of_a_transaction_that_is_undone_is_not_heard(database, heard):
    async def undone():
        async with database.transaction() as tx:
            await notify.notify(tx, READY, thread="undone")
            raise KeyError

    with pytest.raises(KeyError):
        await undone()
    await say(database, thread="t2")

    assert await asyncio.wait_for(heard.get(), 10) == (READY, {"thread": "t2"})


async def test_nobody_hears_a_channel_that_they_did_not_ask_for(database, heard):
    await say(database, INTERRUPT, run="r1", kind="stop")
    await say(database, CARD, run="r1")

    assert await asyncio.wait_for(heard.get(), 10) == (CARD, {"run": "r1"})


async def test_a_listener_whose_session_was_ended_comes_back_by_itself(database, heard, raw):
    pid = await until(lambda: raw.fetchval(LISTENS))
    await raw.execute("select pg_terminate_backend($1)", pid)
    await gone(raw, pid)
    await until(lambda: heard_again(database, heard))

    assert heard.listener.is_connected.is_set()


async def heard_again(database, heard):
    await say(database, thread="again")
    try:
        return await asyncio.wait_for(heard.get(), 0.2) == (READY, {"thread": "again"})
    except TimeoutError:
        return False


async def test_a_listener_that_waits_in_silence_checks_its_connection_and_stays(database, heard, raw):
    checked = "select 1 from pg_stat_activity where datname = current_database() and query = 'select 1'"

    await until(lambda: raw.fetchval(checked))
    await say(database, thread="t3")

    assert await asyncio.wait_for(heard.get(), 10) == (READY, {"thread": "t3"})


async def test_a_hint_that_nobody_can_read_does_not_end_the_listening(database, heard, raw):
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    await raw.execute(f"select pg_notify('{READY}', 'no json')")

    await say(database, thread="t4")

    assert await asyncio.wait_for(heard.get(), 10) == (READY, {"thread": "t4"})


async def test_what_makes_work_ready_says_so(desk, heard):
    await desk.says("ana", "why?", mention=True)

    channels = {(await asyncio.wait_for(heard.get(), 10))[0] for _ in range(2)}
    assert channels == {READY, CARD}
