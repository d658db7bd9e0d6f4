"""The modal in which a step is chosen: what it offers, in which order, and that Slack takes it whatever was found."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.card.back_modal import ACTION_ID, BLOCK_ID, CALLBACK_ID, START, back_modal, option_words
from bot.playground.block_rules import BlockRules
from bot.rules.checkpoints import Checkpoint, FoundCall
from bot.rules.terms import CallOutcome
from tests.card.samples import NASTY, words

READ = FoundCall("Read /metrics of checkout", CallOutcome.OK, 200)


def step(number, *calls, said="I look."):
    """A checkpoint at the end of a step."""
    return Checkpoint(10 * number + 1, number, said, calls or (READ,))


def field_of(view):
    """The field of the modal."""
    (found,) = [block for block in view["blocks"] if block["type"] == "input"]
    return found["element"]


def test_the_steps_are_radio_buttons_newest_first_each_with_what_the_model_said():
    view = back_modal([Checkpoint(1, 0), step(1), step(2)], "why?", "card")

    field = field_of(view)

    assert (field["type"], field["action_id"]) == ("radio_buttons", ACTION_ID)
    assert [option["text"]["text"] for option in field["options"]] == [
        "Step 2 · Read /metrics of checkout · 200", "Step 1 · Read /metrics of checkout · 200", START,
    ]  # fmt: skip
    assert [option["value"] for option in field["options"]] == ["21", "11", "1"]
    assert [option.get("description", {}).get("text") for option in field["options"]] == ["I look.", "I look.", None]


def test_the_modal_names_the_run_and_carries_its_card():
    view = back_modal([Checkpoint(1, 0)], "why is checkout slow?", "card")

    assert (view["callback_id"], view["private_metadata"]) == (CALLBACK_ID, "card")
    assert view["blocks"][0]["text"]["text"] == "why is checkout slow?"
    assert [block.get("block_id") for block in view["blocks"]] == [None, BLOCK_ID, None]


@pytest.mark.parametrize(("number", "kind"), [(10, "radio_buttons"), (11, "static_select")])
def test_more_steps_than_slack_takes_as_radio_buttons_are_a_menu(number, kind):
    field = field_of(back_modal([step(each) for each in range(1, number + 1)], "", "card"))

    assert (field["type"], len(field["options"])) == (kind, number)


def test_of_many_steps_the_newest_hundred_are_offered():
    options = field_of(back_modal([step(each) for each in range(1, 151)], "", "card"))["options"]

    assert (len(options), options[0]["value"], options[-1]["value"]) == (100, "1501", "511")


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        ((READ,), "Step 3 · Read /metrics of checkout · 200"),
        ((READ, READ, READ), "Step 3 · Read /metrics of checkout · 200 · and 2 more"),
        ((FoundCall("Read /log", CallOutcome.TIMED_OUT),), "Step 3 · Read /log · took too long"),
        ((FoundCall("Read /log", CallOutcome.FAILED, 502),), "Step 3 · Read /log · 502"),
        ((FoundCall("Restart", CallOutcome.NOT_STARTED),), "Step 3 · Restart · not started"),
        ((FoundCall("Ask", CallOutcome.OK),), "Step 3 · Ask"),
    ],
)
def test_an_option_says_what_the_step_found(calls, shown):
    assert option_words(step(3, *calls)) == shown


def test_a_run_without_a_title_has_a_modal_all_the_same():
    view = back_modal([Checkpoint(1, 0)], " ", "card")

    assert [block["type"] for block in view["blocks"]] == ["input", "context"]


calls = st.builds(FoundCall, words, st.sampled_from(CallOutcome), st.none() | st.integers(100, 599))
points = st.builds(
    Checkpoint, st.integers(1, 10**9), st.integers(1, 500), words, st.lists(calls, min_size=1, max_size=4).map(tuple)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(points, min_size=1, max_size=12), st.sampled_from(NASTY))
def test_slack_takes_the_modal_whatever_models_and_tools_wrote(found, title):
    view = back_modal(found, title, "card")

    assert BlockRules().first_problem(view["blocks"], most=100) is None
    assert all(0 < len(view[part]["text"]) <= 24 for part in ("title", "submit", "close"))
