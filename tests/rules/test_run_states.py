"""A run only moves forward, and a message meets the phase that its thread is in."""

import itertools

import pytest

from bot.rules.run_states import MOVES, UNSETTLED, as_markdown, phase_of
from bot.rules.terms import ParkedFor, Phase, RunState

BY_HAND = {
    "queued": {"running", "parked", "settled"},
    "running": {"cancelling", "parked", "settled"},
    "cancelling": {"settled"},
    "parked": {"running", "queued", "settled"},
    "settled": set(),
}


def test_the_moves_are_those_of_the_design():
    assert {state.value: {to.value for to in moves} for state, moves in MOVES.items()} == BY_HAND


def test_every_state_can_be_settled_and_none_leads_out_of_settled():
    assert all(RunState.SETTLED in MOVES[state] for state in UNSETTLED)
    assert MOVES[RunState.SETTLED] == frozenset()
    assert frozenset(RunState) - {RunState.SETTLED} == UNSETTLED


def test_a_run_that_is_being_cancelled_only_ends():
    assert MOVES[RunState.CANCELLING] == {RunState.SETTLED}


@pytest.mark.parametrize(
    ("state", "parked_for", "phase"),
    [
        (RunState.QUEUED, None, Phase.RUNNING),
        (RunState.RUNNING, None, Phase.RUNNING),
        (RunState.CANCELLING, None, Phase.RUNNING),
        (RunState.PARKED, ParkedFor.PAUSED, Phase.PAUSED),
        (RunState.PARKED, ParkedFor.APPROVAL, Phase.WAITING_APPROVAL),
        (RunState.SETTLED, None, Phase.IDLE),
        (None, None, Phase.IDLE),
    ],
)
def test_a_message_meets_the_phase_of_the_newest_run(state, parked_for, phase):
    assert phase_of(state, parked_for, ever_asked=True) is phase


def test_a_thread_in_which_nobody_ever_asked_is_untouched():
    assert phase_of(None, None, ever_asked=False) is Phase.UNTOUCHED


@pytest.mark.parametrize(("state", "parked_for"), list(itertools.product([None, *RunState], [None, *ParkedFor])))
def test_every_state_has_a_phase(state, parked_for):
    assert phase_of(state, parked_for, ever_asked=True) in set(Phase) - {Phase.UNTOUCHED}


def test_the_table_for_the_documents_has_a_row_for_each_state():
    rows = as_markdown()["run_states"].splitlines()[2:]

    assert [row.split("|")[1].strip() for row in rows] == [state.value for state in RunState]
