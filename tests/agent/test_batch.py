"""The calls of one message: three at work, each answered as soon as it can be, and how each interrupt meets them."""

import asyncio

import pytest

from bot.interrupts.races import LETTING_GO_S
from bot.rules.terms import Command, InterruptKind
from tests.agent.bench import reads, says

FIVE = ("log a", "log b", "log c", "log d", "log e")


async def at_work(bench, *rounds, **other):
    """A run whose first batch has three calls at their gates; the rest waits for places."""
    claimed, task = await bench.begins(*rounds, **other)
    for gate in "abc":
        await bench.reached(gate)
    return claimed, task


async def outcomes(desk):
    return sorted(outcome for _, outcome in await desk.outcomes())


async def test_every_answer_is_stored_as_soon_as_it_is_there(bench, desk):
    _, task = await at_work(bench, reads(*FIVE), says("done"))

    bench.tool.gates.open("b")
    await bench.counts("events where kind = 'tool_result'", 1)

    assert await desk.value("select body->>'text' from events where kind = 'tool_result'") == "this is log b"
    for gate in "acde":
        bench.tool.gates.open(gate)
    await bench.ended(task)
    assert await outcomes(desk) == ["ok"] * 5


@pytest.mark.parametrize(
    ("asks", "state", "first"),
    [
        (lambda bench, claimed: bench.steers(claimed), "steered", "not_started"),
        (lambda bench, claimed: bench.stops(claimed, Command.PAUSE), "parked", "not_started"),
    ],
)
async def test_calls_without_a_place_are_answered_at_once_while_others_are_still_at_work(
    bench, desk, asks, state, first
):
    claimed, task = await at_work(bench, reads(*FIVE), says("never"), patience_s=None)

    await asks(bench, claimed)
    await bench.counts("events where kind = 'tool_result'", 2)

    assert await outcomes(desk) == [first] * 2
    assert not task.done()
    for gate in "abc":
        bench.tool.gates.open(gate)
    await bench.ended(task)
    assert (await desk.states())[0] == state
    assert await outcomes(desk) == ["not_started"] * 2 + ["ok"] * 3
    assert len(bench.tool.begun) == 3


async def test_a_stop_ends_the_batch_at_once_and_every_call_is_answered_truly(bench, desk):
    claimed, task = await at_work(bench, reads(*FIVE), says("never"))
    bench.tool.gates.open("a")
    await bench.reached("d")

    await bench.stops(claimed)

    await bench.ended(task)
    assert await desk.states() == ["stopped"]
    assert await outcomes(desk) == ["cancelled"] * 3 + ["not_started", "ok"]
    assert len(bench.tool.begun) == 4


async def test_a_steer_ends_the_running_reads_when_its_patience_is_over(bench, desk):
    claimed, task = await at_work(bench, reads(*FIVE[:3]), says("never"))
    bench.tool.gates.open("a")
    await bench.counts("events where kind = 'tool_result'", 1)

    await bench.steers(claimed)

    await bench.ended(task)
    assert await desk.states() == ["steered", "queued"]
    assert await outcomes(desk) == ["ok", "superseded", "superseded"]


async def test_a_steer_that_was_withdrawn_before_the_patience_was_over_ends_nothing(bench, desk):
    claimed, task = await at_work(bench, reads(*FIVE[:3]), says("done"))
    at = desk.now()
    await desk.says("ana", "look at the gateway", at=at)
    await desk.deletes(at)

    await bench.hears(claimed, InterruptKind.STEER)
    await bench.until(lambda: not bench.live.last.is_pulled)
    for gate in "abc":
        bench.tool.gates.open(gate)

    await bench.ended(task)
    assert await desk.states() == ["completed"]
    assert await outcomes(desk) == ["ok"] * 3


async def test_a_steer_that_is_withdrawn_during_the_patience_ends_nothing(bench, desk):
    claimed, task = await at_work(bench, reads(*FIVE), says("done"), patience_s=1.5)
    at = desk.now()
    await bench.steers(claimed, at=at)
    await bench.counts("events where kind = 'tool_result'", 2)

    await desk.deletes(at)
    # The patience ends with a look that finds nothing, and takes the brake back.
    await bench.until(lambda: not bench.live.last.is_pulled)
    for gate in "abc":
        bench.tool.gates.open(gate)

    await bench.ended(task)
    assert await desk.states() == ["completed"]
    assert await outcomes(desk) == ["not_started"] * 2 + ["ok"] * 3


async def test_reads_wait_for_a_pause_that_came_before_a_steer(bench, desk):
    claimed, task = await at_work(bench, reads(*FIVE[:3]), says("never"))
    await bench.stops(claimed, Command.PAUSE)
    await bench.steers(claimed)

    await bench.looks(5)
    for gate in "abc":
        bench.tool.gates.open(gate)

    await bench.ended(task)
    assert await desk.states() == ["parked"]
    assert await outcomes(desk) == ["ok"] * 3
    assert await desk.inbox_states() == [("start", "consumed"), ("hold", "waiting")]


async def test_without_patience_a_steer_waits_for_the_reads(bench, desk):
    claimed, task = await at_work(bench, reads(*FIVE[:3]), says("never"), patience_s=None)

    await bench.steers(claimed)
    for gate in "abc":
        bench.tool.gates.open(gate)

    await bench.ended(task)
    assert (await desk.states())[0] == "steered"
    assert await outcomes(desk) == ["ok"] * 3


async def test_a_tool_that_breaks_ends_neither_the_batch_nor_the_run(bench, desk):
    _, task = await bench.begins(reads("broken", "log", "failing"), says("done"))

    await bench.ended(task)

    assert await desk.states() == ["completed"]
    assert await outcomes(desk) == ["failed", "failed", "ok"]


async def test_a_tool_that_will_not_let_go_does_not_hold_the_stop(bench, desk):
    claimed, task = await bench.begins(reads("stubborn a"), says("never"))
    await bench.reached("a")

    await bench.stops(claimed)

    await asyncio.wait_for(asyncio.shield(task), LETTING_GO_S * 10)
    assert await desk.states() == ["stopped"]
    assert await outcomes(desk) == ["cancelled"]
    bench.tool.gates.open("a")
    await bench.counts("tool_calls where outcome = 'cancelled' and late->>'outcome' = 'ok'", 1)
    assert await outcomes(desk) == ["cancelled"]


async def test_an_answer_that_comes_after_the_stop_goes_to_the_audit_and_nowhere_else(bench, desk):
    """The stop is recorded, and its hint has not come: the tool answers in between."""
    claimed, task = await bench.begins(reads("log a"), says("never"))
    await bench.reached("a")
    await desk.presses("ana", Command.STOP, claimed.claim.run_id)

    bench.tool.gates.open("a")

    await bench.ended(task)
    assert await desk.states() == ["stopped"]
    assert await outcomes(desk) == ["cancelled"]
    assert await desk.value("select outcome from tool_calls") == "cancelled"
    assert await desk.value("select late->>'outcome' from tool_calls") == "ok"
    texts = "select count(*) from events where body::text like '%this is log%'"
    assert await desk.value(texts) == 0


async def test_a_result_that_was_stored_before_the_stop_stays(bench, desk):
    claimed, task = await at_work(bench, reads(*FIVE[:3]), says("never"))
    bench.tool.gates.open("a")
    await bench.counts("events where kind = 'tool_result'", 1)

    await bench.stops(claimed)

    await bench.ended(task)
    assert await outcomes(desk) == ["cancelled", "cancelled", "ok"]


async def test_a_call_is_not_started_by_a_claim_that_was_taken_over_meanwhile(bench, desk):
    _, task = await at_work(bench, reads(*FIVE), says("never"))
    await desk.falls_silent()
    await desk.reaps()

    bench.tool.gates.open("a")

    await bench.ended(task)
    assert await desk.states() == ["running"]
    assert await outcomes(desk) == []
    assert len(bench.tool.begun) == 3


async def test_open_reads_are_run_again_by_the_next_claim_and_what_was_answered_is_not(bench, desk):
    _, task = await at_work(bench, reads(*FIVE[:3]), says("done"))
    bench.tool.gates.open("a")
    await bench.counts("events where kind = 'tool_result'", 1)
    task.cancel()
    await asyncio.wait({task})
    begun = list(bench.tool.begun)

    bench.tool.gates.open("b")
    bench.tool.gates.open("c")
    await bench.ended(bench.works(await desk.claims()))

    assert sorted(bench.tool.begun) == sorted([*begun, "log b", "log c"])
    assert await outcomes(desk) == ["ok"] * 3
    assert await desk.states() == ["completed"]
    assert len(set(bench.tool.request_ids)) == 3


@pytest.mark.parametrize("kind", [Command.STOP, Command.PAUSE])
async def test_open_reads_are_not_run_again_when_an_interrupt_was_there_first(bench, desk, kind):
    _, task = await at_work(bench, reads(*FIVE[:3]), says("never"))
    claimed = (await desk.run()).id
    task.cancel()
    await asyncio.wait({task})
    begun = len(bench.tool.begun)
    again = await desk.claims()
    await desk.presses("ana", kind, claimed)

    await bench.ended(bench.works(again))

    assert len(bench.tool.begun) == begun
    assert await desk.states() == ["stopped" if kind is Command.STOP else "parked"]
