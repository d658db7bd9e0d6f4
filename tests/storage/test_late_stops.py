"""A stop that comes late never touches a newer request, and a request that comes late never survives an older stop."""

from decimal import Decimal

from bot.rules.terms import Command, Verdict
from bot.rules.turn_ends import Cut
from storage.queue import Unclaimed
from storage.settlement import Settled
from tests.storage.desk import ts


async def test_a_stop_word_in_a_thread_without_a_row_makes_the_row_and_keeps_its_time(desk):
    await desk.says("ana", "stop", mention=True, at=ts(5))

    assert str(await desk.value("select stopped_before_ts from threads")) == ts(5)
    assert await desk.states() == []


async def test_a_request_from_before_that_stop_starts_nothing(desk):
    await desk.says("ana", "stop", mention=True, at=ts(5))

    receipt = await desk.says("ana", "why?", mention=True, at=ts(4))

    assert receipt.verdict is Verdict.START
    assert await desk.inbox_states() == [("start", "withdrawn")]
    assert await desk.states() == []


async def test_a_request_from_after_that_stop_starts(desk):
    await desk.says("ana", "stop", mention=True, at=ts(5))

    await desk.says("ana", "why?", mention=True, at=ts(6))

    assert await desk.states() == ["queued"]


async def test_a_late_stop_word_leaves_a_run_that_was_asked_for_after_it(desk):
    await desk.is_asked(at=ts(6))

    receipt = await desk.says("ana", "stop", at=ts(5))

    assert await desk.states() == ["running"]
    assert receipt.reply.startswith("What runs here was asked for after that stop.")


async def test_a_late_stop_word_leaves_a_newer_request_that_has_not_started(desk):
    await desk.says("ana", "why?", mention=True, at=ts(6))

    await desk.says("ana", "stop", at=ts(5))

    assert await desk.states() == ["queued"]
    assert (await desk.claims()).first is True


async def test_a_late_native_stop_leaves_a_newer_request_too(desk):
    await desk.is_asked(at=ts(6))

    await desk.stops_natively("ana", at=ts(5))

    assert await desk.states() == ["running"]


async def test_a_late_stop_word_leaves_the_run_that_a_newer_steer_has_started(desk):
    claimed = await desk.is_asked(at=ts(1))
    await desk.says("ana", "look at DNS", at=ts(6))
    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))
    await desk.claims()

    await desk.says("ana", "stop", at=ts(5))

    assert await desk.states() == ["steered", "running"]


async def test_a_stop_word_stops_the_older_run_and_leaves_the_newer_steer_to_start_the_next(desk):
    claimed = await desk.is_asked(at=ts(1))
    await desk.says("ana", "look at DNS", at=ts(6))

    await desk.says("ana", "stop", at=ts(5))
    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    assert await desk.states() == ["stopped", "queued"]


async def test_an_older_steer_that_comes_after_the_stop_cuts_no_newer_run(desk):
    await desk.says("ana", "stop", mention=True, at=ts(5))
    claimed = await desk.is_asked(at=ts(6))

    await desk.says("ana", "look at DNS", at=ts(4))

    assert await desk.inbox_states() == [("steer", "withdrawn"), ("start", "consumed")]
    assert (await desk.probes(claimed)).cut is None


async def test_a_claim_refuses_a_run_whose_newest_message_is_older_than_the_last_stop(desk):
    await desk.says("ana", "why?", mention=True, at=ts(4))
    await desk.raw.execute("update threads set stopped_before_ts = $1", Decimal(ts(5)))

    claimed = await desk.claims()

    assert isinstance(claimed, Settled)
    assert await desk.states() == ["stopped"]
    assert (await desk.claims()) is Unclaimed.NONE_READY


async def test_a_claim_takes_a_run_that_one_newer_message_asks_for(desk):
    await desk.says("ana", "why?", mention=True, at=ts(4))
    await desk.says("ana", "and DNS?", at=ts(6))
    await desk.raw.execute("update threads set stopped_before_ts = $1", Decimal(ts(5)))

    claimed = await desk.claims()

    assert claimed.first is True
    assert await desk.told() == ["why?", "and DNS?"]


async def test_a_run_without_messages_inherits_the_time_of_its_chain(desk):
    claimed = await desk.is_asked(at=ts(4))
    await desk.raw.execute("update runs set state = 'queued', started_at = null")
    ready = "update threads set stopped_before_ts = $1, state = 'ready', ready_at = now(), owner = null"
    await desk.raw.execute(ready, Decimal(ts(5)))

    refused = await desk.claims()

    assert isinstance(refused, Settled)
    assert refused.run_id == claimed.run.id


async def test_an_earlier_stop_never_takes_back_the_time_of_a_later_one(desk):
    await desk.says("ana", "stop", mention=True, at=ts(5))

    await desk.says("bob", "stop", mention=True, at=ts(3))

    assert str(await desk.value("select stopped_before_ts from threads")) == ts(5)


async def test_the_stop_button_names_its_run_and_works_while_that_is_unsettled(desk):
    await desk.says("ana", "why?", mention=True)

    await desk.presses("ana", Command.STOP, (await desk.run()).id)

    assert await desk.states() == ["stopped"]
