"""A stop that comes before the run has begun: each time the right thing, seen from Slack and from the servers."""

import pytest

from bot.playground.faults import Fault
from tests.stories.stage import ANA, BEN, INCIDENTS, Thread, buttons_of, words_of

SCRIPT = """
[[plays]]
when = "look at the gateway"
[[plays.rounds]]
say = "The gateway, then."

[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/log" } }]
[[plays.rounds]]
say = "That was the log."
"""


@pytest.fixture
def scripted(stage):
    stage.plays(SCRIPT)
    return stage


async def begun(stage):
    return await stage.until(lambda: stage.reader.fetchval("select count(*) = 1 from runs where state = 'running'"))


async def test_a_run_that_is_being_prepared_is_stopped_before_any_request(scripted):
    stage = scripted
    stage.slack.fail(Fault("conversations.replies", delay_s=60))
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await begun(stage)

    await thread.says("stop", by=ANA)

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    assert (stopped.reason, stopped.decided_by, stage.model.requests, stage.targets.paths) == ("stopped", ANA, [], [])
    assert buttons_of(card) == {}


async def test_a_run_that_waits_in_the_queue_is_stopped_at_once_and_never_begins(scripted):
    stage = scripted
    await stage.start(works=False)
    thread = await stage.asks("why is checkout slow?")
    await thread.card("queued")

    await thread.says("stop")

    await thread.settled()
    await thread.card("stopped")
    await stage.start(listens=False, publishes=False)
    await thread.says("@Steersman look at the gateway")
    assert [each.reason for each in await thread.settled(2)] == ["stopped", "completed"]
    assert len(stage.model.requests) == 1


async def test_a_stop_word_in_a_thread_where_nobody_asked_yet_is_kept_and_leaves_a_newer_request(scripted):
    stage = scripted
    await stage.start()
    root = await stage.slack.say(ANA, INCIDENTS, "hello")
    thread = Thread(stage, INCIDENTS, root.ts)
    stop = await thread.says("@Steersman stop")
    kept = await stage.until(lambda: stage.reader.fetchval("select stopped_before_ts::text from threads"))

    await thread.says("@Steersman look at the gateway", by=BEN)

    assert [each.reason for each in await thread.settled()] == ["completed"]
    assert kept == stop.ts


async def test_a_stop_from_the_menu_takes_along_what_waits_and_the_card_says_how_many(scripted):
    stage = scripted
    stage.limits["patience_s"] = None
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/log")
    await thread.says("look at the gateway")
    await thread.card("steer received")

    await thread.clicks("Stop and clear the queue", by=BEN)

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    assert (stopped.reason, stopped.decided_by) == ("stopped", BEN)
    assert "1 message cleared from the queue" in words_of(card)
    assert "Dropped: " in words_of(card)
    assert await stage.reader.fetchval("select count(*) from runs") == 1
