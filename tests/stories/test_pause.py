"""Pause and resume: the same run on the same card, for those who may, and what comes while it is paused."""

import json

import pytest

from tests.stories.stage import ANA, BEN, GUS, INCIDENTS, buttons_of, lines_of, words_of

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
say = "I read the pool."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/pool" } }]
[[plays.rounds]]
say = "It was the pool."

"""


async def at_work(stage):
    """A thread whose run waits for its first tool."""
    stage.plays(SCRIPT)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/log")
    return thread


async def paused(stage, by=ANA):
    """A thread whose run is paused after its first call."""
    thread = await at_work(stage)
    await thread.clicks("Pause", by=by)
    await thread.card("pausing")
    stage.targets.open("gate/log")
    await thread.card("paused")
    return thread


def told(stage, person):
    """What was said to one person alone."""
    return [each.text for each in stage.slack.ephemerals(person)]


@pytest.mark.parametrize(("words", "by"), [("pause", ANA), ("@Steersman pause", BEN), ("", BEN), ("", GUS)])
async def test_a_word_or_a_button_pauses_and_resume_goes_on_in_the_same_run(stage, words, by):
    thread = await at_work(stage)

    await (thread.says(words, by=by) if words else thread.clicks("Pause", by=by))
    await thread.card("pausing")
    stage.targets.open("gate/log", "gate/pool")
    card = await thread.card("paused")
    asked = len(stage.model.requests)
    await thread.clicks("Resume")

    (run,) = await thread.settled()
    await thread.card("done")
    assert (run.reason, len(await thread.runs()), len(thread.cards()), asked) == ("completed", 1, 1, 1)
    assert f"paused by {by}" in lines_of(card)[0]
    assert stage.targets.paths == ["/gate/log", "/gate/pool"]


async def test_only_who_asked_may_resume(stage):
    thread = await paused(stage)

    for person in (BEN, GUS):
        await thread.clicks("Resume", by=person)
    await stage.slack.wait_for(lambda: told(stage, BEN) and told(stage, GUS))
    await thread.says("@Steersman resume", by=BEN)
    await stage.slack.wait_for(lambda: len(told(stage, BEN)) == 2)

    refusal = "Only who asked for this analysis, or an approver, can resume it. Ask one of them."
    assert (set(told(stage, BEN)), told(stage, GUS)) == ({refusal}, [refusal])
    assert [(row["state"], row["parked_for"]) for row in await thread.runs()] == [("parked", "paused")]


async def test_what_is_said_while_it_is_paused_is_held_and_taken_in_on_resume(stage):
    thread = await paused(stage)
    stage.targets.open("gate/pool")

    await thread.says("and its pool, please")
    await stage.slack.wait_for(lambda: "1 message held" in words_of(thread.cards()[0]))
    asked = len(stage.model.requests)
    await thread.says("resume")

    (run,) = await thread.settled()
    assert (run.reason, len(await thread.runs())) == ("completed", 1)
    assert "and its pool, please" in json.dumps(stage.model.requests[asked].messages)
    assert {request.broken_rule for request in stage.model.requests} == {None}


async def test_a_mention_while_it_is_paused_cuts_and_goes_on_with_the_new_words(stage):
    thread = await paused(stage)

    await thread.says("@Steersman look at the gateway", by=BEN)

    steered, completed = await thread.settled(2)
    await thread.card("steered", 0)
    await thread.card("done", 1)
    assert (steered.reason, steered.decided_by, completed.reason) == ("steered", BEN, "completed")
    assert stage.targets.paths == ["/gate/log"]


async def test_a_run_that_waits_for_a_worker_is_paused_and_starts_only_when_it_is_resumed(stage):
    stage.plays(SCRIPT)
    await stage.start(works=False)
    thread = await stage.asks("look at the gateway")
    await thread.card("queued")

    await thread.says("pause")
    await thread.card("paused")
    await stage.start(listens=False, publishes=False)
    other = await stage.asks("look at the gateway")
    await other.settled()
    before = len(stage.model.requests)
    await thread.clicks("Resume")

    (run,) = await thread.settled()
    assert (run.reason, len(await thread.runs()), len(thread.cards()), before) == ("completed", 1, 1, 1)


async def test_resume_before_the_pause_has_begun_withdraws_it(stage):
    thread = await at_work(stage)
    await thread.clicks("Pause")
    await thread.card("pausing")

    await thread.says("resume")
    await stage.slack.wait_for(lambda: told(stage, ANA))
    await thread.card("running")
    stage.targets.open("gate/log", "gate/pool")

    (run,) = await thread.settled()
    assert told(stage, ANA) == ["It goes on: the pause had not begun yet."]
    assert run.reason == "completed"
    assert await stage.reader.fetchval("select count(*) from interrupts where state = 'moot'") == 1


async def test_the_resume_button_of_an_earlier_pause_is_refused(stage):
    thread = await paused(stage)
    old = buttons_of(thread.cards()[0])["Resume"]
    await thread.clicks("Resume")
    await stage.targets.reached("gate/pool")
    await thread.clicks("Pause")
    await thread.card("pausing")
    stage.targets.open("gate/pool")
    card = await thread.card("paused")

    await stage.slack.click(ANA, INCIDENTS, card.ts, old["action_id"], old["value"])
    await stage.slack.wait_for(lambda: told(stage, ANA))

    assert told(stage, ANA) == ["That button belongs to an earlier pause. Use the newest card."]
    assert [row["state"] for row in await thread.runs()] == ["parked"]


async def test_stop_ends_a_paused_run(stage):
    thread = await paused(stage)

    await thread.clicks("Stop", by=BEN)

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    assert (stopped.reason, stopped.decided_by, buttons_of(card)) == ("stopped", BEN, {})
    assert len(stage.model.requests) == 1


async def test_the_word_status_answers_one_person_with_title_line_and_link(stage):
    thread = await at_work(stage)
    card = await thread.card("running")
    place = {"channel": INCIDENTS, "message_ts": card.ts}
    link = (await stage.slack.call("chat.getPermalink", place)).body["permalink"]

    await thread.says("@Steersman status", by=BEN)
    await stage.slack.wait_for(lambda: told(stage, BEN))

    (line,) = told(stage, BEN)
    assert line.startswith("Why is checkout slow? · investigating")
    assert "Read /gate/log" in line
    assert line.endswith(f"<{link.replace('&', '&amp;')}|card>") or line.endswith(f"<{link}|card>")
    assert [row["state"] for row in await thread.runs()] == ["running"]
