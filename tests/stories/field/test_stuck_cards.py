"""Field reports of the class stuck-status-or-card: a card or a status that says "at work" for ever."""

import json
from itertools import pairwise

import pytest

from bot.playground.faults import Fault
from tests.stories.field.replay import Replay
from tests.stories.stage import buttons_of, state_of

BOTH = """
[[plays]]
when = "disk full"
[[plays.rounds]]
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/disk" } }]
[[plays.rounds]]
say = "It is full."
[[plays]]
when = "look at the gateway"
[[plays.rounds]]
say = "The gateway, then."
[[plays]]
[[plays.rounds]]
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/checkout" } }]
[[plays.rounds]]
LAST
"""


def _status(stage, thread):
    session = stage.slack.session(thread.channel, thread.ts)
    return session.status if session else None


async def _has_status(stage, thread, status):
    return await stage.slack.wait_for(lambda: _status(stage, thread) == status, 20)


async def _without_its_worker(stage, replay):
    stage.plays(BOTH.replace("LAST", 'say = "It is slow."'))
    await stage.start(works=False)
    worker = await stage.start(listens=False, publishes=False)
    first = await replay.ask()
    await stage.targets.reached("gate/checkout")
    await first.card("running")
    await _has_status(stage, first, "processing")
    await worker.stop()
    stage.workers.remove(worker)
    return first


async def test_pb_049_stop_without_a_worker_settles_the_run_and_frees_its_card_and_no_other(stage):
    replay = Replay(stage, "PB-049")
    first = await _without_its_worker(stage, replay)

    await first.clicks("Stop")
    (stopped,) = await first.settled()
    card = await first.card("stopped")
    await _has_status(stage, first, "active")
    await stage.start(listens=False, publishes=False)
    second = await replay.ask("Ev230")
    await stage.targets.reached("gate/disk")
    other = await second.card("running")
    await _has_status(stage, second, "processing")
    # The repeated last paint of the first card comes while the second run is at work.
    await stage.slack.wait_for(lambda: len(_paints(stage, card.ts, "stopped")) >= 2, 20)

    assert stopped.reason == "stopped"
    assert buttons_of(card) == {}
    assert (_status(stage, first), _status(stage, second)) == ("active", "processing")
    assert state_of(other) == "running"
    stage.targets.open("gate/disk")
    await second.card("done")
    await _has_status(stage, second, "active")


def _paints(stage, ts, state):
    calls = [each for each in stage.slack.calls("chat.update") if each.arguments.get("ts") == ts]
    return [each for each in calls if _state(each) == state]


def _state(call):
    metadata = call.arguments["metadata"]
    return (json.loads(metadata) if isinstance(metadata, str) else metadata)["event_payload"]["state"]


ENDS = {
    "completed": ('say = "It is slow."', None),
    "empty": ('fault = "empty"', None),
    "failed": ("fault = 401", None),
    "stopped": ('say = "It is slow."', "stop"),
    "steered": ('say = "It is slow."', "look at the gateway"),
}
SHOWN = {"completed": "done", "empty": "no answer", "failed": "failed", "stopped": "stopped", "steered": "steered"}


@pytest.mark.parametrize("reason", ENDS)
async def test_pb_049_every_way_in_which_a_run_ends_frees_its_card_and_its_status(stage, reason):
    replay = Replay(stage, "PB-049")
    last, said = ENDS[reason]
    stage.plays(BOTH.replace("LAST", last))
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached("gate/checkout")
    await _has_status(stage, thread, "processing")

    if said:
        await thread.says(f"@Steersman {said}")
    else:
        stage.targets.open("gate/checkout")

    run = (await thread.settled(2 if reason == "steered" else 1))[0]
    card = await thread.card(SHOWN[reason], 0)
    await _has_status(stage, thread, "active")
    assert run.reason == reason
    assert buttons_of(card) == {}
    assert "in_progress" not in json.dumps(card.blocks)


SLOW = """
[[plays]]
[[plays.rounds]]
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/logs" } }]
[[plays.rounds]]
say = "SAID"
gate = "before_end"
"""


async def _with_an_update_in_the_air(stage, replay):
    (said,) = replay.all_of("llm")
    stage.plays(SLOW.replace("SAID", said["text"]))
    await stage.start()
    # A second process paints as well.
    await stage.start(works=False, listens=False)
    thread = await replay.ask()
    await stage.targets.reached("gate/logs")
    card = await thread.card("running")
    await stage.until(lambda: stage.reader.fetchval("select wanted_rev = painted_rev from cards"))
    stage.slack.fail(Fault("chat.update", delay_s=1.2))
    stage.targets.open("gate/logs")
    await stage.model.gate_reached("before_end")
    await stage.until(lambda: stage.reader.fetchval("select paint_token is not null from cards"))
    return thread, card


@pytest.mark.parametrize("end", ["done", "stopped"])
async def test_pb_050_a_slow_update_is_never_applied_after_the_last_one(stage, end):
    replay = Replay(stage, "PB-050")
    thread, card = await _with_an_update_in_the_air(stage, replay)

    if end == "stopped":
        await thread.clicks("Stop")
    stage.model.open_gate("before_end")

    await thread.settled()
    await stage.slack.wait_for(lambda: len(_paints(stage, card.ts, end)) >= 2, 20)
    calls = sorted(stage.slack.calls("chat.update"), key=lambda call: call.at)
    states = [_state(call) for call in calls]
    slowest = max(calls, key=lambda call: call.answered_at - call.at)
    assert _state(slowest) in {"running", "stopping"}
    assert slowest.answered_at - slowest.at > 0.01
    assert all(one.answered_at <= next_one.at for one, next_one in pairwise(calls))
    assert set(states[states.index(end) :]) == {end}
    assert state_of(thread.cards()[0]) == end
