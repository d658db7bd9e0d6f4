"""Slack's limits of blocks, and its word for each."""

import pytest
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

from bot.playground.block_rules import BLOCKS, BlockRules, text_length
from tests.playground.samples import (
    CARD,
    actions,
    button,
    context,
    feedback,
    field,
    mrkdwn,
    plain,
    plan,
    rich,
    section,
    task,
    text,
)

RULES = BlockRules()


def error(*blocks, rules=RULES):
    problem = rules.first_problem(list(blocks))
    return problem.error if problem else None


def test_a_running_card_is_accepted():
    blocks = CARD

    found = error(*blocks)

    assert found is None


@pytest.mark.parametrize(
    "block",
    [
        section("x" * 3_000),
        {"type": "section", "fields": [mrkdwn("a"), plain("b")]},
        section("a", accessory=button("more")),
        {"type": "header", "text": plain("x" * 150)},
        context(*["a"] * 10),
        actions(*[button(f"b{number}") for number in range(25)]),
        {"type": "divider"},
        {"type": "image", "image_url": "https://x.example/a.png", "alt_text": "a graph"},
        {"type": "markdown", "text": "x" * 12_000},
        rich(text("a", code=True), {"type": "user", "user_id": "U0ANA"}),
        plan(task("a"), task("b", "pending")),
        plan(),
        task("a", "error", details=rich(text("a")), sources=[{"type": "url", "url": "https://x.example", "text": "x"}]),
        feedback(),
        {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]]},
        field("why", "reason"),
    ],
)
def test_a_block_within_its_limits_is_accepted(block):
    found = error(block)

    assert found is None


@pytest.mark.parametrize(
    "block",
    [
        section("x" * 3_001),
        section(""),
        {"type": "section"},
        {"type": "section", "fields": [mrkdwn("x" * 2_001)]},
        {"type": "section", "fields": [mrkdwn("x")] * 11},
        {"type": "section", "text": "words"},
        section("a", accessory={"type": "datepicker"}),
        {"type": "header", "text": plain("x" * 151)},
        {"type": "header", "text": mrkdwn("*a*")},
        context(*["a"] * 11),
        context(""),
        {"type": "context", "elements": []},
        actions(*[button(f"b{number}") for number in range(26)]),
        actions(button("same"), button("same")),
        actions(),
        actions({"type": "feedback_buttons"}),
        {"type": "image", "image_url": "https://x.example/a.png"},
        {"type": "markdown", "text": "x" * 12_001},
        {"type": "markdown", "text": ""},
        {"type": "rich_text"},
        rich(text("")),
        rich(text("a", blinking=True)),
        rich({"type": "mrkdwn", "text": "a"}),
        {"type": "rich_text", "elements": [text("outside of a section")]},
        {"type": "rich_text", "elements": [{"type": "rich_text_list", "elements": []}]},
        plan(task("a"), task("a")),
        plan(task("a", "completed")),
        plan(task("a", "cancelled")),
        plan(task("a", output={"type": "rich_text_section", "elements": []})),
        plan(task("a", sources=[{"url": "https://x.example"}])),
        {"type": "plan", "tasks": [task("a")]},
        plan({"type": "task_card", "title": "no id"}),
        {"type": "context_actions", "elements": [button("stop")]},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}] * 21]},
        {"type": "carousel"},
        {"text": "no type"},
        section("a", block_id="x" * 256),
    ],
)
def test_a_block_beyond_its_limits_is_refused(block):
    found = error(block)

    assert found == "invalid_blocks"


def test_fifty_blocks_are_the_most():
    blocks = [section("a") for _ in range(51)]

    fifty, one_more = error(*blocks[:50]), error(*blocks)

    assert (fifty, one_more) == (None, "invalid_blocks")


def test_a_modal_may_have_a_hundred():
    blocks = [section("a") for _ in range(100)]

    found = RULES.first_problem(blocks, most=100)

    assert found is None


def test_all_text_together_has_a_limit_of_its_own():
    blocks = [section("x" * 3_000) for _ in range(4)]

    under, over = error(*blocks, section("x" * 1_200)), error(*blocks, section("x" * 1_201))

    assert (under, over) == (None, "msg_blocks_too_long")


def test_all_markdown_together_is_counted_too():
    halves = [{"type": "markdown", "text": "x" * 6_001}] * 2

    found = error(*halves)

    assert found == "msg_blocks_too_long"


def test_a_plan_and_a_task_card_do_not_go_together():
    blocks = [plan(task("a")), task("b")]

    found = error(*blocks)

    assert found == "invalid_blocks"


def test_two_blocks_may_not_have_the_same_id():
    blocks = [section("a", block_id="same"), section("b", block_id="same")]

    found = error(*blocks)

    assert found == "invalid_blocks"


@pytest.mark.parametrize("block", [plan(task("a")), task("a")])
def test_a_workspace_without_plans_refuses_them(block):
    old = BlockRules(plan_supported=False)

    found = error(block, rules=old)

    assert found == "invalid_blocks"
    assert error(section("a"), rules=old) is None


def test_the_problem_says_where_it_is():
    blocks = [section("a"), actions(button("a", "x" * 76))]

    problem = RULES.first_problem(blocks)

    assert str(problem) == "must be 1 to 75 characters, is 76 [json-pointer:/blocks/1/elements/0/text/text]"


def test_text_is_counted_in_every_depth():
    blocks = [section("12345"), plan(task("a", output=rich(text("123"))))]

    found = text_length(blocks)

    assert found == len("12345") + len("Steps") + len("Read a") + len("123")


@pytest.mark.parametrize(
    "block", [block for block in CARD if block["type"] in BLOCKS] + [feedback(), {"type": "header", "text": plain("a")}]
)
def test_the_models_of_the_sdk_accept_what_is_accepted(block):
    parsed = Block.parse(block)

    again = parsed.to_dict()

    assert again["type"] == block["type"]
    assert error(block) is None


@pytest.mark.parametrize(
    "block",
    [
        section("x" * 3_001),
        {"type": "header", "text": plain("x" * 151)},
        context(*["a"] * 11),
        actions(*[button(f"b{number}") for number in range(26)]),
        {"type": "markdown", "text": "x" * 12_001},
    ],
)
def test_the_models_of_the_sdk_refuse_what_is_refused(block):
    parsed = Block.parse(block)

    with pytest.raises(SlackObjectFormationError):
        parsed.to_dict()

    assert error(block) == "invalid_blocks"
