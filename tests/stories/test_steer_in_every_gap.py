"""A steer that comes in any gap of a run: one cut, at a cut point, and a next run that has the words.

The recorded run has three rounds: two calls at once, one call, the answer. A barrier in the model or in a tool holds
the run in its gap while the steer is taken in, so that the gap is proved and not guessed.
"""

import asyncio
import json
from dataclasses import dataclass

import pytest

from bot.agent.history import mend, project
from bot.llm.validate import check_messages
from bot.playground.faults import Fault
from tests.stories.stage import ANA, BEN, Stage, state_of
from tests.stories.transcript import events_of, place_of_cut

SCRIPT = """
[[plays]]
when = "look at the gateway"
[[plays.rounds]]
say = "The gateway, then."

[[plays]]
when = "why is checkout slow"
[[plays.rounds]]
say = "I read the metrics and the log."
chunks = 2
calls = [
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/metrics" }} }},
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/log" }} }},
]
{first}
[[plays.rounds]]
say = "Now the deploys."
calls = [{{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/deploys" }} }}]
{second}
[[plays.rounds]]
say = "It was the deploy."
chunks = 2
{third}
"""


@dataclass(frozen=True)
class Gap:
    """Where a steer comes: the model waits in a round, or the tools of `opened` have answered and `tool` waits."""

    name: str
    round: int = 0
    at: str = ""
    tool: str = ""
    opened: tuple[str, ...] = ()
    cut: str = ""


ALL = ("gate/metrics", "gate/log", "gate/deploys")

GAPS = (
    # the place of each cut: what the first run had stored when it was cut, and how many requests the model had got
    Gap("before the first chunk", 1, "before_first_chunk", cut="U | 1 request, left"),
    Gap("after the first piece of text", 1, "chunk:2", cut="U | 1 request, left"),
    Gap("after the text, before the calls", 1, "chunk:3", cut="U | 1 request, left"),
    Gap("between the two calls", 1, "chunk:4", cut="U | 1 request, left"),
    Gap("after the calls, before the end", 1, "before_end", cut="U | 1 request, left"),
    Gap("both calls open", tool="gate/log", cut="U A(2) superseded superseded | 1 request"),
    Gap(
        "one call answered, one open", tool="gate/log", opened=("gate/metrics",), cut="U A(2) ok superseded | 1 request"
    ),
    Gap(
        "the other answered, one open",
        tool="gate/metrics",
        opened=("gate/log",),
        cut="U A(2) ok superseded | 1 request",
    ),
    Gap(
        "second round, before the first chunk",
        2,
        "before_first_chunk",
        opened=ALL,
        cut="U A(2) ok ok | 2 requests, left",
    ),
    Gap("second round, before the call", 2, "chunk:2", opened=ALL, cut="U A(2) ok ok | 2 requests, left"),
    Gap("second round, before the end", 2, "before_end", opened=ALL, cut="U A(2) ok ok | 2 requests, left"),
    Gap(
        "second round, call open", tool="gate/deploys", opened=ALL[:2], cut="U A(2) ok ok A(1) superseded | 2 requests"
    ),
    Gap(
        "third round, before the first chunk",
        3,
        "before_first_chunk",
        opened=ALL,
        cut="U A(2) ok ok A(1) ok | 3 requests, left",
    ),
    Gap("third round, in the answer", 3, "chunk:2", opened=ALL, cut="U A(2) ok ok A(1) ok | 3 requests, left"),
    Gap("third round, before the end", 3, "before_end", opened=ALL, cut="U A(2) ok ok A(1) ok | 3 requests, left"),
)


def script_for(gap: Gap) -> str:
    """The recorded run with a barrier in this gap."""
    barriers = {n: f'gate = {{ name = "here", at = "{gap.at}" }}' if n == gap.round else "" for n in (1, 2, 3)}
    return SCRIPT.format(first=barriers[1], second=barriers[2], third=barriers[3])


async def in_the_gap(stage: Stage, gap: Gap) -> None:
    """Wait until the run is in the gap."""
    if gap.round:
        await stage.model.gate_reached("here")
        return
    await stage.targets.reached(gap.tool)
    wanted = [name for name in gap.opened if name != gap.tool]
    await stage.until(lambda: _stored_results(stage, len(wanted)))


async def _stored_results(stage: Stage, count: int) -> bool:
    return await stage.reader.fetchval("select count(*) from events where kind = 'tool_result'") >= count


@pytest.mark.parametrize("gap", GAPS, ids=lambda gap: gap.name)
async def test_a_steer_cuts_once_at_a_cut_point_and_the_next_run_has_the_words(stage, gap):
    stage.plays(script_for(gap))
    stage.targets.open(*gap.opened)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    async with asyncio.timeout(20):
        await in_the_gap(stage, gap)

    await thread.says("not that host, look at the gateway")

    steered, completed = await thread.settled(2)
    first_card = await thread.card("steered", 0)
    await thread.card("done", 1)
    runs = await thread.runs()
    events = events_of(await thread.events())
    assert place_of_cut(events, steered.run_id, stage.model.requests) == gap.cut
    assert (steered.reason, steered.final_event_id, steered.decided_by) == ("steered", None, ANA)
    assert (completed.reason, len(runs)) == ("completed", 2)
    assert "look at the gateway" in json.dumps(stage.model.requests[-1].messages)
    assert {request.broken_rule for request in stage.model.requests} == {None}
    # Without the last answer it is the request that brought it.
    mended = mend(project(events[:-1]))
    assert mended.fixes == ()
    check_messages(mended.messages)
    assert state_of(first_card) == "steered"


async def test_a_steer_before_any_worker_has_claimed_joins_the_run(stage):
    stage.plays(script_for(Gap("none")))
    await stage.start(works=False)
    thread = await stage.asks("why is checkout slow?")
    await thread.card("queued")

    await thread.says("look at the gateway")
    await stage.until(lambda: stage.reader.fetchval("select count(*) = 2 from inbox"))
    await stage.start(listens=False, publishes=False)

    (completed,) = await thread.settled()
    assert (completed.reason, len(await thread.runs())) == ("completed", 1)
    assert "look at the gateway" in json.dumps(stage.model.requests[0].messages)


async def test_a_steer_while_the_thread_is_being_read_cuts_before_the_model_is_asked(stage):
    stage.plays(script_for(Gap("none")))
    stage.slack.fail(Fault("conversations.replies", delay_s=60))
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.until(lambda: stage.reader.fetchval("select count(*) = 1 from runs where state = 'running'"))

    await thread.says("look at the gateway")

    steered, completed = await thread.settled(2)
    assert (steered.reason, completed.reason) == ("steered", "completed")
    assert len(stage.model.requests) == 1


async def test_two_steers_in_one_gap_cut_once_and_are_taken_in_slacks_order(stage):
    gap = GAPS[5]
    stage.plays(script_for(gap))
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await in_the_gap(stage, gap)

    await thread.says("look at the gateway")
    await thread.says("@Steersman and at its pool", by=BEN)

    await thread.settled(2)
    asked = json.dumps(stage.model.requests[-1].messages)
    assert [each.reason for each in await thread.settled(2)] == ["steered", "completed"]
    assert len(await thread.runs()) == 2
    assert asked.index("look at the gateway") < asked.index("and at its pool")
