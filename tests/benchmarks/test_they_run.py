"""Every benchmark runs, at its smallest: what it finds here is worth nothing, that it finds it is."""

import pytest

from benchmarks import ack, cost, interrupts

pytestmark = pytest.mark.timeout(300)


async def test_the_acknowledgements_of_both_contenders_are_measured(place):
    found = await ack.measure(place, ack.Size(rate=5, gestures=8, rounds=1))

    events = found["events"]["all"]
    assert events["steersman_ms"]["n"] == events["bare_ms"]["n"] >= 8
    assert events["times"]["p50"] > 0
    assert found["an_event"]["bare_cpu_ms"] > 0


async def test_the_cost_of_a_run_and_of_its_rounds_is_measured(place):
    found = await cost.measure(place, cost.Size(rounds=1, runs=1, lengths=(10,), stretch=2, idle_s=0.2))

    (a_round,) = found["round"]
    assert found["run"]["steersman_cpu_ms"]["p50"] > found["run"]["bare_cpu_ms"]["p50"] > 0
    # A message, a start and an answer for each of three calls, and a look at the cut point.
    assert a_round["transactions"] == 8
    assert a_round["statements"] > 8
    assert a_round["bytes"] > 1000


async def test_a_stop_is_followed_from_its_commit_to_the_last_request(place):
    found = await interrupts.measure(place, interrupts.Size(trials=4, at_once=4, life_s=1.0))

    assert found["stops"] == 4
    assert found["with_a_brake"] + found["before_a_worker"] + found["after_the_end"] == 4
    assert found["commit_to_brake_ms"]["n"] == found["with_a_brake"] > 0
    assert found["runs_with_a_late_request"] == 0
