"""Field reports of the class session-bricked: a history that every later request would be refused for."""

import json

import pytest

from bot.agent.history import mend, project
from bot.llm.script import Play, Round
from bot.llm.validate import check_messages
from bot.playground.openai_judge import judge_openai
from tests.llm.stream_server import refuses, serving
from tests.stories.field.replay import Replay, outcomes, refused, sent, stored
from tests.stories.stage import ANA, KEY
from tests.stories.transcript import events_of, line_of

METRICS, LOGS, EVENTS = "gate/get_metrics", "gate/get_logs", "gate/get_events"


async def test_pb_002_a_steer_cuts_only_when_the_last_of_three_calls_has_answered(stage):
    replay = Replay(stage, "PB-002")
    replay.follow(Play("LB was changed", (Round("It was the LB."),)))
    stage.limits["patience_s"] = None
    await stage.start()
    thread = await replay.ask()
    stage.targets.open(METRICS)
    await stored(stage, 1)

    await replay.tell("Ev050")
    stage.targets.open(EVENTS)
    await stored(stage, 2)
    stage.targets.open(LOGS)

    steered, completed = await thread.settled(2)
    (cut_after_all,) = await stage.reader.fetchrow(
        "select min(r.cut_at) > max(e.stored_at) from runs r join events e on e.run_id = r.id"
        " where r.id = $1 and e.kind = 'tool_result'", steered.run_id,
    )  # fmt: skip
    results = [each for each in stage.model.requests[-1].messages if each["role"] == "tool"]
    assert cut_after_all
    assert line_of(events_of(await thread.events()), steered.run_id) == "U A(3) ok ok ok"
    assert (steered.reason, completed.reason, len(stage.model.requests)) == ("steered", "completed", 2)
    # The events came before the logs, and stand behind them, where they were called for.
    assert [each["content"].rsplit("/")[-1] for each in results] == ["get_metrics", "get_logs", "get_events"]
    assert refused(stage) == []


@pytest.mark.parametrize("model", ["openai:scripted", "anthropic:scripted"])
async def test_pb_002_after_a_stop_within_the_batch_the_next_request_is_accepted(stage, model):
    replay = Replay(stage, "PB-002")
    replay.follow(Play("LB was changed", (Round("It was the LB."),)))
    stage.environment["STEERSMAN_MODEL"] = model
    await stage.start()
    thread = await replay.ask()
    stage.targets.open(METRICS)
    await stored(stage, 1)

    await thread.clicks("Stop")
    await thread.settled()
    await replay.tell("Ev050")

    stopped, completed = await thread.settled(2)
    assert (stopped.reason, completed.reason) == ("stopped", "completed")
    assert await outcomes(stage) == ["ok", "cancelled", "cancelled"]
    assert "cancelled: the analysis was stopped" in sent(stage)
    assert refused(stage) == []


async def test_pb_003_every_occurrence_of_a_repeated_call_id_counts_for_itself(stage):
    replay = Replay(stage, "PB-003")
    stage.targets.open("gate/get_pods/prod")
    async with serving() as service:
        service.answer = _repeats_ids(service, replay, stage.targets.url)
        stage.environment["OPENAI_BASE_URL"] = service.url
        await stage.start()
        thread = await replay.ask()
        await stage.targets.reached("gate/delete_pod/b")

        stage.targets.open("gate/delete_pod/a")
        await stored(stage, 2)
        await thread.clicks("Stop", by=ANA)
        await thread.settled()
        await thread.says("@Steersman go on")

        stopped, completed = await thread.settled(2)
        ids = [row["call_id"] for row in await stage.reader.fetch("select call_id from tool_calls")]
        told = [call["id"] for each in service.asked[-1].body["messages"] for call in each.get("tool_calls", ())]
        assert len(set(ids)) == len(ids) == 3
        assert await outcomes(stage) == ["ok", "ok", "cancelled"]
        assert (stopped.reason, completed.reason) == ("stopped", "completed")
        assert sorted(told) == sorted(ids)
        assert [judge_openai(each.body) for each in service.asked] == [None, None, None]


def _repeats_ids(service, replay, targets):
    """A model service that gives its calls the ids of the report, and is strict about what it is sent."""
    answers = iter([*replay.all_of("llm"), {"text": "I go on."}])
    assert [call["id"] for said in replay.all_of("llm") for call in said["calls"]] == ["call_0"] * 3

    async def answer(answering):
        broken = judge_openai(service.asked[-1].body)
        if broken or service.asked[-1].headers["authorization"] != f"Bearer {KEY}":
            await refuses(400, json.dumps({"error": {"message": str(broken)}}))(answering)
            return
        said = next(answers)
        calls = [_wire_call(n, call, targets) for n, call in enumerate(said.get("calls", ()))]
        delta = {"role": "assistant", "content": said.get("text"), "tool_calls": calls}
        await answering.head()
        for choice in ({"delta": delta}, {"delta": {}, "finish_reason": "tool_calls" if calls else "stop"}):
            chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
            await answering.send(f"data: {json.dumps(chunk)}\n\n")
        await answering.send("data: [DONE]\n\n")

    return answer


def _wire_call(index, call, targets):
    url = "/".join((targets, "gate", call["name"], *call["args"].values()))
    function = {"name": "http_get", "arguments": json.dumps({"url": url})}
    return {"index": index, "id": call["id"], "type": "function", "function": function}


AS_REPORTED = """
[[plays]]
when = "and now"
[[plays.rounds]]
say = "And now it is over."
[[plays]]
[[plays.rounds]]
calls = [
  { name = "http_get", arguments = { url = "{{var TARGET}}/a" } },
  { name = "http_get", arguments = { url = "{{var TARGET}}/b" } },
]
[[plays.rounds]]
say = "Both answered."
"""
KEPT = 4
"""The report's limit; its history of user, A and B, result, result, text, user is cut within the batch by it."""


async def _with_history(stage, replay):
    stage.plays(AS_REPORTED)
    await stage.start()
    # The report begins with this history in place.
    question = {"type": "app_mention", "ts": "1790000000.000100", "thread_ts": None, "text": "<@UBOT> why 502?"}
    await replay.tell("Ev060", **question)
    thread = replay.thread("Ev060")
    await thread.settled()
    return thread


async def test_pb_004_a_long_history_is_sent_whole_however_often_the_thread_goes_on(stage):
    replay = Replay(stage, "PB-004")
    thread = await _with_history(stage, replay)

    await replay.tell("Ev060")
    await thread.settled(2)
    await replay.tell("Ev060", ts="1790000061.000100")

    runs = await thread.settled(3)
    assert [run.reason for run in runs] == ["completed"] * 3
    assert refused(stage) == []
    assert "this is a" in sent(stage)
    assert sent(stage).count("and now?") == 2


async def test_pb_004_what_a_cut_within_a_batch_has_left_is_still_accepted(stage):
    replay = Replay(stage, "PB-004")
    thread = await _with_history(stage, replay)

    for count, ts in ((2, "1790000060.000100"), (3, "1790000061.000100")):
        # No part of Steersman shortens a history; somebody's own clean-up of the table is replayed here.
        await stage.reader.execute("delete from events where seq <= (select max(seq) from events) - $1", KEPT - 1)
        await replay.tell("Ev060", ts=ts)
        await thread.settled(count)

    assert [run.reason for run in await thread.settled(3)] == ["completed"] * 3
    assert refused(stage) == []
    assert ["tool" in {each["role"] for each in asked.messages} for asked in stage.model.requests[2:]] == [False, False]
    assert "(earlier messages are missing)" in sent(stage)


async def test_pb_004_every_place_where_a_history_is_cut_leaves_one_that_can_be_sent(stage):
    replay = Replay(stage, "PB-004")
    thread = await _with_history(stage, replay)
    await replay.tell("Ev060")
    await thread.settled(2)
    events = events_of(await thread.events())

    for first in range(len(events)):
        for last in range(first + 1, len(events) + 1):
            mended = mend(project(events[first:last])).messages
            again = mend(mended[1:]).messages

            check_messages(mended)
            check_messages(again)
