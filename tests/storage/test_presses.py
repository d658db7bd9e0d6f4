"""Buttons: who may is looked up at the press, and the answer is never silence."""

import pytest

from bot.rules.terms import Command, PersonClass, Verdict
from tests.storage.desk import ts

ENDED = "That run already ended."


@pytest.mark.parametrize("person", [PersonClass.MEMBER, PersonClass.GUEST, PersonClass.UNKNOWN])
async def test_everybody_of_the_workspace_may_stop(desk, person):
    claimed = await desk.is_asked()

    receipt = await desk.presses("eve", Command.STOP, claimed.run.id, person=person)

    assert receipt.verdict is Verdict.COMMAND
    assert await desk.states() == ["cancelling"]
    assert await desk.value("select (source, requested_by)::text from interrupts") == "(button,eve)"


async def test_an_outsider_presses_in_vain_and_is_told(desk):
    claimed = await desk.is_asked()

    receipt = await desk.presses("eve", Command.STOP, claimed.run.id, person=PersonClass.EXTERNAL)

    assert receipt.verdict is Verdict.REFUSE
    assert receipt.reply
    assert await desk.states() == ["running"]


async def test_a_teammate_may_pause_and_only_requester_or_approver_may_resume(desk):
    claimed = await desk.is_asked()
    await desk.presses("bob", Command.PAUSE, claimed.run.id)
    await desk.probes(claimed)
    pause = (await desk.run()).pause_id

    refused = await desk.presses("bob", Command.RESUME, claimed.run.id, ref=pause)
    still = await desk.states()
    resumed = await desk.presses("boss", Command.RESUME, claimed.run.id, ref=pause)

    assert (refused.verdict, still) == (Verdict.REFUSE, ["parked"])
    assert resumed.verdict is Verdict.COMMAND
    assert await desk.states() == ["running"]


async def test_the_same_press_twice_is_one_press(desk):
    claimed = await desk.is_asked()
    await desk.presses("ana", Command.STOP, claimed.run.id, key="a:1")

    again = await desk.presses("ana", Command.STOP, claimed.run.id, key="a:1")

    assert again.is_copy
    assert again.reply is None


async def test_a_press_on_an_ended_run_says_so_and_leaves_the_run_that_followed(desk):
    claimed = await desk.is_asked()
    await desk.gives_back(claimed)
    await desk.says("ana", "look at DNS")

    receipt = await desk.presses("ana", Command.STOP, claimed.run.id)

    assert receipt.reply == ENDED
    assert await desk.states() == ["steered", "queued"]


@pytest.mark.parametrize("other", [{"channel_id": "C2"}, {"message_ts": "9.9"}])
async def test_a_button_that_stands_on_another_message_than_the_runs_card_does_nothing(desk, other):
    claimed = await desk.is_asked()
    await desk.raw.execute("update cards set ts = '1.1'")

    receipt = await desk.presses("ana", Command.STOP, claimed.run.id, **other)

    assert receipt.reply == ENDED
    assert await desk.states() == ["running"]


async def test_a_button_of_a_run_that_nobody_knows_is_answered(desk):
    receipt = await desk.presses("ana", Command.STOP, "no such run")

    assert receipt.reply == ENDED


async def test_slacks_own_stop_stops_the_run_of_the_thread(desk):
    await desk.is_asked()

    await desk.stops_natively("bob")

    assert await desk.states() == ["cancelling"]
    assert await desk.value("select source from interrupts") == "native_stop"


async def test_slacks_own_stop_twice_is_one_stop(desk):
    await desk.is_asked()
    await desk.stops_natively("bob", at=ts(50))

    again = await desk.stops_natively("bob", at=ts(50))

    assert again.is_copy


async def test_slacks_own_stop_where_nothing_runs_is_answered(desk):
    receipt = await desk.stops_natively("bob")

    assert receipt.reply == "There is nothing to stop here: no analysis runs in this thread."
