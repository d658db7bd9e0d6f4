"""Stop, in every place a run can be in: nothing leaves after it, the card says so, and the thread goes on.

What left is counted at the servers. Everything that waited at a barrier is let go after the stop, so that whatever
the bot still wanted to send would be sent before the count.
"""

import re
from dataclasses import dataclass

import pytest

from bot.playground.faults import Fault
from tests.stories.holding import held
from tests.stories.stage import ANA, BEN, Stage, Thread, buttons_of, lines_of

SCRIPT = """
[[plays]]
when = "look at the gateway"
[[plays.rounds]]
say = "The gateway, then."

[[plays]]
when = "why is checkout slow"
[[plays.rounds]]
say = "I read all five."
chunks = 2
calls = [
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/a" }} }},
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/b" }} }},
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/c" }} }},
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/d" }} }},
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/e" }} }},
]
{first}
[[plays.rounds]]
say = "It was the deploy."
chunks = 2
{second}
"""
GATES = ("gate/a", "gate/b", "gate/c", "gate/d", "gate/e")
LISTED = ("Finished", "Not started", "Dropped", "Uncertain")


@dataclass(frozen=True)
class Place:
    """Where a stop comes: the model waits in a round at a point, or calls wait at their gates and `opened` are back.

    `left` is what the servers saw being left by the bot; the others are what the card lists, by the letter of the call.
    """

    name: str
    round: int = 0
    at: str = ""
    opened: str = ""
    left: str = ""
    finished: str = ""
    not_started: str = ""
    dropped: str = ""


PLACES = (
    Place("model, before the first chunk", 1, "before_first_chunk", left="model"),
    Place("model, in its text", 1, "chunk:2", left="model"),
    Place("model, between two calls", 1, "chunk:4", left="model"),
    Place("model, before the end", 1, "before_end", left="model"),
    Place("batch, three calls at work and two that wait", left="3 reads", dropped="abc", not_started="de"),
    Place("batch, two calls back", opened="ab", left="3 reads", finished="ab", dropped="cde"),
    Place("second round, before the first chunk", 2, "before_first_chunk", "abcde", "model", finished="abcde"),
    Place("second round, in the answer", 2, "chunk:2", "abcde", "model", finished="abcde"),
    Place("second round, before the end", 2, "before_end", "abcde", "model", finished="abcde"),
)


def script_for(place: Place) -> str:
    """The recorded run with a barrier in this place."""
    gate = f'gate = {{ name = "here", at = "{place.at}" }}' if place.at else ""
    return SCRIPT.format(first=gate if place.round == 1 else "", second=gate if place.round == 2 else "")


async def in_place(stage: Stage, place: Place) -> None:
    """Wait until the run is there."""
    if place.round:
        await stage.model.gate_reached("here")
        return
    await stage.until(lambda: _results(stage, len(place.opened)))
    for letter in "abcde"[: len(place.opened) + 3]:
        await stage.targets.reached(f"gate/{letter}")


async def _results(stage: Stage, count: int) -> bool:
    return await stage.reader.fetchval("select count(*) from events where kind = 'tool_result'") >= count


def listed(card) -> dict[str, str]:
    """What the card lists: the letters of the calls by the word that the line begins with."""
    found = {}
    for line in lines_of(card):
        word, _, names = line.partition(": ")
        if word in LISTED:
            found[word] = "".join(re.findall(r"/gate/([a-e])", names))
    return found


def wanted(place: Place) -> dict[str, str]:
    """What the card should list."""
    lines = {"Finished": place.finished, "Not started": place.not_started, "Dropped": place.dropped}
    return {word: letters for word, letters in lines.items() if letters}


async def left_by_the_bot(stage: Stage, place: Place) -> bool:
    """Whether the servers have noticed that the bot left."""
    if place.left == "model":
        return stage.model.requests[-1].left_at is not None
    return len(stage.targets.left) == (3 if place.left else 0)


async def goes_on(stage: Stage, thread: Thread) -> None:
    """Open every barrier, ask again, and see that exactly one request more was needed, which the model accepted."""
    asked, read = len(stage.model.requests), list(stage.targets.paths)
    stage.targets.open(*GATES)
    stage.model.open_gate("here")
    await thread.says("@Steersman look at the gateway", by=BEN)
    runs = await thread.settled(2)
    assert [each.reason for each in runs] == ["stopped", "completed"]
    assert (len(stage.model.requests), stage.targets.paths) == (asked + 1, read)
    assert {request.broken_rule for request in stage.model.requests} == {None}
    assert len(await stage.slack.wait_for(thread.answers)) == 1


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
async def test_after_stop_nothing_leaves_and_the_thread_goes_on(stage, place):
    stage.plays(script_for(place))
    stage.targets.open(*(f"gate/{letter}" for letter in place.opened))
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await in_place(stage, place)
    sent = (len(stage.model.requests), len(stage.targets.paths))

    await thread.clicks("Stop", by=BEN)

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    await stage.until(lambda: left_by_the_bot(stage, place))
    assert (stopped.reason, stopped.final_event_id, stopped.decided_by) == ("stopped", None, BEN)
    assert (len(stage.model.requests), len(stage.targets.paths)) == sent
    assert (buttons_of(card), listed(card), thread.answers()) == ({}, wanted(place), [])
    await goes_on(stage, thread)


async def test_a_run_that_waits_for_a_worker_is_stopped_without_one(stage):
    stage.plays(script_for(Place("none")))
    await stage.start(works=False)
    thread = await stage.asks("why is checkout slow?")

    await thread.clicks("Stop")

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    assert (stopped.reason, stopped.decided_by, listed(card)) == ("stopped", ANA, {})
    await stage.start(listens=False, publishes=False)
    await goes_on(stage, thread)
    assert stage.targets.paths == []


async def test_a_paused_run_is_stopped_without_any_worker(stage):
    stage.plays(script_for(Place("none")))
    await stage.start(works=False)
    worker = await stage.start(listens=False, publishes=False)
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/c")
    await thread.clicks("Pause")
    await thread.card("pausing")
    stage.targets.open(*GATES)
    await thread.card("paused")
    await worker.stop()

    await thread.clicks("Stop")

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    assert (stopped.reason, listed(card)) == ("stopped", {"Finished": "abc", "Not started": "de"})
    await stage.start(listens=False, publishes=False)
    await goes_on(stage, thread)


async def test_a_stop_while_the_thread_is_being_read_lets_no_request_leave(stage):
    stage.plays(script_for(Place("none")))
    stage.slack.fail(Fault("conversations.replies", delay_s=60))
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.until(lambda: stage.reader.fetchval("select count(*) = 1 from runs where state = 'running'"))

    await thread.clicks("Stop")

    (stopped,) = await thread.settled()
    await thread.card("stopped")
    assert (stopped.reason, stage.model.requests, stage.targets.paths) == ("stopped", [], [])
    await goes_on(stage, thread)


async def test_a_stop_between_two_rounds_lets_no_request_leave(stage):
    stage.plays(script_for(Place("none")))
    stage.targets.open(*GATES[:4])
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/e")
    await stage.until(lambda: _results(stage, 4))

    async with held(stage, thread) as queued:
        stage.targets.open("gate/e")
        await queued(1)
        await thread.clicks("Stop")
        await queued(2)

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    assert (stopped.reason, listed(card)) == ("stopped", {"Finished": "abcde"})
    assert len(stage.model.requests) == 1
    await goes_on(stage, thread)
