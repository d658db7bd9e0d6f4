"""A rollback beside a stop, a steer, a settlement, another rollback, in both orders: who waits sees what was done.

The first holds the thread's lock and commits only when the second is known to wait for it.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.rules.command_words import WORDS, Result
from bot.rules.terms import EventKind
from bot.rules.turn_ends import Finished
from storage import settlement
from storage.history import Appended
from tests.storage.backwards import choice, desk_of_rollbacks, events, goes_back, person, sent, step
from tests.storage.desk import final, message, result, ts
from tests.storage.waits import waiters


async def at_work(desk):
    """A worker has made a step: events 1 to 3."""
    claimed = await desk.is_asked()
    await step(desk, claimed, "read00001")
    return claimed


@asynccontextmanager
async def going_back(desk, run_id, seq=3):
    """Ana goes back, holding the thread's lock, and commits when the block is left."""
    async with desk.database.transaction() as tx:
        assert await desk_of_rollbacks(desk).go_back(tx, choice(run_id, seq), person("ana")) is None
        yield


@asynccontextmanager
async def saying(desk, text):
    """Ana's message is taken in, holding the thread's lock, and committed when the block is left."""
    async with desk.database.transaction() as tx:
        await desk.inbox.receive(tx, message("ana", text, ts(50)), person("ana"))
        yield


@asynccontextmanager
async def settling(desk, claimed, end):
    """The worker settles, holding the thread's lock, and commits when the block is left."""
    async with desk.database.transaction() as tx:
        await settlement.settle(tx, claimed.claim, end, desk.means)
        yield


async def after(desk, first, second):
    """Let the second wait until the first has committed; what it comes to."""
    async with first:
        waiting = asyncio.ensure_future(second)
        await waiters(desk.watch)
    return await waiting


async def written(desk):
    """How often the thread was taken back."""
    return [each.kind for each in await events(desk)].count(EventKind.ROLLED_BACK_TO)


async def test_a_stop_that_waited_for_a_rollback_outranks_it(desk):
    claimed = await at_work(desk)

    receipt = await after(desk, going_back(desk, claimed.run.id), desk.says("ana", "stop", at=ts(51)))
    await desk.ends_hung_stops(grace_s=0)

    assert receipt.reply is None
    assert (await desk.states(), await written(desk)) == (["stopped"], 0)


async def test_a_rollback_that_waited_for_a_stop_is_told_so(desk):
    claimed = await at_work(desk)

    wrong = await after(desk, saying(desk, "stop"), goes_back(desk, claimed.run.id, 3))
    await desk.ends_hung_stops(grace_s=0)

    assert wrong == WORDS[Result.STOP_IS_AT_WORK]
    assert (await desk.states(), await written(desk)) == (["stopped"], 0)


async def test_a_rollback_that_waited_for_a_stop_of_a_run_that_nobody_owned_takes_the_settled_run_back(desk):
    claimed = await at_work(desk)
    await desk.gives_back(claimed)

    wrong = await after(desk, saying(desk, "stop"), goes_back(desk, claimed.run.id, 3))

    assert (wrong, await desk.states(), await written(desk)) == (None, ["stopped"], 1)


async def test_a_steer_that_waited_for_a_rollback_starts_the_next_run(desk):
    claimed = await at_work(desk)

    await after(desk, going_back(desk, claimed.run.id, 1), desk.says("ana", "look at DNS", at=ts(51)))
    await desk.ends_hung_stops(grace_s=0)
    await desk.claims()

    assert (await desk.states(), await written(desk)) == (["rolled_back", "running"], 1)
    assert (await sent(desk))[-1].endswith("@Ana: look at DNS")


async def test_a_rollback_that_waited_for_a_steer_comes_before_it_and_the_steer_starts_the_next_run(desk):
    claimed = await at_work(desk)

    wrong = await after(desk, saying(desk, "look at DNS"), goes_back(desk, claimed.run.id, 1))
    await desk.ends_hung_stops(grace_s=0)
    await desk.claims()

    assert (wrong, await desk.states(), await written(desk)) == (None, ["rolled_back", "running"], 1)
    assert (await sent(desk))[-1].endswith("@Ana: look at DNS")


async def test_a_rollback_that_waited_for_a_steer_of_a_run_that_nobody_owned_cuts_the_run_that_goes_on(desk):
    claimed = await at_work(desk)
    await desk.gives_back(claimed)

    wrong = await after(desk, saying(desk, "look at DNS"), goes_back(desk, claimed.run.id, 3))
    await desk.claims()

    assert (wrong, await desk.states()) == (None, ["steered", "rolled_back", "running"])
    assert (await written(desk), await desk.told()) == (1, ["why?", "look at DNS"])


async def test_a_settlement_that_waited_for_a_rollback_is_rolled_back(desk):
    claimed = await at_work(desk)
    await desk.stores(claimed, final())

    settled = await after(desk, going_back(desk, claimed.run.id), desk.settles(claimed, Finished(4)))

    assert (settled.reason.value, settled.final_event_id) == ("rolled_back", None)
    assert (await written(desk), await desk.value("select count(*) from posts")) == (1, 0)


async def test_a_rollback_that_waited_for_a_settlement_takes_the_settled_run_back(desk):
    claimed = await at_work(desk)
    await desk.stores(claimed, final())

    wrong = await after(desk, settling(desk, claimed, Finished(4)), goes_back(desk, claimed.run.id, 3))

    assert (wrong, await desk.states(), await written(desk)) == (None, ["completed"], 1)


async def test_an_answer_of_a_tool_that_waited_for_a_rollback_is_not_stored(desk):
    claimed = await at_work(desk)
    await desk.calls(claimed, "read00002", start=True)

    stored = await after(desk, going_back(desk, claimed.run.id), desk.stores(claimed, result("read00002")))
    await desk.ends_hung_stops(grace_s=0)

    assert stored is Appended.CANCELLING
    assert (await desk.outcomes())[-1] == ("read00002", "cancelled")


@pytest.mark.parametrize("is_owned", [True, False])
async def test_of_two_people_who_go_back_at_once_the_second_is_told_or_finds_its_step_set_aside(desk, is_owned):
    claimed = await at_work(desk)
    if not is_owned:
        await desk.gives_back(claimed)

    wrong = await after(desk, going_back(desk, claimed.run.id, 1), goes_back(desk, claimed.run.id, 3, who="boss"))
    await desk.ends_hung_stops(grace_s=0)

    assert wrong == WORDS[Result.ALREADY_TAKING_BACK if is_owned else Result.SET_ASIDE]
    assert (await desk.states(), await written(desk)) == (["rolled_back"], 1)
