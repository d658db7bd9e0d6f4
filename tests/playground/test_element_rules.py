"""Slack's limits of buttons, menus and confirmations."""

import pytest

from bot.playground.element_rules import ACCESSORIES, CONTEXT_ACTIONS, INPUTS, INTERACTIVE, check_element
from tests.playground.samples import button, confirm, feedback, mrkdwn, option, overflow, plain


def problems(element, kinds=INTERACTIVE):
    return list(check_element(element, "/e", kinds))


@pytest.mark.parametrize(
    "element",
    [
        button("a", "x" * 75, value="x" * 2_000),
        button("a", style="primary"),
        button("a", url="https://x.example"),
        button("a", confirm=confirm(style="danger")),
        button("a", confirm=confirm(text=mrkdwn("*bold*"))),
        button("x" * 255),
        overflow("a", *[option(str(number)) for number in range(5)]),
        overflow("a", option("one")),
        {"type": "static_select", "action_id": "a", "options": [option(str(number)) for number in range(100)]},
        {"type": "radio_buttons", "action_id": "a", "options": [option("one")]},
    ],
)
def test_an_element_within_its_limits_is_accepted(element):
    found = problems(element)

    assert found == []


@pytest.mark.parametrize(
    ("element", "at"),
    [
        (button("a", "x" * 76), "/e/text/text"),
        (button("a", ""), "/e/text/text"),
        (button("a", text=mrkdwn("Stop")), "/e/text"),
        (button("a", value="x" * 2_001), "/e/value"),
        (button("a", value=7), "/e/value"),
        (button("a", style="green"), "/e/style"),
        (button("a", accessibility_label="x" * 76), "/e/accessibility_label"),
        (button("x" * 256), "/e/action_id"),
        (button("a", confirm=confirm(title=plain("x" * 101))), "/e/confirm/title/text"),
        (button("a", confirm=confirm(text=plain("x" * 301))), "/e/confirm/text/text"),
        (button("a", confirm=confirm(confirm=plain("x" * 31))), "/e/confirm/confirm/text"),
        (button("a", confirm=confirm(deny=plain(""))), "/e/confirm/deny/text"),
        (button("a", confirm=confirm(style="loud")), "/e/confirm/style"),
        (overflow("a", *[option(str(number)) for number in range(6)]), "/e/options"),
        (overflow("a"), "/e/options"),
        (overflow("a", option("x" * 151, "long")), "/e/options/0/value"),
        (overflow("a", option("v", "x" * 76)), "/e/options/0/text/text"),
        ({"type": "checkboxes", "action_id": "a"}, "/e/type"),
    ],
)
def test_an_element_beyond_its_limits_is_refused(element, at):
    found = problems(element)

    assert [problem.at for problem in found][:1] == [at]
    assert found[0].error == "invalid_blocks"


def test_an_overflow_menu_may_stand_beside_a_section():
    menu = overflow("a", option("one"))

    found = problems(menu, ACCESSORIES)

    assert found == []


def test_a_pair_of_thumbs_needs_both():
    (pair,) = feedback()["elements"]
    lame = {**pair, "negative_button": {}}

    accepted, refused = problems(pair, CONTEXT_ACTIONS), problems(lame, CONTEXT_ACTIONS)

    assert accepted == []
    assert {problem.at for problem in refused} == {"/e/negative_button/text", "/e/negative_button/value"}


def test_an_icon_button_shows_a_known_icon():
    trash = {"type": "icon_button", "action_id": "a", "icon": "trash", "text": plain("Delete")}

    accepted, refused = problems(trash, CONTEXT_ACTIONS), problems({**trash, "icon": "bin"}, CONTEXT_ACTIONS)

    assert accepted == []
    assert [problem.at for problem in refused] == ["/e/icon"]


def test_a_field_may_not_be_filled_with_more_than_it_holds():
    wide = {"type": "plain_text_input", "action_id": "a", "initial_value": "x" * 3_001}

    found = problems(wide, INPUTS)

    assert [problem.at for problem in found] == ["/e/initial_value"]
