"""Field reports of the class stop-ineffective: the screen says stopped, and the run goes on."""

import asyncio

import pytest

from bot.llm.script import Gate, Play, Round
from tests.stories.field.replay import Replay, gated, noted, outcomes, refused, sent, stored
from tests.stories.stage import ANA, BEN, buttons_of, lines_of, words_of

NODES = tuple(f"gate/cordon_node/n{n}" for n in range(1, 6))
QUERY = "gate/query_logs/502"


async def test_pb_013_a_stop_within_a_batch_lets_no_queued_call_start(stage):
    replay = Replay(stage, "PB-013")
    replay.follow()
    await stage.start()
    thread = await replay.ask()
    stage.targets.open(NODES[0])
    await stored(stage, 1)
    await stage.targets.reached(NODES[3])

    await thread.clicks("Stop")

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    stage.targets.open(*NODES)
    (run,) = await thread.runs()
    queued = await stage.reader.fetchrow("select * from tool_calls order by position desc limit 1")
    answers = [row["text"] for row in await thread.events() if row["kind"] == "tool_result"]
    assert sorted(stage.targets.paths) == [f"/{node}" for node in NODES[:4]]
    assert await outcomes(stage) == ["ok", "cancelled", "cancelled", "cancelled", "not_started"]
    assert (len(answers), sum("not started: the analysis was stopped" in each for each in answers)) == (5, 1)
    assert queued["started_at"] is None
    assert run["started_at"] < run["cancelling_at"] < await stage.reader.fetchval("select settled_at from settlements")
    assert (stopped.reason, await stage.reader.fetchval("select count(*) from settlements")) == ("stopped", 1)
    assert [line.split(" of ")[0] for line in lines_of(card) if line.startswith("Finished")] == [
        "Finished: Read /gate/cordon_node/n1"
    ]


async def _at_work(stage, replay):
    replay.follow(
        Play("look at web-4", (Round("web-4 is fine."),)),
        Play("st\N{ZERO WIDTH SPACE}op", (Round("Is that a word?"),)),
        Play("go on", (Round("I go on."),)),
    )
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached(QUERY)
    return thread


async def test_pb_015_the_word_stop_acts_while_the_call_is_still_out_and_never_reaches_the_model(stage):
    replay = Replay(stage, "PB-015")
    thread = await _at_work(stage, replay)

    await replay.tell("Ev010")

    (stopped,) = await thread.settled()
    await thread.card("stopped")
    await stage.until(lambda: _left(stage))
    await thread.says("@Steersman go on")
    await thread.settled(2)
    asked = [each for each in stage.model.requests[-1].messages if each["role"] == "user"]
    assert (stopped.reason, stopped.decided_by) == ("stopped", ANA)
    assert await stage.reader.fetchval("select count(*) from inbox where text ilike '%stop%'") == 0
    assert [each["content"] for each in asked] == ["@ana: why is checkout returning 502?", "@ana: go on"]


async def _left(stage):
    return stage.targets.left == [f"/{QUERY}"]


@pytest.mark.parametrize("nth", [0, 1], ids=["only begins with stop", "zero width space in it"])
async def test_pb_015_a_sentence_that_is_not_the_word_steers_and_reaches_the_model_whole(stage, nth):
    replay = Replay(stage, "PB-015")
    written = replay.all_of("variant")[nth].split("'")[1]
    thread = await _at_work(stage, replay)

    await replay.tell("Ev010", text=f"<@UBOT> {written}")

    runs = await thread.settled(2)
    assert [run.reason for run in runs] == ["steered", "completed"]
    assert f"@ana: {written}" in sent(stage)


async def test_pb_015_with_nothing_to_stop_the_word_starts_and_cuts_nothing_and_says_so(stage):
    replay = Replay(stage, "PB-015")
    thread = await _at_work(stage, replay)
    stage.targets.open(QUERY)
    await thread.settled()
    await thread.card("done")

    await replay.tell("Ev010", text="stop")
    await noted(stage, 2)
    await thread.says("@Steersman stop")

    await stage.slack.wait_for(lambda: "already ended" in _last_whisper(stage, ANA), 10)
    assert len(await thread.runs()) == 1
    assert await stage.reader.fetchval("select verdict from inbox where text = 'stop'") == "note"


def _last_whisper(stage, user):
    seen = stage.slack.ephemerals(user)
    return seen[-1].text if seen else ""


async def test_pb_016_a_stop_ends_the_run_of_its_own_thread_and_each_can_be_stopped(stage):
    replay = Replay(stage, "PB-016")
    stage.plays(TWO_THREADS)
    await stage.start()
    first = await replay.ask("Ev001")
    second = await replay.ask("Ev002")
    await stage.targets.reached("gate/checkout")
    await stage.targets.reached("gate/disk")

    await first.clicks("Stop", by=ANA)
    (stopped,) = await first.settled()
    await first.card("stopped")
    (still,) = await second.runs()
    stage.targets.open("gate/disk")
    await stage.targets.reached("gate/disk-2")
    await second.clicks("Stop", by=BEN)

    (also,) = await second.settled()
    await second.card("stopped")
    assert (stopped.reason, stopped.decided_by) == ("stopped", ANA)
    assert (still["state"], still["cancelling_at"]) == ("running", None)
    assert (also.reason, also.decided_by) == ("stopped", BEN)
    assert await outcomes(stage) == ["cancelled", "ok", "cancelled"]


TWO_THREADS = """
[[plays]]
when = "disk full"
[[plays.rounds]]
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/disk" } }]
[[plays.rounds]]
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/disk-2" } }]
[[plays.rounds]]
say = "It is full."
[[plays]]
[[plays.rounds]]
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/checkout" } }]
[[plays.rounds]]
say = "It is slow."
"""


async def test_pb_018_a_stop_while_the_last_answer_streams_posts_nothing_of_it(stage):
    replay = Replay(stage, "PB-018")
    replay.follow(Play("go on", (Round("I go on."),)), rounds=gated(replay.rounds(), 0, Gate("streams", "chunk:3")))
    await stage.start()
    thread = await replay.ask()
    await stage.model.gate_reached("streams")

    await thread.clicks("Stop")
    (stopped,) = await thread.settled()
    stage.model.open_gate("streams")
    card = await thread.card("stopped")
    await thread.says("@Steersman go on")
    await thread.settled(2)

    (answer,) = await stage.slack.wait_for(thread.answers, 10)
    assert (stopped.reason, stopped.final_event_id) == ("stopped", None)
    assert "Root cause" not in words_of(answer) + words_of(card)
    assert "Root cause" not in sent(stage)
    assert stage.model.requests[0].left_at is not None
    assert refused(stage) == []


async def test_pb_018_of_a_stop_and_an_answer_at_one_instant_exactly_one_wins(stage):
    replay = Replay(stage, "PB-018")
    replay.follow(rounds=gated(replay.rounds(), 0, Gate("ends", "before_end")))
    await stage.start()
    thread = await replay.ask()
    await stage.model.gate_reached("ends")
    await thread.card("running")

    stage.model.open_gate("ends")
    await asyncio.gather(thread.clicks("Stop"), thread.settled())

    (run,) = await thread.settled()
    await thread.card("stopped" if run.reason == "stopped" else "done")
    won = run.reason == "completed"
    posted = await stage.reader.fetchval("select count(*) from posts")
    assert run.reason in {"stopped", "completed"}
    assert (run.final_event_id is not None, posted == 1) == (won, won)
    assert await stage.reader.fetchval("select count(*) from settlements") == 1


async def test_pb_018_a_press_after_the_end_is_told_that_it_has_ended(stage):
    replay = Replay(stage, "PB-018")
    replay.follow(rounds=gated(replay.rounds(), 0, Gate("ends", "before_end")))
    await stage.start()
    thread = await replay.ask()
    await stage.model.gate_reached("ends")
    stop = buttons_of(await thread.card("running"))["Stop"]
    stage.model.open_gate("ends")
    card = await thread.card("done")

    press = await stage.slack.click(ANA, thread.channel, card.ts, stop["action_id"], stop["value"])

    assert await press.acked(10)
    told = await stage.slack.wait_for(lambda: _last_whisper(stage, ANA), 10)
    assert told in {"That run already ended.", "It had just finished; the answer is below."}
    assert [run.reason for run in await thread.settled()] == ["completed"]
