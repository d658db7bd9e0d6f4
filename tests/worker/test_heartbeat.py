"""The heartbeat: what the database says is heard within a beat, and who could not beat in time stops by itself."""

import asyncio
import contextlib

import pytest
from structlog.testing import capture_logs

from bot.interrupts.watcher import LiveRuns
from bot.rules.terms import Command, InterruptKind
from bot.worker.heartbeat import DeclaredDeadError, Heartbeat, Lease
from storage.engine import Database
from tests.agent.bench import Counted
from tests.interrupts.work import tick
from tests.storage.waits import until, waiters
from tests.worker.alive import LIMIT, alive, stands_still

QUICK = Lease(beat_s=0.02, lease_s=15, self_fence_s=12)
ONCE = Lease(beat_s=3600, lease_s=15, self_fence_s=12)
FENCE = Lease(beat_s=0.02, lease_s=15, self_fence_s=0.6)


@pytest.fixture
async def counted(database_url):
    """The worker's own way to the database."""
    database = Counted(database_url)
    yield database
    await database.close()


def held(live, claimed):
    """The brake of a claim that this worker works on."""
    return live.add(claimed.claim.run_id, claimed.claim.thread_id, claimed.claim.fence)


async def lost(brake, seconds=LIMIT):
    await asyncio.wait_for(brake.hard_signal.wait(), seconds)
    assert brake.is_lost


async def beaten(database, beats):
    """Wait until so many beats more have begun, and the ones before them are over."""
    before = database.transactions

    async def enough():
        return database.transactions > before + beats

    await until(enough)


PRESSED = [(Command.STOP, InterruptKind.STOP), (Command.PAUSE, InterruptKind.PAUSE)]


@pytest.mark.parametrize(("command", "kind"), PRESSED)
async def test_an_interrupt_without_a_hint_is_heard_with_the_next_beat(desk, counted, command, kind):
    live, claimed = LiveRuns(), await desk.is_asked()
    brake = held(live, claimed)
    await desk.presses("ana", command, claimed.claim.run_id)

    async with alive(Heartbeat(counted, live, QUICK).run("w1")):
        await asyncio.wait_for(brake.pulled(), LIMIT)

    assert brake.kinds == {kind}


async def test_a_steer_without_a_hint_is_heard_with_the_next_beat(desk, counted):
    live, claimed = LiveRuns(), await desk.is_asked()
    brake = held(live, claimed)
    await desk.says("ana", "look at the gateway")

    async with alive(Heartbeat(counted, live, QUICK).run("w1")):
        await asyncio.wait_for(brake.pulled_for(InterruptKind.STEER), LIMIT)

    assert not brake.is_hard


async def test_a_run_that_another_worker_owns_is_braked_and_others_are_not(desk, counted):
    live, taken = LiveRuns(), await desk.is_asked()
    brake = held(live, taken)
    other = held(live, await desk.is_asked(thread="7.000000", at="7.000000"))
    await desk.gives_back(taken)

    async with alive(Heartbeat(counted, live, QUICK).run("w1")):
        await lost(brake)

    assert not other.is_pulled


async def test_a_run_that_was_claimed_while_a_beat_was_under_way_is_not_braked_by_its_answer(desk, counted, raw, watch):
    live = LiveRuns()
    await desk.is_asked()
    before = await desk.value("select heartbeat_at from workers")

    async with alive(Heartbeat(counted, live, ONCE).run("w1")):
        async with raw.transaction():
            await raw.execute("select 1 from workers for update")
            await waiters(watch)
            # No row says that this claim is ours: the beat's answer cannot, since it was asked for before.
            brake = live.add("r-new", "t-new", 1)
        await until(lambda: _beat_after(desk, before))
        await tick()
        is_braked = brake.is_pulled

    assert not is_braked


async def _beat_after(desk, before):
    return await desk.value("select heartbeat_at > $1 from workers", before)


async def test_what_this_worker_owns_and_does_not_run_is_given_back_once_and_not_by_the_first_beat(desk, counted):
    await desk.is_asked()

    with capture_logs() as log:
        async with alive(Heartbeat(counted, LiveRuns(), Lease(beat_s=0.3)).run("w1")):
            await until(lambda: _is_ready(desk))
            spoken = counted.transactions
            await beaten(counted, 2)

    # Two beats and the giving back.
    assert spoken >= 3
    assert [each["event"] for each in log] == ["claim.given_back"]
    assert await desk.value("select fence from threads") == 2
    assert await desk.states() == ["running"]


async def _is_ready(desk):
    return await desk.value("select state = 'ready' from threads")


async def test_a_claim_that_is_being_begun_is_not_given_back(desk, counted):
    live, claimed = LiveRuns(), await desk.is_asked()
    heartbeat = Heartbeat(counted, live, QUICK)
    brake = held(live, claimed)

    async with alive(heartbeat.run("w1")):
        await beaten(counted, 3)
        live.remove(brake)
        held(live, claimed)
        await beaten(counted, 3)

    assert await desk.value("select state from threads") == "running"


async def test_a_locked_thread_that_is_to_be_given_back_holds_up_no_beat(desk, counted, raw, watch):
    await desk.is_asked()

    async with alive(Heartbeat(counted, LiveRuns(), QUICK).run("w1")):
        async with raw.transaction():
            await raw.execute("select 1 from threads for update")
            await waiters(watch)
            beat = await watch.fetchval("select heartbeat_at from workers")
            await until(lambda: _beat_since(watch, beat))
        await until(lambda: _is_ready(desk))


async def _beat_since(watch, beat):
    return await watch.fetchval("select heartbeat_at > $1 from workers", beat)


async def test_a_worker_that_was_declared_dead_brakes_its_runs_and_says_so(desk, counted):
    live, claimed = LiveRuns(), await desk.is_asked()
    brake = held(live, claimed)
    await desk.raw.execute("update workers set state = 'dead'")

    with pytest.raises(DeclaredDeadError):
        await asyncio.wait_for(Heartbeat(counted, live, QUICK).run("w1"), LIMIT)

    assert brake.is_lost


async def test_an_outage_that_is_shorter_than_the_trust_brakes_nothing(desk, wire):
    database, live = Counted(wire.url), LiveRuns()
    brake = held(live, await desk.is_asked())

    async with alive(Heartbeat(database, live, QUICK).run("w1")):
        await beaten(database, 2)
        await wire.cut()
        await beaten(database, 3)
        await wire.mend()
        before = await desk.value("select heartbeat_at from workers")
        await until(lambda: _beat_after(desk, before))

    await database.close()
    assert not brake.is_pulled


async def test_a_worker_that_cannot_beat_brakes_its_runs_when_its_trust_is_over(desk, wire):
    database, live = Counted(wire.url), LiveRuns()
    brake = held(live, await desk.is_asked())

    async with alive(Heartbeat(database, live, FENCE).run("w1")):
        await beaten(database, 2)
        await wire.cut()
        await lost(brake)
        later = live.add("r2", "t2", 1)
        await lost(later)

    await database.close()


async def test_a_beat_that_hangs_does_not_put_off_the_end_of_the_trust(desk, counted, raw):
    live = LiveRuns()
    brake = held(live, await desk.is_asked())
    clock = asyncio.get_running_loop().time

    async with raw.transaction():
        await raw.execute("select 1 from workers for update")
        began = clock()
        async with alive(Heartbeat(counted, live, FENCE).run("w1")):
            await lost(brake)
            took = clock() - began

    assert took >= FENCE.self_fence_s


async def test_a_pool_without_a_free_connection_does_not_put_off_the_end_of_the_trust(desk, database_url):
    database, live = Database(database_url, pool_size=1), LiveRuns()
    brake = held(live, await desk.is_asked())

    async with contextlib.AsyncExitStack() as stack:
        for _ in range(6):
            await stack.enter_async_context(database.transaction())
        async with alive(Heartbeat(database, live, FENCE).run("w1")):
            # The pool itself would have somebody wait for five seconds.
            await lost(brake, 4.5)

    await database.close()


async def test_a_beat_that_was_long_under_way_extends_the_trust_from_its_sending_only(desk, counted, raw, watch):
    """The only beat is sent, hangs, and is answered well: the trust ends as if it had been answered at once."""
    lease = Lease(beat_s=3600, lease_s=15, self_fence_s=1.5)
    live = LiveRuns()
    brake = held(live, await desk.is_asked())
    clock = asyncio.get_running_loop().time

    sent = clock()
    async with alive(Heartbeat(counted, live, lease).run("w1")):
        async with raw.transaction():
            await raw.execute("select 1 from workers for update")
            await waiters(watch)
            answered = clock()
        await lost(brake)
        took = clock() - sent

    assert lease.self_fence_s <= took < answered - sent + lease.self_fence_s + 0.5


async def test_a_worker_that_stood_still_for_longer_than_its_trust_brakes_its_runs_before_it_beats_again(desk, counted):
    live = LiveRuns()
    brake = held(live, await desk.is_asked())

    async with alive(Heartbeat(counted, live, FENCE).run("w1")):
        await beaten(counted, 3)
        beats = counted.transactions
        stands_still(FENCE.self_fence_s * 1.5)
        await asyncio.wait_for(brake.hard_signal.wait(), LIMIT)

    assert brake.is_lost
    assert counted.transactions <= beats + 1


async def test_beats_that_come_in_time_brake_nothing(desk, counted):
    live = LiveRuns()
    brake = held(live, await desk.is_asked())
    lease = Lease(beat_s=0.02, lease_s=15, self_fence_s=1.5)
    until_s = asyncio.get_running_loop().time() + lease.self_fence_s * 1.5

    async with alive(Heartbeat(counted, live, lease).run("w1")):
        await until(lambda: _is_past(until_s))

    assert not brake.is_pulled


async def _is_past(moment):
    return asyncio.get_running_loop().time() > moment
