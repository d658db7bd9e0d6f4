"""The reaper: it takes what nobody has, and nothing from a worker that the database could only not hear."""

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.rules.terms import Command
from bot.worker.reaper import Limits, Reaper
from tests.agent.bench import Counted
from tests.storage.waits import until
from tests.worker.alive import alive

QUICK = Limits(lease_s=1.0, look_every_s=0.02)


class People:
    """Judges people, as often as it is asked to."""

    def __init__(self, breaks: Exception | None = None) -> None:
        self.asked = 0
        self._breaks = breaks

    async def judge(self):
        self.asked += 1
        if self._breaks:
            raise self._breaks


@pytest.fixture
def people():
    return People()


@pytest.fixture
def reaper(desk, people):
    """A reaper of the people's own database, with the limits of the product."""
    return Reaper(desk.database, desk.means, Limits(), people.judge)


async def asked_by(desk, worker, thread):
    """A run of a thread of its own, at work in the hands of a worker."""
    await desk.says("ana", "why?", mention=True, thread=f"{thread}.000000", at=f"{thread}.000000")
    return await desk.claims(worker)


async def owners(desk):
    return {row[0]: row[1] for row in await desk.rows("select thread_ts, owner from threads")}


async def test_the_thread_of_a_silent_worker_is_taken_back_and_that_of_a_live_one_is_not(desk, reaper):
    await asked_by(desk, "w1", 1)
    await asked_by(desk, "w2", 2)
    await desk.falls_silent("w1")

    await reaper.look()

    assert await owners(desk) == {"1.000000": None, "2.000000": "w2"}


async def test_a_stop_that_hangs_is_settled_though_its_worker_is_alive(desk, reaper):
    claimed = await asked_by(desk, "w1", 1)
    await desk.presses("ana", Command.STOP, claimed.claim.run_id, thread_ts="1.000000")
    await desk.passes("runs set cancelling_at = cancelling_at", "id", claimed.claim.run_id)

    await reaper.look()

    assert await desk.states() == ["stopped"]


async def test_a_pause_that_is_over_is_settled(desk, reaper):
    claimed = await asked_by(desk, "w1", 1)
    await desk.presses("ana", Command.PAUSE, claimed.claim.run_id, thread_ts="1.000000")
    await desk.probes(claimed)
    await desk.passes("runs set parked_at = parked_at", "id", claimed.claim.run_id, 72 * 60 + 1)

    await reaper.look()

    assert await desk.states() == ["timed_out"]


async def test_a_thread_that_cannot_be_taken_back_holds_up_nothing_else(desk, people, reaper):
    await asked_by(desk, "w1", 1)
    await asked_by(desk, "w1", 2)
    await desk.falls_silent("w1")
    broken = "select id from threads where thread_ts = '1.000000'"
    await desk.raw.execute(f"update runs set state = 'settled' where thread_id = ({broken})")

    with capture_logs() as log:
        await reaper.look()

    assert await owners(desk) == {"1.000000": "w1", "2.000000": None}
    assert people.asked == 1
    assert "thread.not_taken_back" in [each["event"] for each in log]


async def test_a_thread_that_is_locked_holds_up_nothing_else(desk, people, reaper):
    """A worker that was stopped in the middle of a transaction keeps its locks for some seconds."""
    await asked_by(desk, "w1", 1)
    await asked_by(desk, "w1", 2)
    await desk.falls_silent("w1")

    async with desk.raw.transaction():
        await desk.raw.execute("select 1 from threads where thread_ts = '1.000000' for update")
        await reaper.look()

    assert await owners(desk) == {"1.000000": "w1", "2.000000": None}
    assert people.asked == 1


async def test_people_that_cannot_be_judged_end_no_reaper(desk):
    people = People(breaks=KeyError("no such field"))
    reaper = Reaper(desk.database, desk.means, QUICK, people.judge)

    with capture_logs() as log:
        async with alive(reaper.run()) as (task,):
            await until(lambda: _asked(people, 3))
            is_over = task.done()

    assert not is_over
    assert {each["event"] for each in log} == {"people.not_judged"}


async def _asked(people, times):
    return people.asked >= times


async def test_a_reaper_that_has_just_begun_believes_every_worker_for_one_lease(desk, people):
    """It cannot know whether the database was away until now."""
    await asked_by(desk, "w1", 1)
    await desk.falls_silent("w1")
    clock = asyncio.get_running_loop().time

    began = clock()
    async with alive(Reaper(desk.database, desk.means, QUICK, people.judge).run()):
        await until(lambda: _is_ready(desk))

    assert clock() - began >= QUICK.lease_s
    assert people.asked >= 1


async def _is_ready(desk):
    return await desk.value("select count(*) > 0 from threads where state = 'ready'")


async def test_after_an_outage_a_worker_that_was_not_heard_has_one_lease_to_be_heard_again(desk, people, wire):
    database = Counted(wire.url)
    await asked_by(desk, "w1", 1)
    await asked_by(desk, "w2", 2)
    clock = asyncio.get_running_loop().time

    async with alive(Reaper(database, desk.means, QUICK, people.judge).run()):
        first_lease_over = clock() + QUICK.lease_s * 1.5
        await until(lambda: _beats_past(desk, first_lease_over))
        await wire.cut()
        await desk.falls_silent("w1")
        await desk.falls_silent("w2")
        tried = database.transactions
        await until(lambda: _spoken(database, tried + 3))
        judged = people.asked
        await wire.mend()
        back = clock()
        await until(lambda: _asked(people, judged + 1))
        at_once = await owners(desk)
        await until(lambda: _beats(desk, "w1", is_so=lambda: _has_no_owner(desk, "2.000000")))

    await database.close()
    assert at_once == {"1.000000": "w1", "2.000000": "w2"}
    assert clock() - back >= QUICK.lease_s
    assert await owners(desk) == {"1.000000": "w1", "2.000000": None}
    assert await desk.value("select sum(attempts) from runs where thread_id = (select id from threads limit 1)") <= 1


async def _beats_past(desk, moment):
    await desk.beats("w1")
    await desk.beats("w2")
    return asyncio.get_running_loop().time() > moment


async def _spoken(database, times):
    return database.transactions >= times


async def _beats(desk, worker, *, is_so):
    await desk.beats(worker)
    return await is_so()


async def _has_no_owner(desk, thread_ts):
    return await desk.value("select owner is null from threads where thread_ts = $1", thread_ts)


async def test_hung_stops_are_settled_at_once_after_an_outage(desk, people, wire):
    database = Counted(wire.url)
    claimed = await asked_by(desk, "w1", 1)
    await desk.presses("ana", Command.STOP, claimed.claim.run_id, thread_ts="1.000000")
    await desk.passes("runs set cancelling_at = cancelling_at", "id", claimed.claim.run_id)
    await wire.cut()

    limits = Limits(lease_s=3600, look_every_s=0.02)
    async with alive(Reaper(database, desk.means, limits, people.judge).run()):
        await until(lambda: _spoken(database, 2))
        await wire.mend()
        await until(lambda: _is_stopped(desk))

    await database.close()
    assert await desk.states() == ["stopped"]


async def _is_stopped(desk):
    return await desk.states() == ["stopped"]


async def test_a_pause_is_announced_a_day_before_its_limit_and_then_ends(desk, reaper):
    claimed = await asked_by(desk, "w1", 1)
    await desk.says("ana", "pause", thread="1.000000")
    await desk.probes(claimed)
    await desk.passes("runs set parked_at = parked_at", "id", claimed.run.id, minutes=49 * 60)
    await reaper.look()
    await reaper.look()
    announced = await desk.value("select count(*) from posts")
    await desk.passes("runs set parked_at = parked_at", "id", claimed.run.id, minutes=24 * 60)

    await reaper.look()

    assert announced == 1
    assert await desk.states() == ["timed_out"]


async def test_a_short_pause_is_not_announced(desk, people):
    reaper = Reaper(desk.database, desk.means, Limits(pause_s=3600.0), people.judge)
    claimed = await asked_by(desk, "w1", 1)
    await desk.says("ana", "pause", thread="1.000000")
    await desk.probes(claimed)

    await reaper.look()

    assert await desk.value("select count(*) from posts") == 0


async def test_the_cards_of_those_who_wait_are_repainted_when_the_line_moves(desk, reaper):
    for number in (1, 2, 3):
        await desk.says("ana", "why?", mention=True, thread=f"{number}.000000", at=f"{number}.000000")
    await reaper.look()
    await desk.raw.execute("update cards set painted_rev = wanted_rev")
    await reaper.look()
    unmoved = await desk.value("select count(*) from cards where wanted_rev > painted_rev")
    await desk.claims("w1")
    await desk.raw.execute("update cards set painted_rev = wanted_rev")

    await reaper.look()

    waiting = await desk.rows("select thread_ts from cards where wanted_rev > painted_rev order by thread_ts")
    assert unmoved == 0
    assert [row[0] for row in waiting] == ["2.000000", "3.000000"]
