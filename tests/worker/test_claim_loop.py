"""Claims: as many as there is room for, as soon as there is a hint, and none without somebody who works on it."""

import asyncio
import contextlib

import pytest
from structlog.testing import capture_logs

from bot.errors import DatabaseUnavailableError
from bot.llm.scripted import Gates
from bot.metrics import fresh
from bot.worker.claim_loop import PUT_OFF_S, ClaimLoop, Room
from storage import workers
from storage.engine import Database
from tests.agent.bench import Counted
from tests.storage.waits import until, waiters
from tests.worker.alive import LIMIT, alive

NEVER = 3600.0


class Hands:
    """Works on claims until it is let; hands back what it is cancelled in."""

    def __init__(self, desk) -> None:
        self._desk = desk
        self.begun: list[str] = []
        self.handed_back: list[str] = []
        self.may_end = asyncio.Semaphore(0)
        self.breaks: Exception | None = None

    async def work(self, claimed):
        self.begun.append(claimed.place.thread_ts)
        try:
            await self.may_end.acquire()
        except asyncio.CancelledError:
            self.handed_back.append(claimed.place.thread_ts)
            await self._desk.gives_back(claimed)
            raise
        if self.breaks:
            raise self.breaks

    async def have_begun(self, number: int) -> None:
        async def enough():
            return len(self.begun) >= number

        await until(enough)


class Held(Database):
    """A database whose answers can be held back: each transaction is over, and waits to be told."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.gates = Gates()

    @contextlib.asynccontextmanager
    async def transaction(self):
        async with super().transaction() as tx:
            yield tx
        await self.gates.arrive("after")


@pytest.fixture
async def hands(desk):
    return Hands(desk)


@pytest.fixture
async def worker(desk, hands, database_url):
    """A claim loop with room for two, that looks only when it is told to; its database counts."""
    database = Counted(database_url)
    await registered(desk)
    loop = ClaimLoop(database, desk.means, hands.work, Room(at_once=2, poll_s=NEVER))
    loop.database = database
    yield loop
    await database.close()


async def registered(desk, worker="w1"):
    async with desk.database.transaction() as tx:
        await workers.register(tx, worker)


async def asked(desk, *threads):
    for thread in threads:
        await desk.says("ana", "why?", mention=True, thread=f"{thread}.000000", at=f"{thread}.000000")


async def idle(worker):
    """Wait until the loop has nothing to do: it looks once and no more."""
    before = -1

    async def still():
        nonlocal before
        before, was = worker.database.transactions, before
        return before == was > 0

    await until(still)


async def test_a_worker_claims_what_it_has_room_for_and_the_rest_when_room_is_made(desk, hands, worker):
    await asked(desk, 1, 2, 3)

    async with alive(worker.run("w1")):
        await hands.have_begun(2)
        worker.hear()
        await idle(worker)
        full = await desk.value("select count(*) from threads where state = 'running'")
        hands.may_end.release()
        await hands.have_begun(3)

    assert (full, hands.begun) == (2, ["1.000000", "2.000000", "3.000000"])


async def test_a_hint_is_followed_at_once_without_any_poll(desk, hands, worker):
    async with alive(worker.run("w1")):
        await idle(worker)
        await asked(desk, 1)
        nothing_yet = list(hands.begun)
        worker.hear()
        await hands.have_begun(1)

    assert nothing_yet == []


async def test_a_hint_that_comes_while_the_loop_looks_is_not_lost(desk, hands, database_url):
    """The look has found nothing, and the loop has not heard of that, when something becomes ready."""
    await registered(desk)
    database = Held(database_url)
    loop = ClaimLoop(database, desk.means, hands.work, Room(at_once=2, poll_s=NEVER))

    async with alive(loop.run("w1")):
        await asyncio.wait_for(database.gates.reached("after"), LIMIT)
        await asked(desk, 1)
        loop.hear()
        database.gates.open("after")
        await hands.have_begun(1)

    await database.close()
    assert hands.begun == ["1.000000"]


async def test_what_nobody_hinted_at_is_found_by_looking(desk, hands, database):
    await registered(desk)
    loop = ClaimLoop(database, desk.means, hands.work, Room(at_once=1, poll_s=0.05))

    async with alive(loop.run("w1")):
        await asked(desk, 1)
        await hands.have_begun(1)

    assert hands.begun == ["1.000000"]


async def test_the_runs_of_a_worker_that_is_ended_are_handed_back_before_it_is_gone(desk, hands, worker):
    await asked(desk, 1, 2)

    async with alive(worker.run("w1")) as (task,):
        await hands.have_begun(2)
        task.cancel()
        task.cancel()
        await asyncio.wait({task}, timeout=LIMIT)

    assert sorted(hands.handed_back) == ["1.000000", "2.000000"]
    assert await desk.value("select count(*) from threads where state = 'ready'") == 2


async def test_a_claim_under_way_when_the_worker_is_ended_is_handed_back_and_its_room_is_free_again(
    desk, hands, worker, raw, watch
):
    await asked(desk, 1)
    async with alive(worker.run("w1")) as (task,):
        async with raw.transaction():
            await raw.execute("select 1 from runs for update")
            await waiters(watch)
            task.cancel()
            await asyncio.wait({task}, timeout=0)
        await asyncio.wait({task}, timeout=LIMIT)

    assert hands.handed_back == ["1.000000"]
    assert await desk.value("select state from threads") == "ready"
    await asked(desk, 2)
    await registered(desk, "w2")
    async with alive(worker.run("w2")):
        await hands.have_begun(3)


async def test_a_worker_that_was_declared_dead_claims_nothing(desk, hands, worker):
    await desk.raw.execute("update workers set state = 'dead'")
    await asked(desk, 1)

    async with alive(worker.run("w1")):
        await until(lambda: _tried(worker.database))

    assert hands.begun == []


async def test_work_that_breaks_costs_no_room_and_ends_no_other(desk, hands, worker):
    await asked(desk, 1, 2, 3, 4)
    hands.breaks = ValueError("a fault of ours")

    with capture_logs() as log:
        async with alive(worker.run("w1")):
            for number in range(1, 5):
                await hands.have_begun(min(number + 1, 4))
                hands.may_end.release()
            await idle(worker)

    assert len(hands.begun) == 4
    assert {each["event"] for each in log} == {"run.escaped"}


async def test_work_that_the_database_left_alone_costs_no_room_and_is_no_fault(desk, hands, worker):
    await asked(desk, 1, 2, 3)
    hands.breaks = DatabaseUnavailableError("away")

    with capture_logs() as log:
        async with alive(worker.run("w1")):
            await hands.have_begun(2)
            hands.may_end.release()
            await hands.have_begun(3)

    assert log == []


async def test_a_thread_that_cannot_be_claimed_neither_ends_the_worker_nor_keeps_others_from_their_turn(
    desk, hands, worker
):
    await asked(desk, 1)
    await desk.raw.execute("update runs set state = 'settled'")
    await asked(desk, 2)
    counted = fresh()

    with capture_logs() as log:
        async with alive(worker.run("w1")):
            await until(lambda: _told(log))
            await hands.have_begun(1)

    assert [each["event"] for each in log] == ["claim.broke", "claim.put_off"]
    assert hands.begun == ["2.000000"]
    assert counted.registry.get_sample_value("steersman_claims_put_off_total") == 1


async def test_a_thread_waits_longer_each_time_that_its_claim_breaks(desk, worker):
    await asked(desk, 1)
    thread_id = await desk.value("select id from threads")
    await desk.raw.execute("update runs set state = 'settled'")
    broke = 0

    async def again():
        told = [each for each in log if each["event"] == "claim.put_off"][broke:]
        return told and await desk.value("select ready_at > clock_timestamp() from threads")

    with capture_logs() as log:
        async with alive(worker.run("w1")):
            for _ in range(len(PUT_OFF_S) + 1):
                await until(again)
                broke += 1
                await desk.passes("threads set ready_at = ready_at", "id", thread_id, minutes=60)
                worker.hear()

    waits = [each["seconds"] for each in log if each["event"] == "claim.put_off"]
    assert waits[: len(PUT_OFF_S) + 1] == [*PUT_OFF_S, PUT_OFF_S[-1]]
    assert list(PUT_OFF_S) == sorted(PUT_OFF_S)


async def _told(log):
    return bool(log)


async def test_a_worker_claims_again_when_the_database_is_back(desk, hands, wire):
    database = Counted(wire.url)
    await registered(desk)
    loop = ClaimLoop(database, desk.means, hands.work, Room(at_once=1, poll_s=0.05))
    await wire.cut()
    await asked(desk, 1)

    async with alive(loop.run("w1")):
        await until(lambda: _tried(database))
        await wire.mend()
        await hands.have_begun(1)

    await database.close()
    assert hands.begun == ["1.000000"]


async def _tried(database):
    return database.transactions >= 3
