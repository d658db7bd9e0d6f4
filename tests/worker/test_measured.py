"""What a worker counts while runs are stopped, steered and refused: read from the metrics as they are written out."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot import metrics
from tests.agent.bench import LIMIT, reads, says


@pytest.fixture
def counted():
    return metrics.fresh()


def number(counted, name, label=""):
    families = text_string_to_metric_families(counted.written_out(None).decode())
    found = [each for family in families for each in family.samples]
    return sum(each.value for each in found if each.name == name and (not label or label in each.labels.values()))


async def test_a_stopped_run_is_measured_from_the_brake_until_it_is_settled(bench, desk, counted):
    claimed, task = await bench.begins(reads("log a"), says("It is the disk."))
    await bench.reached("a")

    await bench.stops(claimed)
    await bench.ended(task)

    assert await desk.states() == ["stopped"]
    assert number(counted, "steersman_stop_to_quiet_seconds_count") == 1
    assert 0 < number(counted, "steersman_stop_to_quiet_seconds_sum") < LIMIT
    assert number(counted, "steersman_steer_to_cut_seconds_count") == 0


async def test_a_steered_run_is_measured_from_the_brake_until_it_is_cut(bench, desk, counted):
    claimed, task = await bench.begins(reads("log a"), says("It is the disk."))
    await bench.reached("a")

    await bench.steers(claimed)
    await bench.ended(task)

    assert await desk.states() == ["steered", "queued"]
    assert number(counted, "steersman_steer_to_cut_seconds_count") == 1
    assert number(counted, "steersman_stop_to_quiet_seconds_count") == 0
    assert number(counted, "steersman_reads_total", "superseded") == 1
    assert number(counted, "steersman_reads_superseded_share") == 1


async def test_a_run_that_ends_by_itself_measures_no_brake_and_its_reads_are_counted_by_their_end(bench, counted):
    _, task = await bench.begins(reads("log", "blocked", "failing"), says("It is the disk."))

    await bench.ended(task)

    assert number(counted, "steersman_stop_to_quiet_seconds_count") == 0
    assert [number(counted, "steersman_reads_total", each) for each in ("ok", "blocked", "failed")] == [1, 1, 1]
    assert number(counted, "steersman_policy_refusals_total", "rule 7") == 1
    assert number(counted, "steersman_reads_superseded_share") == 0


async def test_a_call_that_had_only_just_left_when_the_stop_came_is_already_out(bench, counted):
    claimed, task = await bench.begins(reads("log a"), says("It is the disk."))
    await bench.reached("a")

    await bench.stops(claimed)
    await bench.ended(task)

    assert number(counted, "steersman_requests_already_out_total") == 1


async def test_a_result_that_comes_after_the_stop_is_counted_as_late(bench, desk, counted):
    claimed, task = await bench.begins(reads("stubborn a"), says("It is the disk."))
    await bench.reached("a")
    await bench.stops(claimed)
    await bench.ended(task)

    bench.tool.gates.open("a")

    await bench.until(lambda: number(counted, "steersman_late_results_total") == 1)
    assert await desk.states() == ["stopped"]


async def test_calls_that_a_steer_kept_from_leaving_are_counted_as_prevented(bench, desk, counted):
    claimed, task = await bench.begins(reads("log a", "log b", "log c", "log", "log"), says("It is the disk."))
    for gate in "abc":
        await bench.reached(gate)

    await bench.steers(claimed)
    await bench.ended(task)

    assert await desk.states() == ["steered", "queued"]
    assert number(counted, "steersman_requests_prevented_total") == 2
    assert sorted(bench.tool.begun) == ["log a", "log b", "log c"]
