"""Field reports of the class edits-and-deletes."""

import asyncio

from bot.playground.faults import Fault
from tests.stories.field.replay import Replay, noted, outcomes, refused, sent
from tests.stories.stage import ANA, WITHIN_S

NODES = """
[[plays]]
when = "also drain node n7"
[[plays.rounds]]
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/nodes" } }]
[[plays.rounds]]
say = "I leave the node alone."
[[plays]]
[[plays.rounds]]
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/logs" } }]
[[plays.rounds]]
say = "The log is clean."
"""


async def test_pb_043_a_change_that_changed_no_words_starts_and_cuts_nothing(stage):
    replay = Replay(stage, "PB-043")
    stage.plays(NODES)
    await stage.start()

    both = [replay.send("Ev001"), replay.send("Ev170")]
    assert all(await asyncio.gather(*(each.acked(WITHIN_S) for each in both)))
    thread = replay.thread("Ev001")
    await stage.targets.reached("gate/logs")
    # The same once more while the run is at work.
    await replay.tell("Ev170")
    stage.targets.open("gate/logs")

    (run,) = await thread.settled()
    await thread.card("done")
    assert run.reason == "completed"
    assert (len(await thread.runs()), len(stage.model.requests)) == (1, 2)
    assert await stage.reader.fetchval("select count(*) from inbox") == 1


async def test_pb_043_the_echoes_of_our_own_updates_are_no_messages(stage):
    replay = Replay(stage, "PB-043")
    stage.plays(NODES)
    await stage.start()
    stage.targets.open("gate/logs")

    thread = await replay.ask()
    await thread.settled()
    await thread.card("done")

    echoes = [each for each in stage.slack.deliveries() if each.event.get("message", {}).get("user") == "UBOT"]
    assert echoes
    assert all(await asyncio.gather(*(each.acked(WITHIN_S) for each in echoes)))
    assert await stage.reader.fetchval("select count(*) from ingress") == 1
    assert len(await thread.runs()) == 1


async def test_pb_045_a_steer_deleted_while_it_waits_is_taken_by_nobody(stage):
    replay = Replay(stage, "PB-045")
    stage.plays(NODES)
    stage.limits["patience_s"] = None
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached("gate/logs")
    await replay.tell("Ev190")

    await replay.tell("Ev191")
    stage.targets.open("gate/logs")

    (run,) = await thread.settled()
    assert (run.reason, len(await thread.runs())) == ("completed", 1)
    assert "drain node n7" not in sent(stage)
    assert await _text_and_state(stage) == [("also drain node n7", "withdrawn")]


async def _text_and_state(stage):
    rows = await stage.reader.fetch("select text, state from inbox where text = 'also drain node n7'")
    return [tuple(row) for row in rows]


async def test_pb_045_a_steer_deleted_after_it_was_taken_is_told_to_the_model(stage):
    replay = Replay(stage, "PB-045")
    stage.plays(NODES)
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached("gate/logs")
    await replay.tell("Ev190")
    await stage.targets.reached("gate/nodes")

    await replay.tell("Ev191")
    await noted(stage, 3)
    stage.targets.open("gate/nodes")

    steered, completed = await thread.settled(2)
    assert (steered.reason, completed.reason) == ("steered", "completed")
    assert "@ana has deleted this message; do not act on it: also drain node n7" in sent(stage)
    assert refused(stage) == []


async def test_pb_045_deleting_the_question_stops_its_run_and_posts_nothing_anywhere(stage):
    replay = Replay(stage, "PB-045")
    stage.plays(NODES)
    stage.limits["patience_s"] = None
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached("gate/logs")
    await replay.tell("Ev190")
    await replay.tell("Ev191")
    await thread.card("running")
    (given,) = replay.all_of("slack_api")
    stage.slack.fail(Fault(given["method"], error=given["respond"]["error"], times=1000))

    await replay.tell("Ev192")

    (stopped,) = await thread.settled()
    await thread.card("stopped")
    ours = [each for each in stage.slack.messages(thread.channel) if each.user == "UBOT"]
    tried = [each for each in stage.slack.calls("chat.postMessage") if each.error]
    assert (stopped.reason, stopped.decided_by, stopped.final_event_id) == ("stopped", ANA, None)
    assert await outcomes(stage) == ["cancelled"]
    assert (len(await thread.runs()), tried) == (1, [])
    assert [each.thread_ts for each in ours] == [thread.ts]
    assert await stage.reader.fetchval("select count(*) from events where body::text like '%returning 502%'") == 1
    assert await _text_and_state(stage) == [("also drain node n7", "withdrawn")]


async def test_pb_045_a_card_whose_thread_is_gone_is_given_up_and_not_tried_for_ever(stage):
    replay = Replay(stage, "PB-045")
    stage.plays(NODES)
    (given,) = replay.all_of("slack_api")
    stage.slack.fail(Fault(given["method"], error=given["respond"]["error"], times=1000))
    await stage.start()
    stage.targets.open("gate/logs")

    thread = await replay.ask()

    (run,) = await thread.settled()
    await stage.until(lambda: stage.reader.fetchval("select gone = 'invalid_thread_ts' from cards"))
    await stage.until(lambda: stage.reader.fetchval("select state = 'failed' from posts"))
    assert (run.reason, len(await thread.runs())) == ("completed", 1)
    assert [each.user for each in stage.slack.messages(thread.channel)] == [ANA]
    assert len(stage.slack.calls("chat.postMessage")) == 2
