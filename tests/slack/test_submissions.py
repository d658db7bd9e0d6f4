"""A submitted modal is read into a choice, or into nothing; no payload whatever makes it raise."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.card.back_modal import ACTION_ID, BLOCK_ID, CALLBACK_ID
from bot.rules.inbound_message import AuthorFacts, GoBack, Nothing
from bot.slack.inbound import parse_action
from bot.slack.submissions import card_of, parse_go_back
from tests.slack.test_inbound_presses import CARD, ROOT, press

PRESS = parse_action(press("back:v1:7f3a"))


def submitted(value="41", **more):
    """A submission of our modal; `more` replaces parts of its view."""
    chosen = {"type": "radio_buttons", "selected_option": {"value": value}}
    view = {
        "id": "V01",
        "callback_id": CALLBACK_ID,
        "private_metadata": card_of(PRESS),
        "state": {"values": {BLOCK_ID: {ACTION_ID: chosen}}},
    } | more
    return {"type": "view_submission", "user": {"id": "U0ANA", "team_id": "T0HOME"}, "view": view}


def test_a_choice_names_the_run_the_point_the_card_and_the_person():
    assert parse_go_back(submitted()) == GoBack(
        run_id="7f3a",
        checkpoint=41,
        channel_id="C0INC",
        message_ts=CARD,
        thread_ts=ROOT,
        user_id="U0ANA",
        user_team_id="T0HOME",
        dedupe_key="v:V01:41:U0ANA",
    )
    assert parse_go_back(submitted()).author == AuthorFacts("U0ANA", team_id="T0HOME")


@pytest.mark.parametrize("value", ["", "-1", "4.5", "none", "9" * 19, "41; drop", None, 41])
def test_what_is_no_number_of_an_event_is_no_choice(value):
    assert isinstance(parse_go_back(submitted(value)), Nothing)


@pytest.mark.parametrize(
    "more",
    [
        {"callback_id": "another"},
        {"private_metadata": ""},
        {"private_metadata": "[" * 10_000},
        {"private_metadata": json.dumps({"run": "a b", "channel": "C1", "ts": CARD, "thread": ROOT})},
        {"private_metadata": json.dumps({"run": "7f3a", "channel": "C1", "ts": "now", "thread": ROOT})},
        {"private_metadata": json.dumps(["7f3a"])},
        {"state": {}},
        {"id": None},
    ],
)
def test_a_modal_that_is_not_of_our_making_is_nothing(more):
    assert isinstance(parse_go_back(submitted(**more)), Nothing)


def test_a_press_and_a_submission_of_nobody_are_nothing():
    nobody = submitted() | {"user": {}}

    assert isinstance(parse_go_back(press("back:v1:7f3a")), Nothing)
    assert isinstance(parse_go_back(nobody), Nothing)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
views = st.dictionaries(st.sampled_from(["id", "callback_id", "private_metadata", "state"]), anything)


@settings(max_examples=200)
@given(views, anything, anything)
def test_no_payload_makes_it_raise(view, user, body):
    whole = submitted(**view) | {"user": user}

    assert isinstance(parse_go_back(whole), GoBack | Nothing)
    assert isinstance(parse_go_back(body), GoBack | Nothing)
