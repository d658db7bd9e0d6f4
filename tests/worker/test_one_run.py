"""One claim: settled, or handed back exactly once; an outage is no end, and nothing is written after the hand-back."""

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.llm.scripted import Gates
from bot.rules.terms import Command
from storage.settlement import Means
from tests.agent.bench import LIMIT, Listed, answer, reads, says
from tests.storage.waits import waiters

STATE = "select state, fence, owner from threads"


async def stands(desk):
    return tuple(await desk.raw.fetchrow(STATE))


async def goes_on(bench, desk):
    """Another worker takes the run and brings it to its end."""
    for gate in "abc":
        bench.tool.gates.open(gate)
    bench.provider.gates.open("model")
    bench.reading_earlier.open("earlier")
    await bench.ended(bench.works(await desk.claims("w2")))
    assert await desk.states() == ["completed"]
    assert await desk.value("select count(*) from settlements") == 1
    assert await desk.value("select attempts from runs") == 0


async def in_the_model(bench):
    claimed, task = await bench.begins(reads("log a"), says("It is the disk.", at="before_first_chunk"))
    bench.tool.gates.open("a")
    await bench.model_waits()
    return claimed, task


async def in_a_batch(bench):
    claimed, task = await bench.begins(reads("log a", "log b", "log", "log c", "log d"), says("It is the disk."))
    for gate in "abc":
        await bench.reached(gate)
    bench.tool.gates.open("d")
    return claimed, task


async def reading_the_thread(bench):
    bench.reading_earlier = Gates()
    claimed, task = await bench.begins(says("It is the disk."))
    await asyncio.wait_for(bench.reading_earlier.reached("earlier"), LIMIT)
    return claimed, task


PLACES = [in_the_model, in_a_batch, reading_the_thread]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("place", PLACES)
async def test_a_worker_that_is_ended_hands_its_run_back_once_and_another_goes_on(bench, desk, place, times):
    _, task = await place(bench)

    for _ in range(times):
        task.cancel()
    await asyncio.wait({task}, timeout=LIMIT)

    assert task.cancelled()
    assert await stands(desk) == ("ready", 2, None)
    assert await desk.states() == ["running"]
    assert len(bench.live) == 0
    await goes_on(bench, desk)


@pytest.mark.parametrize("write", ["message", "answer"])
async def test_a_worker_that_is_ended_in_the_middle_of_a_write_hands_back_and_nothing_is_lost_or_doubled(
    bench, desk, raw, watch, write
):
    _, task = await bench.begins(reads("log a"), says("It is the disk.", at="before_end"))
    await bench.reached("a")
    if write == "message":
        bench.tool.gates.open("a")
        await bench.model_waits()

    async with raw.transaction():
        await raw.execute("select 1 from threads for update")
        bench.tool.gates.open("a") if write == "answer" else bench.provider.gates.open("model")
        await waiters(watch)
        task.cancel()
    await asyncio.wait({task}, timeout=LIMIT)

    assert await stands(desk) == ("ready", 2, None)
    await goes_on(bench, desk)
    assert await desk.value("select count(*) from events where kind = 'tool_result'") == 1
    assert await desk.value("select count(*) from events where kind = 'assistant'") == 2


async def test_a_worker_that_is_ended_in_the_middle_of_a_settlement_leaves_it_to_the_next(bench, desk, raw, watch):
    _, task = await bench.begins(says("It is the disk.", at="before_end"))
    await bench.model_waits()

    async with raw.transaction():
        await raw.execute("lock table settlements in share mode")
        bench.provider.gates.open("model")
        await waiters(watch)
        task.cancel()
    await asyncio.wait({task}, timeout=LIMIT)

    handed_back = await desk.states()
    await desk.claims("w2")
    assert (handed_back, await desk.states()) == (["running"], ["completed"])
    assert await desk.value("select count(*) from posts") == 1


async def test_a_second_cancellation_during_the_hand_back_does_not_undo_it(bench, desk, raw, watch):
    _, task = await in_the_model(bench)

    async with raw.transaction():
        await raw.execute("select 1 from threads for update")
        task.cancel()
        await waiters(watch)
        task.cancel()
        task.cancel()
    await asyncio.wait({task}, timeout=LIMIT)

    assert task.cancelled()
    assert await stands(desk) == ("ready", 2, None)


async def test_a_tool_that_will_not_let_go_does_not_hold_the_hand_back_and_writes_nothing_to_the_history(bench, desk):
    _, task = await bench.begins(reads("stubborn a"), says("It is the disk."))
    await bench.reached("a")
    task.cancel()
    await asyncio.wait({task}, timeout=LIMIT)
    handed_back = await stands(desk)

    bench.tool.gates.open("a")
    await bench.counts("tool_calls where outcome is null and late->>'outcome' = 'ok'", 1)

    assert handed_back == ("ready", 2, None)
    assert await desk.value("select count(*) from events where kind = 'tool_result'") == 0
    await goes_on(bench, desk)


async def test_an_outage_while_tools_are_at_work_is_waited_for_and_is_no_end(far_bench, desk, wire):
    _, task = await in_a_batch(far_bench)

    await wire.cut()
    for gate in "abc":
        far_bench.tool.gates.open(gate)
    await far_bench.looks(4)
    await wire.mend()

    await far_bench.ended(task)
    assert await desk.states() == ["completed"]
    assert [outcome for _, outcome in await desk.outcomes()] == ["ok"] * 5


async def test_an_outage_while_the_model_speaks_is_waited_for_and_its_message_is_stored_once(far_bench, desk, wire):
    _, task = await far_bench.begins(says("It is the disk.", at="before_end"))
    await far_bench.model_waits()

    await wire.cut()
    far_bench.provider.gates.open("model")
    await far_bench.looks(2)
    await wire.mend()

    await far_bench.ended(task)
    assert await desk.states() == ["completed"]
    assert await desk.value("select count(*) from events where kind = 'assistant'") == 1
    assert await desk.value("select count(*) from usage") == 1


async def test_an_outage_that_outlives_the_trust_ends_the_claim_and_not_the_run(far_bench, desk, wire):
    claimed, task = await in_a_batch(far_bench)
    await wire.cut()
    far_bench.tool.gates.open("a")
    await far_bench.looks(2)

    with capture_logs() as log:
        far_bench.live.lose_all()
        await far_bench.ended(task)

    assert "run.broke" not in [each["event"] for each in log]
    assert await stands(desk) == ("running", 1, "w1")
    assert await desk.value("select count(*) from settlements") == 0
    await wire.mend()
    await desk.gives_back(claimed)
    await goes_on(far_bench, desk)


async def test_a_worker_that_no_longer_believes_itself_lets_go_at_once_and_asks_nothing_more(bench, desk):
    _, task = await in_the_model(bench)
    before = bench.database.transactions

    bench.live.lose_all()
    await bench.ended(task)

    assert await stands(desk) == ("ready", 2, None)
    assert await desk.states() == ["running"]
    assert bench.database.transactions - before < 5
    await goes_on(bench, desk)


async def test_a_run_that_another_worker_took_over_is_let_go_and_nothing_is_written(bench, desk):
    _, task = await in_a_batch(bench)
    await desk.falls_silent()
    await desk.reaps()
    taken = await desk.claims("w2")
    events = await desk.event_seq(taken.claim.thread_id)

    for gate in "abc":
        bench.tool.gates.open(gate)
    await bench.ended(task)

    assert await desk.event_seq(taken.claim.thread_id) == events
    assert await stands(desk) == ("running", taken.claim.fence, "w2")
    came = "select count(*) filter (where outcome = 'ok'), count(*) filter (where late->>'outcome' = 'ok')"
    assert tuple((await desk.rows(f"{came} from tool_calls"))[0]) == (1, 3)


async def test_an_error_of_the_model_code_settles_the_run_and_names_no_detail(bench, desk):
    bench.provider = Listed()
    claimed = await desk.is_asked()

    await bench.ended(bench.works(claimed))

    settled = await desk.raw.fetchrow("select reason, error, detail from settlements")
    assert tuple(settled) == ("failed", "internal", "RuntimeError")


async def test_a_settlement_that_breaks_is_settled_as_a_fault_of_ours_and_not_tried_for_ever(bench, desk):
    def cannot_cut(text):
        raise ValueError(text)

    desk.means = Means(desk.means.mint_id, cannot_cut)
    bench.provider = Listed(answer("It is the disk."))
    claimed = await desk.is_asked()

    await bench.ended(bench.works(claimed))

    settled = await desk.raw.fetchrow("select reason, error, final_event_id from settlements")
    assert tuple(settled) == ("failed", "internal", None)
    assert await stands(desk) == ("idle", 2, None)


async def test_a_paused_run_is_let_go_and_stays_what_it_was(bench, desk):
    claimed, task = await in_the_model(bench)

    await bench.stops(claimed, Command.PAUSE)
    await bench.ended(task)

    assert await desk.states() == ["parked"]
    assert (await stands(desk))[::2] == ("parked", None)
    assert len(bench.live) == 0
