"""What a click sends: the element that was pressed, and the choice."""

import pytest

from bot.errors import SlackError
from bot.playground.cast import ANA, EVE, INCIDENTS
from bot.playground.clicks import Pressed, block_actions, find_press, person, view_submission
from tests.playground.samples import actions, button, feedback, option, overflow, section

MENU = actions(overflow("more", option("clear"), option("back")))


def press(*versions, action_id="stop", value=None):
    return find_press([(version,) for version in versions], action_id, value)


def test_a_button_sends_its_value():
    action = press(actions(button("stop", value="v1"))).to_json("1.000001")

    assert action == {
        "type": "button",
        "action_id": "stop",
        "block_id": "",
        "action_ts": "1.000001",
        "text": {"type": "plain_text", "text": "Stop"},
        "value": "v1",
    }


def test_a_button_without_a_value_sends_an_empty_one():
    bare = {key: part for key, part in button("stop").items() if key != "value"}

    action = press(actions(bare)).to_json("1.000001")

    assert action["value"] == ""


@pytest.mark.parametrize(("value", "chosen"), [("back", "back"), (None, "clear")])
def test_a_menu_sends_the_option_that_was_chosen(value, chosen):
    action = press(MENU, action_id="more", value=value).to_json("1.000001")

    assert action["selected_option"]["value"] == chosen
    assert "value" not in action


@pytest.mark.parametrize(("value", "label"), [("+", "Good"), ("-", "Bad")])
def test_a_thumb_sends_its_own_value(value, label):
    action = press(feedback(), action_id="feedback", value=value).to_json("1.000001")

    assert (action["type"], action["value"], action["text"]["text"]) == ("feedback_buttons", value, label)


@pytest.mark.parametrize(
    ("value", "sent"), [(None, "new"), ("old", "old"), ("new", "new"), ("never there", "never there")]
)
def test_the_newest_paint_is_pressed_unless_the_value_names_an_older_one(value, sent):
    newest, older = actions(button("stop", value="new")), actions(button("stop", value="old"))

    action = press(newest, older, value=value).to_json("1.000001")

    assert action["value"] == sent


def test_what_was_never_there_cannot_be_pressed():
    with pytest.raises(SlackError) as refused:
        press(section("words"), MENU)

    assert refused.value.error == "no_such_action"


def test_the_payload_names_the_person_the_place_and_the_installation():
    message = {"ts": "2.000001", "thread_ts": "1.000001", "blocks": []}

    payload = block_actions(Pressed(EVE, INCIDENTS, message), {"action_id": "stop"}, "t1", "r1")

    assert payload["user"] == {"id": "U0EVE", "username": "eve", "name": "eve", "team_id": "T0OTHERCORP"}
    assert (payload["team"]["id"], payload["api_app_id"]) == ("T0PLAYGROUND", "A0STEERSMAN")
    assert payload["channel"] == {"id": "C0INCIDENTS", "name": "incidents"}
    assert payload["container"]["thread_ts"] == "1.000001"
    assert payload["actions"] == [{"action_id": "stop"}]
    assert (payload["trigger_id"], payload["response_url"]) == ("t1", "r1")


def test_a_click_outside_of_a_thread_names_none():
    payload = block_actions(Pressed(ANA, INCIDENTS, {"ts": "2.000001"}, ephemeral=True), {}, "t1", "r1")

    assert "thread_ts" not in payload["container"]
    assert payload["container"]["is_ephemeral"] is True


def test_a_submitted_modal_is_sent_whole():
    payload = view_submission(ANA, "V1", {"callback_id": "back", "private_metadata": "r_42"}, {"why": {}})

    assert payload["view"]["id"] == "V1"
    assert (payload["view"]["callback_id"], payload["view"]["private_metadata"]) == ("back", "r_42")
    assert payload["view"]["state"] == {"values": {"why": {}}}
    assert payload["user"] == person(ANA)
