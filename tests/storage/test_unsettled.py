"""Runs that have not ended, and how an operator reaches one by its id."""

import pytest

from bot.rules.command_words import Result
from bot.rules.terms import InterruptKind, InterruptScope, InterruptSource
from storage import unsettled
from storage.interrupts import Order
from storage.unsettled import AlreadyUsedError
from tests.storage.desk import ROOT, ts


def stop(order_id="o1", kind=InterruptKind.STOP, **other):
    return Order(order_id, kind, InterruptSource.API, "operator", **other)


async def ordered(desk, run_id, wanted):
    async with desk.database.transaction() as tx:
        return await unsettled.order(tx, run_id, wanted, desk.means)


async def listed(desk):
    async with desk.database.transaction() as tx:
        return await unsettled.listed(tx)


async def test_runs_that_have_not_ended_are_listed_the_oldest_first(desk):
    claimed = await desk.is_asked("why is checkout slow?")
    await desk.says("ben", "and the disk?", mention=True, thread=ts(50), at=ts(50))
    done = await desk.claims("w2")
    await desk.completes(done)
    await desk.says("ben", "and now?", mention=True, thread=ts(60), at=ts(60))

    first, second = await listed(desk)

    assert (first.run_id, first.channel_id, first.thread_ts) == (claimed.claim.run_id, "C1", ROOT)
    assert (first.state, first.requested_by, first.title, first.worker) == (
        "running", "ana", "why is checkout slow?", "w1",
    )  # fmt: skip
    assert (second.state, second.worker, second.title) == ("queued", None, "and now?")


async def test_a_stop_by_id_reaches_a_worker_and_says_who_asked_and_why(desk):
    claimed = await desk.is_asked()

    done = await ordered(desk, claimed.claim.run_id, stop(reason="too loud"))

    assert done.result is Result.STOPPING
    assert await desk.states() == ["cancelling"]
    (asked,) = await desk.rows("select source, requested_by, reason from interrupts")
    assert tuple(asked) == ("api", "operator", "too loud")


async def test_a_stop_by_id_settles_a_run_without_a_worker(desk):
    await desk.says("ana", "why?", mention=True)

    done = await ordered(desk, (await desk.run()).id, stop())

    assert done.result is Result.STOPPED
    assert await desk.states() == ["stopped"]


async def test_a_pause_by_id_parks_a_run_without_a_worker(desk):
    await desk.says("ana", "why?", mention=True)

    done = await ordered(desk, (await desk.run()).id, stop(kind=InterruptKind.PAUSE))

    assert done.result is Result.PAUSED
    assert await desk.states() == ["parked"]


async def test_the_same_order_twice_is_one_interrupt(desk):
    claimed = await desk.is_asked()
    await ordered(desk, claimed.claim.run_id, stop())

    again = await ordered(desk, claimed.claim.run_id, stop())

    assert again.result is Result.STOPPING
    assert await desk.value("select count(*) from interrupts") == 1


@pytest.mark.parametrize("other", [{"kind": InterruptKind.PAUSE}, {"scope": InterruptScope.RUN}])
async def test_one_id_cannot_name_two_orders(desk, other):
    claimed = await desk.is_asked()
    await ordered(desk, claimed.claim.run_id, stop())

    with pytest.raises(AlreadyUsedError):
        await ordered(desk, claimed.claim.run_id, stop(**other))

    assert await desk.value("select count(*) from interrupts") == 1


async def test_a_run_that_nobody_knows_is_none(desk):
    assert await ordered(desk, "no-such-run", stop()) is None


async def test_a_run_that_has_ended_is_left_as_it_is_and_the_newer_one_too(desk):
    claimed = await desk.is_asked()
    await desk.completes(claimed)
    newer = await desk.is_asked("and now?", at=ts(500))

    done = await ordered(desk, claimed.claim.run_id, stop())

    assert done.result is Result.ALREADY_ENDED
    assert (await desk.run()).id == newer.claim.run_id
    assert await desk.states() == ["completed", "running"]
