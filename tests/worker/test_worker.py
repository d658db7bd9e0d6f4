"""A whole worker: it begins anew when it was declared dead, hands back when it is ended, and waits for its database."""

import asyncio
import itertools

import pytest
from structlog.testing import capture_logs

from bot.worker.claim_loop import ClaimLoop, Room
from bot.worker.drain import Drain, Ordered
from bot.worker.heartbeat import Heartbeat, Lease
from bot.worker.one_run import OneRun
from bot.worker.reaper import Limits, Reaper
from bot.worker.worker import Worker
from tests.agent.bench import reads, says
from tests.storage.waits import until
from tests.worker.alive import LIMIT, alive


def worker(bench, order=None):
    """A worker over a bench, with room for two and no patience for silence."""

    async def nobody_to_judge():
        return None

    desk, database = bench.desk, bench.database
    run = OneRun(bench.means(), desk.means, bench.live)
    claims = ClaimLoop(database, desk.means, run.work, Room(at_once=2, poll_s=0.1))
    heartbeat = Heartbeat(database, bench.live, Lease(beat_s=0.1, lease_s=15, self_fence_s=12))
    reaper = Reaper(database, desk.means, Limits(look_every_s=0.1), nobody_to_judge)
    numbers = itertools.count(1)
    drain = Drain(database, claims, bench.live, desk.means.mint_id, order or Ordered(asyncio.Event()))
    return Worker(database, (claims, heartbeat, reaper, drain), bench.live).run(lambda: str(next(numbers)))


async def settled(desk, *states):
    async def look():
        return await desk.states() == list(states)

    await until(look)


async def test_a_worker_works_off_what_is_asked(bench, desk):
    bench.plays(reads("log"), says("It is the disk."))

    async with alive(worker(bench)):
        await desk.says("ana", "why?", mention=True)
        await settled(desk, "completed")

    assert await desk.value("select state from workers") == "dead"


async def test_a_stop_reaches_a_run_at_work_by_its_hint_alone_or_by_the_next_beat(bench, desk):
    bench.plays(reads("log a"), says("never"))

    async with alive(worker(bench)):
        await desk.says("ana", "why?", mention=True)
        await bench.reached("a")
        await desk.says("ana", "stop", mention=True)
        await settled(desk, "stopped")

    assert bench.tool.left == ["log a"]


async def test_a_worker_that_is_ended_hands_its_runs_back_and_says_that_it_is_gone(bench, desk):
    bench.plays(reads("log a"), says("It is the disk."))

    async with alive(worker(bench)) as (task,):
        await desk.says("ana", "why?", mention=True)
        await bench.reached("a")
        task.cancel()
        await asyncio.wait({task}, timeout=LIMIT)

    assert await desk.value("select state from workers") == "dead"
    assert tuple(await desk.raw.fetchrow("select state, owner from threads")) == ("ready", None)
    assert await desk.value("select attempts from runs") == 0


async def test_a_worker_that_was_declared_dead_begins_anew_and_goes_on(bench, desk):
    bench.plays(reads("log a"), says("It is the disk."))

    with capture_logs() as log:
        async with alive(worker(bench)):
            await desk.says("ana", "why?", mention=True)
            await bench.reached("a")
            await desk.raw.execute("update workers set state = 'dead'")
            await bench.reached("a", 2)
            bench.tool.gates.open("a")
            await settled(desk, "completed")

    events = [each["event"] for each in log]
    assert (events.count("worker.declared_dead"), events.count("worker.started")) == (1, 2)
    assert await desk.value("select count(*) from settlements") == 1
    assert await desk.value("select attempts from runs") == 0


@pytest.mark.parametrize("times", [3])
async def test_a_worker_that_is_declared_dead_again_and_again_keeps_all_its_room(bench, desk, times):
    bench.plays(says("It is the disk."))

    async with alive(worker(bench)):
        for number in range(1, times + 1):
            await until(lambda number=number: _are_alive(desk, number))
            await desk.raw.execute("update workers set state = 'dead'")
        await until(lambda: _are_alive(desk, times + 1))
        for number in range(1, 4):
            await desk.says("ana", "why?", mention=True, thread=f"{number}.000000", at=f"{number}.000000")
        await settled(desk, "completed", "completed", "completed")


async def _are_alive(desk, number):
    found = await desk.raw.fetchrow("select count(*), count(*) filter (where state = 'alive') from workers")
    return tuple(found) == (number, 1)


async def test_a_worker_that_is_started_while_the_database_is_away_waits_for_it(far_bench, desk, wire):
    far_bench.plays(says("It is the disk."))
    await wire.cut()

    async with alive(worker(far_bench)):
        await far_bench.looks(2)
        await desk.says("ana", "why?", mention=True)
        await wire.mend()
        await settled(desk, "completed")


async def test_an_outage_in_the_middle_of_runs_ends_none_of_them(far_bench, desk, wire):
    far_bench.plays(reads("log a"), says("It is the disk."))

    async with alive(worker(far_bench)):
        for number in (1, 2):
            await desk.says("ana", "why?", mention=True, thread=f"{number}.000000", at=f"{number}.000000")
        await far_bench.reached("a", 2)
        await wire.cut()
        far_bench.tool.gates.open("a")
        await far_bench.looks(6)
        await wire.mend()
        await settled(desk, "completed", "completed")

    assert await desk.value("select sum(attempts) from runs") == 0
    assert await desk.value("select count(*) from settlements") == 2
