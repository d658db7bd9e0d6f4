"""A worker that is asked to end: its runs suspend where they can, and are handed over truly where they cannot."""

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.worker.drain import Ordered
from tests.agent.bench import reads, says
from tests.storage.waits import until
from tests.worker.alive import LIMIT, alive
from tests.worker.test_worker import settled, worker

RESULTS = "select body ->> 'text' from events where kind = 'tool_result' order by seq"


@pytest.fixture
def order():
    """An order to drain that was not given yet, with a grace that no test lives to see."""
    return Ordered(asyncio.Event(), 60.0)


async def ended(task) -> None:
    await asyncio.wait_for(task, LIMIT)


async def drains(desk) -> None:
    """Wait until the worker has asked its run to suspend."""

    async def asked():
        return await desk.value("select count(*) from interrupts where kind = 'drain'") == 1

    await until(asked)


async def test_a_run_suspends_when_its_open_call_is_back_and_another_worker_goes_on(bench, desk, order):
    bench.plays(reads("log a"), says("It is the disk."))

    async with alive(worker(bench, order)) as (task,):
        await desk.says("ana", "why?", mention=True)
        await bench.reached("a")
        order.asked.set()
        await drains(desk)
        bench.tool.gates.open("a")
        await ended(task)
        left = tuple(await desk.raw.fetchrow("select state, owner from threads"))
        async with alive(worker(bench)):
            await settled(desk, "completed")

    assert left == ("ready", None)
    assert await desk.value(RESULTS) == "this is log a"
    assert await desk.value("select count(*) from runs") == 1
    assert await desk.value("select attempts from runs") == 0
    assert tuple(await desk.raw.fetchrow("select kind, source, state from interrupts")) == ("drain", "sigterm", "done")


async def test_the_calls_of_a_batch_that_wait_for_their_turn_still_start(bench, desk, order):
    waits = [f"log {name}" for name in "abcdefghijkl"]
    bench.plays(reads(*waits), says("It is the disk."))

    async with alive(worker(bench, order)) as (task,):
        await desk.says("ana", "why?", mention=True)
        await bench.reached("a")
        order.asked.set()
        await drains(desk)
        for name in "abcdefghijkl":
            bench.tool.gates.open(name)
        await ended(task)

    texts = [row[0] for row in await desk.raw.fetch(RESULTS)]
    assert sorted(texts) == sorted(f"this is {each}" for each in waits)


async def test_a_model_message_that_is_still_being_written_is_dropped_at_once(bench, desk, order):
    bench.plays(says("It is the disk.", at="chunk:1"))

    async with alive(worker(bench, order)) as (task,):
        await desk.says("ana", "why?", mention=True)
        await asyncio.wait_for(bench.provider.gates.reached("model"), LIMIT)
        order.asked.set()
        await ended(task)

    assert await desk.value("select count(*) from events where kind = 'assistant'") == 0
    assert tuple(await desk.raw.fetchrow("select state, owner from threads")) == ("ready", None)


async def test_a_call_that_outlasts_the_grace_is_answered_truly_and_its_run_handed_over(bench, desk):
    order = Ordered(asyncio.Event(), 1.0)
    bench.plays(reads("stubborn a"), says("It is the disk."))

    async with alive(worker(bench, order)) as (task,):
        await desk.says("ana", "why?", mention=True)
        await bench.reached("a")
        order.asked.set()
        await ended(task)
        left = tuple(await desk.raw.fetchrow("select state, owner from threads"))
        async with alive(worker(bench)):
            await settled(desk, "completed")
        bench.tool.gates.open("a")

    assert left == ("ready", None)
    assert [row[0] for row in await desk.raw.fetch(RESULTS)] == ["cancelled: the service was restarted; no result"]
    assert bench.tool.begun == ["stubborn a"]


async def test_a_second_order_changes_nothing(bench, desk, order):
    bench.plays(reads("log a"), says("It is the disk."))

    async with alive(worker(bench, order)) as (task,):
        await desk.says("ana", "why?", mention=True)
        await bench.reached("a")
        order.asked.set()
        await drains(desk)
        order.asked.set()
        bench.tool.gates.open("a")
        await ended(task)

    assert bench.tool.left == []
    assert await desk.value("select count(*) from interrupts") == 1


async def test_a_worker_that_drains_claims_nothing_more(bench, desk, order):
    bench.plays(reads("log a"), says("It is the disk."))

    async with alive(worker(bench, order)) as (task,):
        await desk.says("ana", "why?", mention=True, thread="1.000000", at="1.000000")
        await bench.reached("a")
        order.asked.set()
        await drains(desk)
        await desk.says("ana", "why not?", mention=True, thread="2.000000", at="2.000000")
        bench.tool.gates.open("a")
        await ended(task)

    assert [row[0] for row in await desk.raw.fetch("select state from threads")] == ["ready", "ready"]
    assert await desk.value("select count(*) from runs where started_at is null") == 1


async def test_stop_is_heard_while_a_worker_drains(bench, desk, order):
    bench.plays(reads("log a"), says("never"))

    async with alive(worker(bench, order)) as (task,):
        await desk.says("ana", "why?", mention=True)
        await bench.reached("a")
        order.asked.set()
        await drains(desk)
        await desk.says("ana", "stop", mention=True)
        await settled(desk, "stopped")
        await ended(task)

    assert bench.tool.left == ["log a"]


async def test_a_worker_without_work_ends_at_once(bench, desk, order):
    with capture_logs() as log:
        async with alive(worker(bench, order)) as (task,):
            await until(lambda: _is_known(desk))
            order.asked.set()
            await ended(task)

    assert [each["left"] for each in log if each["event"] == "worker.drained"] == [0]
    assert await desk.value("select state from workers") == "dead"


async def test_a_database_that_is_away_does_not_hold_up_the_end_beyond_the_grace(far_bench, desk, wire):
    order = Ordered(asyncio.Event(), 1.5)
    far_bench.plays(reads("log a"), says("It is the disk."))

    async with alive(worker(far_bench, order)) as (task,):
        await desk.says("ana", "why?", mention=True)
        await far_bench.reached("a")
        await wire.cut()
        order.asked.set()
        await ended(task)

    assert await desk.value("select count(*) from settlements") == 0


async def _is_known(desk):
    return await desk.value("select count(*) from workers") == 1
