"""Presses of buttons, and what Slack says of a person."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.rules.inbound_message import AuthorFacts, Nothing, OurIds, Press
from bot.rules.terms import PersonClass
from bot.slack.inbound import parse_action, person_class

OURS = OurIds(team_id="T0HOME", bot_user_id="U0SELF", bot_id="B0SELF", app_id="A0SELF")
ROOT, CARD = "1790000000.000100", "1790000050.001700"


def press(value="v1:7f3a:p1", **more):
    action = {"type": "button", "action_id": "stop", "value": value, "action_ts": "1790000080.000400"}
    return {
        "type": "block_actions",
        "user": {"id": "U0ANA", "team_id": "T0HOME"},
        "team": {"id": "T0HOME"},
        "container": {"type": "message", "message_ts": CARD, "channel_id": "C0INC", "thread_ts": ROOT},
        "response_url": "https://hooks.slack.com/actions/x",
        "trigger_id": "1.2.t",
        "actions": [action],
    } | more


def test_a_press_names_the_run_and_what_the_button_was_painted_for():
    assert parse_action(press()) == Press(
        team_id="T0HOME",
        action_id="stop",
        run_id="7f3a",
        ref="p1",
        channel_id="C0INC",
        message_ts=CARD,
        thread_ts=ROOT,
        user_id="U0ANA",
        user_team_id="T0HOME",
        action_ts="1790000080.000400",
        response_url="https://hooks.slack.com/actions/x",
        dedupe_key=f"a:{CARD}:stop:1790000080.000400:U0ANA",
        trigger_id="1.2.t",
    )
    assert parse_action(press()).author == AuthorFacts("U0ANA", team_id="T0HOME")


def test_a_choice_from_a_menu_is_a_press():
    chosen = {"action_id": "more", "selected_option": {"value": "back:v1:7f3a:s4"}, "action_ts": "1790000080.000400"}

    found = parse_action(press(actions=[chosen]))

    assert (found.action_id, found.choice, found.run_id, found.ref) == ("more", "back", "7f3a", "s4")


def test_a_button_is_no_choice_and_both_say_what_opens_a_modal():
    button, choice = parse_action(press()), parse_action(press("show:v1:7f3a"))

    assert (button.choice, choice.choice) == (None, "show")
    assert (button.trigger_id, choice.trigger_id) == ("1.2.t", "1.2.t")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "7f3a",
        "v2:7f3a",
        "v1:",
        "v1:a:b:c",
        "v1:a b",
        "v1:7f3a\n",
        "v1:a:",
        "clear:7f3a",
        ":v1:7f3a",
        "Clear:v1:7f3a",
        "a:b:v1:7f3a",
        None,
        7,
    ],
)
def test_a_value_that_is_not_ours_is_nothing(value):
    assert isinstance(parse_action(press(value)), Nothing)


@pytest.mark.parametrize("missing", [{"user": {}}, {"container": {}}, {"actions": []}, {"type": "view_submission"}])
def test_a_press_that_is_not_whole_is_nothing(missing):
    assert isinstance(parse_action(press(**missing)), Nothing)


def test_the_run_alone_is_enough_and_a_strange_address_is_left_out():
    found = parse_action(press("v1:7f3a", response_url="file:///etc/passwd"))

    assert (found.run_id, found.ref, found.response_url) == ("7f3a", None, None)


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"team_id": "T0HOME"}, PersonClass.MEMBER),
        ({"team_id": "T0HOME", "is_restricted": True}, PersonClass.GUEST),
        ({"team_id": "T0HOME", "is_ultra_restricted": True}, PersonClass.GUEST),
        ({"team_id": "T0HOME", "is_stranger": True}, PersonClass.EXTERNAL),
        ({"team_id": "T9", "is_restricted": True}, PersonClass.EXTERNAL),
        ({}, PersonClass.UNKNOWN),
        (None, PersonClass.UNKNOWN),
    ],
)
def test_what_slack_says_of_a_person_gives_their_class(user, expected):
    assert person_class(user, OURS) is expected


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(json_values, st.dictionaries(st.sampled_from([*press(), "team_id", "is_stranger"]), json_values))
def test_whatever_json_comes_it_is_a_press_or_nothing(anything, fields):
    for payload in (anything, fields, {**press(), **fields}, press(actions=[fields])):
        assert isinstance(parse_action(payload), Press | Nothing)
        assert person_class(payload, OURS) in PersonClass


@given(st.text())
def test_a_value_is_ours_or_nothing_never_half_of_one(value):
    found = parse_action(press(value))

    assert isinstance(found, Nothing) or value.removeprefix(f"{found.choice}:") in {
        f"v1:{found.run_id}", f"v1:{found.run_id}:{found.ref}",
    }  # fmt: skip
