"""What waits for a thread's lock decides on what the holder of the lock has committed, not on an older snapshot."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.rules.terms import InterruptKind, InterruptSource, PersonClass, SettleReason
from bot.rules.turn_ends import Empty, Finished
from storage import queue, threads, workers
from storage.audit import Start
from storage.history import Appended
from storage.interrupts import ProbeAnswer
from storage.people import Person
from storage.queue import Unclaimed
from storage.settlement import Settled
from tests.storage.desk import ROOT, final, message, ts
from tests.storage.waits import waiters

ANA = Person("T1", "ana", PersonClass.MEMBER, "Ana")
PLACE = threads.Place("T1", "C1", ROOT)


@asynccontextmanager
async def saying(desk, text):
    """Ana's message is taken in, holding the thread's lock, and committed when the block is left."""
    async with desk.database.transaction() as tx:
        await desk.inbox.receive(tx, message("ana", text, ts(50)), ANA)
        yield


async def meanwhile(desk, text, work):
    """Let work wait for the lock under which the text is taken in; what it comes to."""
    async with saying(desk, text):
        waiting = asyncio.ensure_future(work)
        await waiters(desk.watch)
    return await waiting


async def test_a_settle_that_waited_for_a_steer_is_steered(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())

    settled = await meanwhile(desk, "look at DNS", desk.settles(claimed, Finished(2)))

    assert (settled.reason, settled.final_event_id) == (SettleReason.STEERED, None)
    assert await desk.states() == ["steered", "queued"]
    assert await desk.value("select count(*) from posts") == 0


async def test_a_settle_that_waited_for_a_stop_is_stopped(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())

    settled = await meanwhile(desk, "stop", desk.settles(claimed, Finished(2)))

    assert (settled.reason, settled.final_event_id) == (SettleReason.STOPPED, None)


@pytest.mark.parametrize(("text", "kind"), [("look at DNS", InterruptKind.STEER), ("stop", InterruptKind.STOP)])
async def test_a_probe_that_waited_sees_what_was_asked(desk, text, kind):
    claimed = await desk.is_asked()

    probed = await meanwhile(desk, text, desk.probes(claimed))

    assert (probed.answer, probed.cut.kind) == (ProbeAnswer.CUT, kind)


async def test_a_probe_that_waited_for_a_pause_suspends(desk):
    claimed = await desk.is_asked()

    probed = await meanwhile(desk, "pause", desk.probes(claimed))

    assert probed.answer is ProbeAnswer.SUSPENDED


async def test_an_append_that_waited_for_a_stop_writes_nothing(desk):
    claimed = await desk.is_asked()

    stored = await meanwhile(desk, "stop", desk.stores(claimed, final()))

    assert stored is Appended.CANCELLING


@pytest.mark.parametrize("text", ["look at DNS", "stop", "pause"])
async def test_a_call_that_waited_to_start_does_not(desk, text):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001")

    answer = await meanwhile(desk, text, desk.starts(claimed, "read00001"))

    assert answer.start is Start.PENDING


async def test_a_claim_passes_over_a_thread_that_is_held_and_sees_the_steer_after_it(desk):
    await desk.says("ana", "why?", mention=True)

    async with saying(desk, "and DNS?"):
        held = await desk.claims()
    claimed = await desk.claims()

    assert held is Unclaimed.LOCKED
    assert claimed.first is True
    assert await desk.told() == ["why?", "and DNS?"]


async def test_a_claim_passes_over_a_thread_that_is_held_and_finds_it_stopped_after_it(desk):
    await desk.says("ana", "why?", mention=True)

    async with saying(desk, "stop"):
        held = await desk.claims()

    assert held is Unclaimed.LOCKED
    assert await desk.claims() is Unclaimed.NONE_READY
    assert await desk.states() == ["stopped"]


async def test_a_steer_that_waited_for_a_claim_cuts_the_run_instead_of_joining_it(desk, database):
    await desk.says("ana", "why?", mention=True)
    async with database.transaction() as tx:
        await workers.register(tx, "w1")
    async with database.transaction() as tx:
        claimed = await queue.claim(tx, "w1", desk.means)
        steering = asyncio.ensure_future(desk.says("ana", "and DNS?"))
        await waiters(desk.watch)

    await steering

    assert (await desk.inbox_states())[-1] == ("steer", "waiting")
    assert (await desk.probes(claimed)).cut.kind is InterruptKind.STEER


async def test_a_stop_that_waited_for_a_settlement_finds_nothing_to_stop(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())
    async with desk.database.transaction() as tx:
        await threads.lock_at(tx, PLACE)
        settling = asyncio.ensure_future(desk.settles(claimed, Finished(2)))
        await waiters(desk.watch)
        stopping = asyncio.ensure_future(desk.says("ana", "stop"))
        await waiters(desk.watch, 2)

    settled, receipt = await asyncio.gather(settling, stopping)

    assert settled.reason is SettleReason.COMPLETED
    assert receipt.reply == "It had just finished; the answer is below."


async def test_a_settlement_that_waited_for_a_take_over_writes_nothing(desk):
    claimed = await desk.is_asked()
    await desk.falls_silent()
    async with desk.database.transaction() as tx:
        thread = await threads.lock_at(tx, PLACE)
        settling = asyncio.ensure_future(desk.settles(claimed, Empty()))
        await waiters(desk.watch)
        await threads.release(tx, thread, thread.state.READY)

    assert await settling is None
    assert await desk.states() == ["running"]


async def test_two_reapers_at_once_take_a_thread_back_once(desk):
    await desk.is_asked()
    await desk.falls_silent()

    taken = await asyncio.gather(desk.reaps(), desk.reaps())

    assert sum(len(each) for each in taken) >= 1
    assert await desk.value("select attempts from runs") == 1
    assert await desk.value("select fence from threads") == 2


async def test_eight_settlements_at_once_are_one(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())

    settled = await asyncio.gather(*(desk.settles(claimed, Finished(2)) for _ in range(8)))

    assert {each.reason for each in settled} == {SettleReason.COMPLETED}
    assert await desk.value("select count(*) from settlements") == 1
    assert await desk.value("select count(*) from posts") == 1


async def test_eight_workers_at_once_claim_a_thread_once(desk):
    await desk.says("ana", "why?", mention=True)

    claimed = await asyncio.gather(*(desk.claims(f"w{n}") for n in range(8)))

    assert sum(not isinstance(each, Unclaimed | Settled) for each in claimed) == 1
    assert await desk.told() == ["why?"]


async def test_a_stop_and_the_watchdog_at_once_settle_once(desk):
    claimed = await desk.is_asked()
    await desk.orders(InterruptKind.STOP, InterruptSource.API)

    await asyncio.gather(desk.ends_hung_stops(0), desk.ends_hung_stops(0), desk.settles(claimed, Empty()))

    assert await desk.states() == ["stopped"]
