"""The calls of a run in words."""

from dataclasses import replace

import pytest

from bot.card import spans
from bot.card.steps import (
    LISTED,
    MOST_NAMED,
    MOST_UNCERTAIN,
    STEP_WORDS,
    StepStatus,
    call_name,
    listing_lines,
    state_shown,
    step_views,
)
from bot.rules.card_facts import StepFacts, StepState
from bot.rules.card_states import Listing
from bot.rules.terms import CallOutcome, Grade, RunState
from tests.card.samples import METRICS, NOW, READING, RUNNING, SETTLED, WRITING


def note(step: StepFacts) -> str:
    (shown,) = step_views(replace(RUNNING, steps=(step,)), NOW)
    return spans.plain(shown.note)


def listed(*steps: StepFacts) -> list[str]:
    return [spans.plain(line) for line in listing_lines(replace(SETTLED, steps=steps), Listing)]


def test_every_way_a_call_can_end_has_words_for_its_step():
    assert set(STEP_WORDS) == set(StepState)
    assert {outcome.value for outcome in CallOutcome} < {state.value for state in StepState}


@pytest.mark.parametrize(
    ("state", "status", "words"),
    [
        (StepState.WAITING, StepStatus.PENDING, "checkout-7 · waiting its turn"),
        (StepState.RUNNING, StepStatus.IN_PROGRESS, "checkout-7 · 2 s"),
        (StepState.OK, StepStatus.COMPLETE, "checkout-7"),
        (StepState.FAILED, StepStatus.ERROR, "checkout-7 · failed"),
        (StepState.BLOCKED, StepStatus.ERROR, "checkout-7 · blocked"),
        (StepState.TIMED_OUT, StepStatus.ERROR, "checkout-7 · took too long"),
        (StepState.CANCELLED, StepStatus.ERROR, "checkout-7 · dropped"),
        (StepState.SUPERSEDED, StepStatus.ERROR, "checkout-7 · dropped for a newer message"),
        (StepState.NOT_STARTED, StepStatus.ERROR, "checkout-7 · not started"),
        (StepState.UNKNOWN, StepStatus.ERROR, "checkout-7 · may have happened, check before retrying"),
    ],
)
def test_a_step_says_how_far_it_has_come(state, status, words):
    step = replace(WRITING, state=state)

    (shown,) = step_views(replace(RUNNING, steps=(step,)), NOW)

    assert (shown.status, spans.plain(shown.note)) == (status, words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "checkout.internal/metrics · 200 · 812 ms"),
        ({"state": StepState.FAILED, "status": 503}, "checkout.internal/metrics · failed · 503 · 812 ms"),
        ({"status": None, "elapsed_ms": None}, "checkout.internal/metrics"),
        ({"state": StepState.BLOCKED, "status": None, "elapsed_ms": None, "blocked_by": "egress.scheme"},
         "checkout.internal/metrics · blocked: egress.scheme (a URL that is neither https nor http)"),
        ({"state": StepState.BLOCKED, "status": None, "elapsed_ms": None, "blocked_by": "method not allowed"},
         "checkout.internal/metrics · blocked: method not allowed"),
        ({"target": ""}, "200 · 812 ms"),
        ({"state": StepState.RUNNING, "started_at": None, "status": None, "elapsed_ms": None},
         "checkout.internal/metrics"),
    ],
)  # fmt: skip
def test_a_step_says_where_it_went_and_what_came_of_it(changes, words):
    assert note(replace(METRICS, **changes)) == words


@pytest.mark.parametrize("state", list(StepState))
@pytest.mark.parametrize("grade", list(Grade))
def test_after_the_end_what_was_at_work_is_dropped_or_uncertain_and_the_rest_stays(state, grade):
    shown = state_shown(replace(WRITING, state=state, grade=grade), RunState.SETTLED)

    expected = {
        StepState.WAITING: StepState.NOT_STARTED,
        StepState.RUNNING: StepState.CANCELLED if grade is Grade.READ else StepState.UNKNOWN,
    }
    assert shown is expected.get(state, state)


@pytest.mark.parametrize("run_state", sorted(set(RunState) - {RunState.SETTLED}))
@pytest.mark.parametrize("state", list(StepState))
def test_before_the_end_a_step_is_shown_as_it_is(run_state, state):
    assert state_shown(replace(READING, state=state), run_state) is state


def test_a_call_without_a_title_still_has_a_step():
    (shown,) = step_views(replace(RUNNING, steps=(replace(METRICS, title="\u200b"),)), NOW)

    assert shown.title == "A call"


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (METRICS, "Read metrics of checkout"),
        (WRITING, "Restart a service (checkout-7)"),
        (replace(WRITING, title="Restart checkout-7"), "Restart checkout-7"),
        (replace(WRITING, target=""), "Restart a service"),
        (replace(WRITING, title=""), "a call (checkout-7)"),
        (
            replace(WRITING, target="https://u:p@host.test/restart?key=1"),
            "Restart a service (https://host.test/restart)",
        ),
    ],
)
def test_a_write_is_named_with_its_target_because_somebody_has_to_look_there(step, name):
    assert call_name(step) == name


def test_calls_of_one_name_are_named_once_with_how_often():
    assert listed(METRICS, METRICS, METRICS) == ["Finished: Read metrics of checkout (3 times)"]


def test_of_many_calls_the_first_are_named_and_the_rest_counted():
    many = [replace(METRICS, title=f"call {n}") for n in range(MOST_NAMED + 3)]

    assert listed(*many) == ["Finished: call 0, call 1, call 2, call 3, call 4, call 5 and 3 more"]


def test_more_uncertain_calls_are_named_than_others_and_the_warning_is_never_cut_off():
    many = [replace(WRITING, title=f"Restart {n}", target="", state=StepState.UNKNOWN) for n in range(30)]

    (line,) = listed(*many)

    assert "Restart 19" in line
    assert line.endswith("and 10 more may have happened, check before retrying")
    assert MOST_UNCERTAIN == 20


def test_very_long_names_leave_room_for_the_warning():
    many = [replace(WRITING, title=f"{n} " + "x" * 500, state=StepState.UNKNOWN) for n in range(30)]

    (line,) = listed(*many)

    assert len(line) < 600
    assert line.endswith("may have happened, check before retrying")


def test_the_lines_stand_in_the_order_of_the_page_and_empty_ones_are_left_out():
    steps = [replace(WRITING, target="", title=state.value, state=state) for state in StepState]

    assert [line.split(":")[0] for line in listed(*steps)] == ["Finished", "Not started", "Dropped", "Uncertain"]
    assert listed() == []


def test_no_call_stands_in_two_lines():
    states = [state for listed_states in LISTED.values() for state in listed_states]

    assert len(states) == len(set(states))
