"""A claim from its first look to its end: what the model is asked, what is stored, and how a brake ends it."""

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.agent.asking import Patience
from bot.interrupts.retries import RetryPolicy
from bot.llm.script import Fault, FaultKind, Gate, Round
from bot.llm.scripted import Gates
from bot.rules.terms import Command, InterruptKind
from tests.agent.bench import LIMIT, Bench, Reading, reads, says
from tests.storage.waits import waiters


class CancelsItself(Reading):
    """A tool that ends as if somebody had cancelled it."""

    async def run(self, arguments, context):
        raise asyncio.CancelledError


async def usage(desk):
    booked = await desk.rows("select model, input_tokens > 0, reported from usage order by call_key")
    return [tuple(row) for row in booked]


async def kinds(desk):
    return [row[0] for row in await desk.rows("select kind from events order by seq")]


async def test_a_question_is_answered_and_the_run_completed(bench, desk):
    _, task = await bench.begins(reads("metrics", "log"), says("It is the disk."))

    await bench.ended(task)

    assert await desk.states() == ["completed"]
    assert await kinds(desk) == ["user", "assistant", "tool_result", "tool_result", "assistant"]
    assert await desk.value("select body from posts") == "It is the disk."


async def test_the_model_of_a_run_is_written_down_when_it_begins(bench, desk):
    _, task = await bench.begins(says("It is", at="before_first_chunk"))

    await bench.model_waits()

    assert await desk.value("select model from runs") == "scripted:m1"
    bench.provider.gates.open("model")
    await bench.ended(task)


async def test_a_run_goes_on_with_the_model_it_began_with_though_the_setting_changed(bench, desk):
    first, task = await bench.begins(reads("it"), says("It is", at="before_first_chunk"))
    await bench.model_waits()
    task.cancel()
    await asyncio.wait({task})

    again = await desk.claims()
    bench.plays(reads("it"), says("It is."))
    await bench.ended(bench.works(again, model="m2"))

    assert again.claim.run_id == first.claim.run_id
    assert await desk.states() == ["completed"]
    assert await desk.value("select model from runs") == "scripted:m1"
    assert {row[0] for row in await desk.rows("select model from usage")} == {"m1"}


async def test_a_run_whose_model_service_is_gone_goes_on_with_ours_and_says_so(bench, desk):
    claimed = await desk.is_asked()
    await desk.raw.execute("update runs set model = 'elsewhere:big'")
    again = await _claimed_again(desk, claimed)

    with capture_logs() as log:
        await bench.ended(bench.works(again))

    assert [each["began_with"] for each in log if each["event"] == "model.changed"] == ["elsewhere:big"]
    assert [row[0] for row in await desk.rows("select model from usage")] == ["m1"]


async def _claimed_again(desk, claimed):
    await desk.gives_back(claimed)
    return await desk.claims()


async def test_nothing_is_asked_and_nothing_is_read_when_a_stop_was_there_before_the_claim_began(bench, desk):
    claimed = await desk.is_asked()
    await desk.presses("ana", Command.STOP, claimed.claim.run_id)

    await bench.ended(bench.works(claimed))

    assert await desk.states() == ["stopped"]
    assert await kinds(desk) == ["user"]
    assert await usage(desk) == []


@pytest.mark.parametrize("at", ["before_first_chunk", "chunk:2", "before_end"])
@pytest.mark.parametrize(("command", "state"), [(Command.STOP, "stopped"), (Command.PAUSE, "parked")])
async def test_a_button_while_the_model_speaks_drops_its_message_and_books_what_it_cost(
    bench, desk, at, command, state
):
    claimed, task = await bench.begins(says("It is the disk.", at=at))
    await bench.model_waits()

    await bench.stops(claimed, command)

    await bench.ended(task)
    assert await desk.states() == [state]
    assert await kinds(desk) == ["user"]
    assert await usage(desk) == [("m1", True, False)]


async def test_a_steer_while_the_model_speaks_cuts_the_run_and_the_next_one_has_the_words(bench, desk):
    claimed, task = await bench.begins(says("It is the disk.", at="chunk:2"))
    await bench.model_waits()

    await bench.steers(claimed)

    await bench.ended(task)
    assert await desk.states() == ["steered", "queued"]
    assert await desk.value("select final_event_id from settlements") is None


async def test_a_request_that_does_not_leave_costs_nothing(bench, desk, raw, watch):
    """The hint comes after the last look before the model is asked; what it hinted at was withdrawn."""
    bench.reading_earlier = Gates()
    claimed, task = await bench.begins(says("It is the disk."))
    await asyncio.wait_for(bench.reading_earlier.reached("earlier"), LIMIT)

    async with raw.transaction():
        await raw.execute("select 1 from threads for update")
        bench.reading_earlier.open("earlier")
        await waiters(watch)
        await bench.hears(claimed, InterruptKind.STEER)

    await bench.ended(task)
    assert await desk.states() == ["completed"]
    assert await usage(desk) == [("m1", True, True)]


async def test_a_thread_is_read_after_all_when_the_steer_that_came_first_was_withdrawn(bench, desk):
    bench.reading_earlier = Gates()
    bench.earlier = "ben: it began at noon"
    claimed, task = await bench.begins(says("It is the disk."))
    await asyncio.wait_for(bench.reading_earlier.reached("earlier"), LIMIT)

    await bench.hears(claimed, InterruptKind.STEER)
    await asyncio.wait_for(bench.reading_earlier.reached("earlier", 2), LIMIT)
    bench.reading_earlier.open("earlier")

    await bench.ended(task)
    assert await desk.value("select body->>'text' from events where kind = 'context'") == "ben: it began at noon"


async def test_a_steer_that_was_withdrawn_while_the_model_spoke_lets_the_run_go_on(bench, desk):
    claimed, task = await bench.begins(says("It is the disk.", at="chunk:2"))
    await bench.model_waits()

    at = desk.now()
    await desk.says("ana", "look at the gateway", at=at)
    await desk.deletes(at)
    await bench.hears(claimed, InterruptKind.STEER)
    await asyncio.wait_for(bench.provider.gates.reached("model", 2), LIMIT)
    bench.provider.gates.open("model")

    await bench.ended(task)
    assert await desk.states() == ["completed"]
    assert await usage(desk) == [("m1", True, False), ("m1", True, True)]


@pytest.mark.parametrize("kind", [InterruptKind.STEER, InterruptKind.PAUSE])
async def test_a_message_that_was_whole_in_the_instant_of_a_soft_pull_is_stored_and_its_calls_do_not_start(
    bench, desk, kind
):
    claimed, task = await bench.begins(reads("log", gate=Gate("model", "before_end")), says("never"))
    await bench.model_waits()
    await (desk.says("ana", "look there") if kind is InterruptKind.STEER else _pauses(desk, claimed))

    bench.provider.gates.open("model")
    await bench.counts("events where kind = 'assistant'", 1)

    await bench.ended(task)
    assert (await desk.states())[0] == ("steered" if kind is InterruptKind.STEER else "parked")
    assert [outcome for _, outcome in await desk.outcomes()] == ["not_started"]
    assert bench.tool.begun == []
    assert await usage(desk) == [("m1", True, True)]


def _pauses(desk, claimed):
    return desk.presses("ana", Command.PAUSE, claimed.claim.run_id)


async def test_a_message_that_was_whole_in_the_instant_of_a_stop_is_not_stored_and_still_paid_for(bench, desk):
    claimed, task = await bench.begins(says("It is the disk.", at="before_end"))
    await bench.model_waits()
    await desk.presses("ana", Command.STOP, claimed.claim.run_id)

    bench.provider.gates.open("model")

    await bench.ended(task)
    assert await desk.states() == ["stopped"]
    assert await kinds(desk) == ["user"]
    assert await usage(desk) == [("m1", True, True)]


@pytest.mark.parametrize(("kind", "end"), [(FaultKind.EMPTY, "empty"), (FaultKind.MAX_TOKENS, "failed")])
async def test_a_finished_message_that_is_not_kept_is_paid_for(bench, desk, kind, end):
    _, task = await bench.begins(Round(say="It", fault=Fault(kind)))

    await bench.ended(task)

    assert await desk.states() == [end]
    assert await usage(desk) == [("m1", True, True)]


async def test_a_message_that_broke_off_is_asked_for_again_and_each_one_is_estimated(bench, desk):
    bench.limits["model_patience"] = Patience(RetryPolicy(3, 0.0))
    _, task = await bench.begins(Round(say="It is", fault=Fault(FaultKind.ENDS_EARLY)))

    await bench.ended(task)

    assert await desk.value("select error from settlements") == "model_stream"
    assert await usage(desk) == [("m1", True, False)] * 3


async def test_a_refused_request_costs_nothing(bench, desk):
    _, task = await bench.begins(Round(fault=Fault(FaultKind.STATUS, status=401)))

    await bench.ended(task)

    assert await desk.value("select error from settlements") == "model_auth"
    assert await usage(desk) == []


async def test_a_run_has_no_more_rounds_than_it_may_have(bench, desk):
    _, task = await bench.begins(*[reads("log")] * 5, max_rounds=3)

    await bench.ended(task)

    assert await desk.value("select error from settlements") == "budget"
    assert await desk.value("select count(*) from events where kind = 'assistant'") == 3
    assert len(bench.tool.begun) == 3


async def test_a_fault_of_ours_settles_the_run_with_its_class_and_answers_its_open_calls(bench, desk):
    bench.tool = CancelsItself()
    _, task = await bench.begins(reads("log"), says("never"))

    await bench.ended(task)

    assert await desk.value("select error from settlements") == "internal"
    assert [outcome for _, outcome in await desk.outcomes()] == ["cancelled"]


async def test_a_second_bench_cannot_end_what_another_settled(bench, desk):
    claimed, task = await bench.begins(says("It is the disk."))
    await bench.ended(task)

    await bench.ended(Bench(desk, desk.database).works(claimed))

    assert await desk.states() == ["completed"]
    assert await desk.value("select count(*) from settlements") == 1
