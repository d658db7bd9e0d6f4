"""Which state a card is in; the table is written out here a second time, by hand."""

import itertools

import pytest

from bot.rules.card_states import (
    CARD_STATES,
    HOLES,
    LABELS,
    TAKEN_BACK_AFTERWARDS,
    Action,
    CardState,
    Listing,
    as_markdown,
    state_of,
)
from bot.rules.terms import InterruptKind, ParkedFor, RunState, SettleReason
from bot.rules.wording import holes

SETTLED = {
    SettleReason.COMPLETED: CardState.DONE,
    SettleReason.EMPTY: CardState.NO_ANSWER,
    SettleReason.FAILED: CardState.FAILED,
    SettleReason.TIMED_OUT: CardState.FAILED,
    SettleReason.ABANDONED: CardState.FAILED,
    SettleReason.STEERED: CardState.STEERED,
    SettleReason.STOPPED: CardState.STOPPED,
    SettleReason.ROLLED_BACK: CardState.ROLLED_BACK,
    SettleReason.DISPATCHED: CardState.SUBAGENTS_OUT,
    SettleReason.AWAITING: CardState.SUBAGENTS_OUT,
}
ALL_PENDING = [
    frozenset(some) for size in range(len(InterruptKind) + 1) for some in itertools.combinations(InterruptKind, size)
]
WITHOUT_BUTTONS = {
    CardState.STOPPING, CardState.STOPPED, CardState.STEERED, CardState.ROLLED_BACK, CardState.DONE,
    CardState.NO_ANSWER, CardState.FAILED,
}  # fmt: skip


def test_every_state_has_its_words():
    assert list(CARD_STATES) == list(CardState)
    assert all(row.badge for row in CARD_STATES.values())


def test_every_combination_has_a_state_and_every_state_is_reached():
    found = {
        state_of(*each) for each in itertools.product(RunState, [None, *ParkedFor], [None, *SettleReason], ALL_PENDING)
    }

    assert found == set(CardState)


@pytest.mark.parametrize("reason", list(SettleReason))
@pytest.mark.parametrize("pending", [frozenset(), frozenset(InterruptKind)])
def test_a_settled_run_shows_its_reason_whatever_is_still_pending(reason, pending):
    assert state_of(RunState.SETTLED, None, reason, pending) is SETTLED[reason]


def test_a_settled_run_without_a_reason_is_not_shown_as_going_on():
    assert CARD_STATES[state_of(RunState.SETTLED, None, None)].is_over


@pytest.mark.parametrize("pending", ALL_PENDING)
def test_of_a_running_run_the_first_in_the_order_is_shown(pending):
    state = state_of(RunState.RUNNING, None, None, pending)

    if pending & {InterruptKind.STOP, InterruptKind.ROLLBACK}:
        assert state is CardState.STOPPING
    elif InterruptKind.PAUSE in pending:
        assert state is CardState.PAUSING
    elif InterruptKind.STEER in pending:
        assert state is CardState.STEER_RECEIVED
    else:
        assert state is CardState.RUNNING


@pytest.mark.parametrize("pending", ALL_PENDING)
@pytest.mark.parametrize(
    ("run_state", "parked_for", "at_rest"),
    [
        (RunState.QUEUED, None, CardState.QUEUED),
        (RunState.PARKED, ParkedFor.PAUSED, CardState.PAUSED),
        (RunState.PARKED, None, CardState.PAUSED),
        (RunState.PARKED, ParkedFor.APPROVAL, CardState.WANTS_APPROVAL),
    ],
)
def test_a_run_that_nobody_works_on_shows_only_that_it_is_being_ended(run_state, parked_for, at_rest, pending):
    state = state_of(run_state, parked_for, None, pending)

    is_ending = bool(pending & {InterruptKind.STOP, InterruptKind.ROLLBACK})
    assert state is (CardState.STOPPING if is_ending else at_rest)


@pytest.mark.parametrize("pending", ALL_PENDING)
def test_a_run_that_is_being_cancelled_is_stopping_whatever_else_is_asked(pending):
    assert state_of(RunState.CANCELLING, None, None, pending) is CardState.STOPPING


@pytest.mark.parametrize("state", list(CardState))
def test_a_card_can_be_stopped_until_it_is_stopping_or_over(state):
    row = CARD_STATES[state]

    assert (Action.STOP in row.buttons) is (state not in WITHOUT_BUTTONS)
    assert not (row.is_over and row.buttons)


def test_pause_is_offered_to_a_running_run_and_resume_to_a_paused_one_only():
    offered = {action: [state for state in CardState if action in CARD_STATES[state].buttons] for action in Action}

    assert offered[Action.PAUSE] == [CardState.RUNNING]
    assert offered[Action.RESUME] == [CardState.PAUSED]


@pytest.mark.parametrize("state", list(CardState))
def test_what_may_have_happened_is_told_in_every_state(state):
    assert Listing.UNCERTAIN in CARD_STATES[state].lists


def test_every_hole_of_a_sentence_is_explained_and_no_other_word():
    sentences = [TAKEN_BACK_AFTERWARDS, *(each for row in CARD_STATES.values() for each in (row.badge, row.line))]

    used = frozenset().union(*map(holes, sentences))

    assert used == set(HOLES)


@pytest.mark.parametrize("word", ["fence", "cut", "settle", "ledger", "lease", "claim", "brake", "interrupt", "parked"])
def test_no_word_of_ours_reaches_people(word):
    sentences = " ".join(f"{row.badge} {row.line}" for row in CARD_STATES.values()) + " ".join(HOLES.values())

    assert word not in sentences.lower().split()


def test_the_page_shows_every_state_with_its_title_line_and_buttons():
    head, _, *rows = as_markdown()["card_states"].splitlines()

    assert head == "| state | title | line | buttons |"
    assert len(rows) == len(CardState)
    assert "| queued | waiting for {turn} | [{place}.][ {held}.] | Stop |" in rows
    assert "| steered | steered[ by {who}] | {continued} | - |" in rows


def test_the_page_explains_every_hole():
    rows = as_markdown()["card_holes"].splitlines()[2:]

    assert [row.split(" | ")[0].strip("|{} ") for row in rows] == sorted(HOLES)


def test_every_button_has_a_label_and_an_action_id_of_ours():
    assert set(LABELS) == set(Action)
    assert all(action.value == f"steersman_{LABELS[action].lower()}" for action in Action)
