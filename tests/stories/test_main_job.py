"""The promises of the README's first screen: ask, watch, steer, stop, pause, resume."""

from tests.stories.stage import ANA, BEN, GUS, buttons_of, words_of

INVESTIGATION = """
[[plays]]
when = "gateway"
[[plays.rounds]]
say = "I read the gateway."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gateway" } }]
[[plays.rounds]]
say = "The gateway's answer was: {{result 1}}"

[[plays]]
[[plays.rounds]]
say = "I read the metrics and the log."
calls = [
  { name = "http_get", arguments = { url = "{{var TARGET}}/metrics" } },
  { name = "http_get", arguments = { url = "{{var TARGET}}/gate/logs" } },
]
[[plays.rounds]]
say = "What I read: {{find this is (.*)}}"
"""


async def test_a_question_is_investigated_and_answered_in_the_thread(stage):
    stage.plays(INVESTIGATION)
    await stage.start()
    stage.targets.open("gate/logs")

    thread = await stage.asks("why is checkout slow?")

    (run,) = await thread.settled()
    card = await thread.card("done")
    (answer,) = await stage.slack.wait_for(thread.answers)
    assert (run.reason, run.final_event_id is not None) == ("completed", True)
    assert "What I read: gate/logs" in words_of(answer)
    assert buttons_of(card) == {}
    assert sorted(stage.targets.paths) == ["/gate/logs", "/metrics"]


async def test_a_steer_cuts_the_run_and_the_next_one_starts_with_the_words(stage):
    stage.plays(INVESTIGATION)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/logs")

    await thread.says("not that host, look at the gateway")

    steered, completed = await thread.settled(2)
    old, new = await thread.card("steered", 0), await thread.card("done", 1)
    assert (steered.reason, steered.final_event_id, steered.decided_by) == ("steered", None, ANA)
    assert completed.reason == "completed"
    assert buttons_of(old) == {}
    assert "gateway's answer" in words_of((await stage.slack.wait_for(thread.answers))[0])
    assert new.ts.replace(".", "") in str(old.blocks) or await _links_on(stage, thread, new)


async def _links_on(stage, thread, new):
    return await stage.slack.wait_for(lambda: new.ts.replace(".", "") in str(thread.cards()[0].blocks), 5)


async def test_stop_ends_the_run_at_once_and_the_thread_goes_on(stage):
    stage.plays(INVESTIGATION)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/logs")

    await thread.clicks("Stop", by=BEN)

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    assert (stopped.reason, stopped.decided_by) == ("stopped", BEN)
    assert buttons_of(card) == {}
    assert thread.answers() == []
    asked = len(stage.model.requests)
    await thread.says("@Steersman look at the gateway")
    again = await thread.settled(2)
    assert again[1].reason == "completed"
    assert [each.broken_rule for each in stage.model.requests[asked:]] == [None, None]


async def test_pause_keeps_the_run_and_resume_goes_on_with_the_same_card(stage):
    stage.plays(INVESTIGATION)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/logs")

    await thread.clicks("Pause", by=GUS)
    stage.targets.open("gate/logs")
    await thread.card("paused")
    await thread.clicks("Resume")

    (run,) = await thread.settled()
    await thread.card("done")
    assert run.reason == "completed"
    assert len(thread.cards()) == 1
    assert len(await thread.runs()) == 1


async def test_each_http_request_of_a_run_has_a_row_of_its_own_with_its_address(stage):
    stage.plays(INVESTIGATION)
    stage.targets.open("gate/logs")
    await stage.start()

    thread = await stage.asks("why is checkout slow?")

    await thread.settled()
    counts = "select count(*) = (select count(*) from tool_calls) and count(*) > 0 from tool_attempts"
    await stage.until(lambda: stage.reader.fetchval(counts))
    rows = await stage.reader.fetch("select distinct address, status, outcome, method from tool_attempts")
    assert [tuple(row) for row in rows] == [("127.0.0.1", 200, "answered", "GET")]


async def test_a_card_that_takes_a_message_in_says_how_long_that_takes_here_at_most(stage):
    stage.limits = {"patience_s": 600}
    stage.plays(INVESTIGATION)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/logs")

    await thread.says("not that host, look at the gateway")

    await stage.slack.wait_for(lambda: "at most 10 min" in words_of(thread.cards()[0]), 20)
    stage.targets.open("gate/logs")
    assert [run.reason for run in await thread.settled(2)] == ["steered", "completed"]
