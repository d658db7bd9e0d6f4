"""The explicit-state model of the design (tests/model): when a rule changes, the model changes first, and is run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = Path(__file__).parent / "model"
SECONDS = "90"


def explore(scenario, *left_out):
    """Explore a scenario of the model; returns whether it was explored to its end, and how many rules were broken."""
    done = subprocess.run(
        [sys.executable, "scenarios.py", scenario, SECONDS, *left_out],
        cwd=MODEL,
        capture_output=True,
        text=True,
        check=True,
        timeout=110,
    )
    found = re.search(r"'complete': (True|False)\} violations (\d+)", done.stdout)
    assert found, done.stdout + done.stderr
    return found[1] == "True", int(found[2])


def test_no_order_of_events_in_two_rounds_with_a_crash_breaks_a_rule_of_the_design():
    is_complete, violations = explore("G")

    assert (is_complete, violations) == (True, 0)


def test_the_model_finds_the_hole_when_a_sentence_of_the_design_is_left_out():
    _, violations = explore("G", "UNSTARTED")

    assert violations > 0


def test_no_order_of_rollbacks_stops_messages_and_pauses_with_a_crash_breaks_a_rule_of_the_design():
    is_complete, violations = explore("R")

    assert (is_complete, violations) == (True, 0)


@pytest.mark.parametrize("sentence", ["RBQUEUED", "RBCKPT"])
def test_the_model_finds_the_hole_when_a_sentence_on_rollback_is_left_out(sentence):
    _, violations = explore("R", sentence)

    assert violations > 0
