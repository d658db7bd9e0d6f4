"""How people stop: by a word, by the card's button, by Slack's own; who may, and what the others are told."""

import asyncio

import pytest

from tests.stories.holding import held
from tests.stories.stage import ANA, BEN, EVE, GUS, INCIDENTS, buttons_of, words_of

SCRIPT = """
[[plays]]
when = "look at web-4"
[[plays.rounds]]
say = "web-4 is well."

[[plays]]
when = "what is it"
[[plays.rounds]]
say = "It was the deploy."
gate = { name = "end", at = "before_end" }

[[plays]]
when = "checkout"
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/log" } }]
[[plays.rounds]]
say = "It was the deploy."

[[plays]]
[[plays.rounds]]
say = "I read the disk."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/disk" } }]
[[plays.rounds]]
say = "The disk is full."
"""


async def at_work(stage, words="why is checkout slow?", gate="gate/log"):
    """A thread whose run waits for its tool."""
    stage.plays(SCRIPT)
    if not stage.workers:
        await stage.start()
    thread = await stage.asks(words)
    await stage.targets.reached(gate)
    return thread


def told(stage, person):
    """What was said to one person alone."""
    return " ".join(each.text for each in stage.slack.ephemerals(person))


def is_processing(session):
    """Whether Slack shows its own Stop."""
    return session is not None and session.status == "processing"


@pytest.mark.parametrize(
    ("words", "by"),
    [
        ("stop", ANA),
        ("@Steersman stop", ANA),
        ("@Steersman Stop!", BEN),
        ("!stop", BEN),
    ],
)
async def test_the_word_stop_stops(stage, words, by):
    thread = await at_work(stage)

    await thread.says(words, by=by)

    (stopped,) = await thread.settled()
    await thread.card("stopped")
    assert (stopped.reason, stopped.decided_by, len(await thread.runs())) == ("stopped", by, 1)
    assert (thread.answers(), len(stage.model.requests)) == ([], 1)


async def test_slacks_own_stop_stops(stage):
    thread = await at_work(stage)
    await stage.slack.wait_for(lambda: is_processing(stage.slack.session(INCIDENTS, thread.ts)))

    await stage.slack.native_stop(BEN, INCIDENTS, thread.ts)

    (stopped,) = await thread.settled()
    await thread.card("stopped")
    source = await stage.reader.fetchval("select source from interrupts")
    assert (stopped.reason, stopped.decided_by, source) == ("stopped", BEN, "native_stop")


async def test_a_guest_may_press_stop(stage):
    thread = await at_work(stage)

    await thread.clicks("Stop", by=GUS)

    (stopped,) = await thread.settled()
    assert (stopped.reason, stopped.decided_by) == ("stopped", GUS)


async def test_somebody_of_another_company_is_refused_in_private_and_the_run_goes_on(stage):
    thread = await at_work(stage)

    pressed = await thread.clicks("Stop", by=EVE)
    assert await pressed.acked(10)
    await thread.says("@Steersman stop", by=EVE)
    await stage.slack.wait_for(lambda: len(stage.slack.ephemerals(EVE)) == 2)
    stage.targets.open("gate/log")

    (run,) = await thread.settled()
    assert run.reason == "completed"
    assert "Only people of the workspace" in stage.slack.ephemerals(EVE)[0].text
    assert await stage.reader.fetchval("select count(*) from interrupts") == 0


async def test_a_second_press_says_that_it_is_being_stopped_already(stage):
    thread = await at_work(stage)

    async with held(stage, thread) as queued:
        await thread.clicks("Stop", by=ANA)
        await queued(1)
        await thread.clicks("Stop", by=BEN)
        await queued(2)

    (stopped,) = await thread.settled()
    await stage.slack.wait_for(lambda: "already" in told(stage, BEN))
    assert (stopped.decided_by, told(stage, ANA)) == (ANA, "")


async def test_the_button_of_an_old_card_says_that_its_run_has_ended_and_harms_no_newer_one(stage):
    thread = await at_work(stage)
    await thread.clicks("Stop")
    await thread.settled()
    old = await thread.card("stopped", 0)
    await thread.says("@Steersman and what of checkout now?")
    await stage.targets.reached("gate/log", 2)

    await stage.slack.click(BEN, INCIDENTS, old.ts, "steersman_stop")
    await stage.slack.wait_for(lambda: stage.slack.ephemerals(BEN))
    stage.targets.open("gate/log")

    runs = await thread.settled(2)
    assert told(stage, BEN) == "That run already ended."
    assert [run.reason for run in runs] == ["stopped", "completed"]


async def test_a_stop_in_one_thread_leaves_another_alone_which_can_still_be_stopped(stage):
    one = await at_work(stage)
    other = await at_work(stage, "disk full on db-1?", "gate/disk")

    await one.clicks("Stop", by=ANA)
    (first,) = await one.settled()
    await one.card("stopped")

    (still,) = await other.runs()
    assert (first.reason, still["state"]) == ("stopped", "running")
    assert "Stop" in buttons_of(await other.card("running"))
    await other.clicks("Stop", by=BEN)
    (second,) = await other.settled()
    assert (second.reason, second.decided_by) == ("stopped", BEN)


async def ending(stage):
    """A thread whose run has said everything and only lacks the end of its message."""
    stage.plays(SCRIPT)
    await stage.start()
    thread = await stage.asks("what is it?")
    async with asyncio.timeout(20):
        await stage.model.gate_reached("end")
    return thread


async def test_a_stop_before_the_answer_is_stored_keeps_it_from_being_posted(stage):
    thread = await ending(stage)

    async with held(stage, thread) as queued:
        await thread.clicks("Stop")
        await queued(1)
        stage.model.open_gate("end")
        await queued(2)

    (run,) = await thread.settled()
    await thread.card("stopped")
    assert (run.reason, run.final_event_id, thread.answers()) == ("stopped", None, [])
    assert [row["kind"] for row in await thread.events()] == ["user"]


async def test_a_stop_after_the_answer_is_stored_but_before_the_settlement_still_wins(stage):
    thread = await ending(stage)

    async with held(stage, thread) as queued:
        stage.model.open_gate("end")
        await queued(1)
        await thread.clicks("Stop")
        await queued(2)

    (run,) = await thread.settled()
    await thread.card("stopped")
    assert (run.reason, run.final_event_id, thread.answers()) == ("stopped", None, [])
    assert [row["kind"] for row in await thread.events()] == ["user", "assistant"]


async def test_a_stop_after_the_settlement_changes_nothing_and_says_that_the_answer_comes(stage):
    publisher = await stage.start(works=False, listens=False)
    stage.plays(SCRIPT)
    await stage.start(publishes=False)
    thread = await stage.asks("what is it?")
    live = await thread.card("running")
    await publisher.stop()
    stage.model.open_gate("end")
    await thread.settled()

    await stage.slack.click(BEN, INCIDENTS, live.ts, "steersman_stop")
    await stage.slack.wait_for(lambda: stage.slack.ephemerals(BEN))
    await stage.start(works=False, listens=False)

    (run,) = await thread.settled()
    (answer,) = await stage.slack.wait_for(thread.answers)
    await thread.card("done")
    assert (run.reason, told(stage, BEN)) == ("completed", "It had just finished; the answer is below.")
    assert "It was the deploy." in words_of(answer)


async def test_words_that_begin_with_stop_are_a_steer(stage):
    thread = await at_work(stage)

    await thread.says("stop the deploy on web-3 and look at web-4")

    steered, completed = await thread.settled(2)
    assert (steered.reason, completed.reason) == ("steered", "completed")
    assert "web-4 is well" in words_of((await stage.slack.wait_for(thread.answers))[0])
