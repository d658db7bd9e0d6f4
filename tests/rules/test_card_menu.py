"""What the menu of a card offers; which states offer what is written out here a second time, by hand."""

import pytest

from bot.rules.card_menu import MENU_LABELS, MENUS, NEEDS_STEPS, OFFERED, MenuChoice, as_markdown, choices, value_of
from bot.rules.card_states import CARD_STATES, CardState

UNSETTLED = {
    CardState.QUEUED, CardState.RUNNING, CardState.STEER_RECEIVED, CardState.PAUSING, CardState.PAUSED,
    CardState.WANTS_APPROVAL, CardState.STOPPING,
}  # fmt: skip


def test_every_state_has_its_menu_and_every_choice_its_label():
    assert list(MENUS) == list(CardState)
    assert list(MENU_LABELS) == list(MenuChoice)


def test_the_queue_can_be_cleared_as_long_as_the_run_is_not_settled():
    assert {state for state in CardState if MenuChoice.CLEAR in MENUS[state]} == UNSETTLED


def test_what_it_did_can_be_shown_in_every_state():
    assert all(MenuChoice.SHOW in menu for menu in MENUS.values())


def test_nothing_is_taken_back_that_is_being_stopped():
    assert [state for state in CardState if MenuChoice.BACK not in MENUS[state]] == [CardState.STOPPING]


@pytest.mark.parametrize("state", list(CardState))
def test_nothing_is_offered_that_nobody_carries_out(state):
    assert OFFERED.issuperset(choices(state, has_steps=True))


@pytest.mark.parametrize("state", list(CardState))
def test_a_run_without_a_step_offers_no_step_to_go_back_to_and_none_to_show(state):
    assert NEEDS_STEPS.isdisjoint(choices(state, has_steps=False))


def test_a_choice_names_itself_and_the_run():
    assert value_of(MenuChoice.CLEAR, "9c417f3a") == "clear:v1:9c417f3a"


def test_the_page_shows_what_is_offered():
    head, _, *rows = as_markdown()["card_menus"].splitlines()

    assert head == "| state | menu |"
    assert len(rows) == len(CARD_STATES)
    assert rows[0].startswith("| queued | Stop and clear the queue")
