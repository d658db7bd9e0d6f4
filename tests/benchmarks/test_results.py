"""The page of measurements says what the results say, and nothing else."""

import json

import pytest

from benchmarks import ack, cost, interrupts, results
from benchmarks.figures import spread

MS = spread([1.0, 2.0, 3.0])
BESIDE = {"steersman_ms": MS, "bare_ms": MS, "times": {"p50": 1.0, "p95": 1.0}}


def brake_row(driver, cpu, steer):
    """A row as the brake benchmark keeps it."""
    spent = {f"{name}_{share}_ms": 2.0 for name in ("quiet", "settle") for share in ("p50", "p95")}
    kept = {"kept_tools": 7, "completed_tools": 7, "next_ok": 2, "trials": 2, "status": {"stopped": 2}}
    ghosts = {"issued_mean": 0.0, "issued_max": 0}
    named = {"driver": driver, "tool": "async", "store": "pg", "zero": {"cpu_mean": cpu}}
    return {**named, **spent, **kept, **ghosts, "steer_native": steer or None, "steer_rerun": None}


MEASURED = {
    "ack": {"events": {"all": BESIDE}, "an_event": {"steersman_cpu_ms": 2.5, "bare_cpu_ms": 1.25}},
    "cost": {
        "run": {"steersman_cpu_ms": MS, "bare_cpu_ms": MS, "times": 4.5, "idle_cpu_ms_a_second": 20.0},
        "round": [{"history": 97, "statements": 60.0, "transactions": 8.0, "bytes": 12345.0, "cpu_ms": 30.0}],
    },
    "interrupts": {
        "stops": 200, "with_a_brake": 180, "before_a_worker": 15, "after_the_end": 5,
        "commit_to_brake_ms": MS, "brake_to_last_request_ms": MS, "runs_with_a_late_request": 0,
    },
    "brake": {"rows": [brake_row("floor", 35.0, {}), brake_row("ours", 95.5, {"p50_ms": 20.4, "p95_ms": 41.0})]},
}  # fmt: skip


def test_the_tables_on_the_page_are_those_of_the_results():
    page = results.PAGE.read_text(encoding="utf-8")

    written = results.page(page)

    assert written == page, "run `python -m benchmarks --table`"


@pytest.mark.parametrize("name", results.NAMES)
def test_a_result_that_is_not_there_is_said_to_be_missing(name, tmp_path):
    page = results.page(f"<!-- table: {name} -->\n<!-- end -->\n", tmp_path)

    assert results.NOT_YET in page


@pytest.mark.parametrize("name", results.NAMES)
def test_a_result_stands_in_its_table_with_the_load_of_the_machine(name, tmp_path):
    result = results.told(results.machine(), ack.Size(), MEASURED[name])
    results.write(name, result, tmp_path)

    page = results.page(f"<!-- table: {name} -->\n<!-- end -->\n", tmp_path)

    assert f"load {result['machine']['load_before']} before" in page
    assert "| 2" in page or "| 97 | 60 | 8 | 12,345 | 30 |" in page


def test_the_table_of_brakes_shows_what_a_run_costs_above_the_bare_loop():
    table = results.table("brake", results.told(results.machine(), ack.Size(), MEASURED["brake"]))

    assert "| floor | memory | 2 | 0.00 (at most 0) | 2 / 2 | 2 / 2 | 2/2 | 2/2 | 7/7 | - | 0 |" in table
    assert "| ours | pg | 2 | 0.00 (at most 0) | 2 / 2 | 2 / 2 | 2/2 | 2/2 | 7/7 | 20 / 41 | 60 |" in table


def test_a_result_says_how_much_was_done(tmp_path):
    results.write("cost", results.told(results.machine(), cost.Size(runs=7), MEASURED["cost"]), tmp_path)

    kept = json.loads((tmp_path / "cost.json").read_text(encoding="utf-8"))

    assert kept["size"]["runs"] == 7
    assert kept["measured"]["run"]["times"] == 4.5


def test_the_moments_of_the_stops_are_spread_over_the_life_of_a_run_and_the_same_every_time():
    size = interrupts.Size(trials=50, life_s=5.0)

    planned = interrupts.trials(size)

    tenths = sorted(int(each.moment_s * 10) for each in planned)
    assert tenths == list(range(50))
    assert planned == interrupts.trials(size)


def test_the_load_of_a_round_is_the_same_every_time_and_begins_with_a_question():
    size = ack.Size(gestures=200)

    planned = ack.gestures(size, 3)

    assert planned == ack.gestures(size, 3)
    assert planned != ack.gestures(size, 4)
    assert planned[0].kind == "mention"
    assert {each.kind for each in planned} == set(ack.KINDS)
