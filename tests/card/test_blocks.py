"""The JSON of a card: what Slack takes, for any facts at all, and what nobody can break out of."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from slack_sdk.models.blocks import Block, TaskCardBlock

from bot.card.blocks import MOST_TEXT, Painted, blocks, weight
from bot.card.text import units
from bot.card.view import MenuItem, view
from bot.rules.card_facts import CardFacts, StepState
from bot.rules.card_states import CardState
from bot.rules.terms import SettleReason
from tests.card import samples
from tests.card.samples import METRICS, NOW, READING, RUNNING, SAMPLES

BOTH = pytest.mark.parametrize("plan_supported", [True, False])
TWO_HUNDRED = tuple(replace(METRICS, call_id=f"metrics{n:03}", title=f"Read metrics {n}") for n in range(200))


def paint(facts: CardFacts, plan_supported: bool = True) -> Painted:
    return blocks(view(facts, NOW), post_key="key1", plan_supported=plan_supported)


def inside(shown: object) -> Iterator[dict[str, Any]]:
    """Every object of the JSON."""
    if isinstance(shown, dict):
        yield shown
    for inner in shown.values() if isinstance(shown, dict) else shown if isinstance(shown, list | tuple) else ():
        yield from inside(inner)


def texts(painted: Painted, kind: str) -> list[str]:
    return [each["text"] for each in inside(painted.blocks) if each.get("type") == kind]


def block(painted: Painted, name: str) -> dict[str, Any]:
    return next(each for each in painted.blocks if each["block_id"] == f"steersman:{name}")


def names(painted: Painted) -> list[str]:
    return [str(each["block_id"]).removeprefix("steersman:") for each in painted.blocks]


def assert_slack_takes(painted: Painted) -> None:
    """What the SDK's models check, and the limits that they do not know."""
    for each in painted.blocks:
        parsed = Block.parse(each)
        assert parsed is not None
        assert parsed.to_dict() == each
        for task in each.get("tasks", []):
            assert TaskCardBlock(**task).to_dict() == task
            assert task["title"]
    ids = [each["block_id"] for each in painted.blocks]
    assert len(ids) == len(set(ids)) <= 50
    assert {each["type"] for each in painted.blocks} != {"rich_text"}
    shown = [
        text for each in inside(painted.blocks) for key in ("text", "title") if isinstance(text := each.get(key), str)
    ]
    assert all(shown)
    assert sum(map(units, shown)) <= 12_000
    assert weight(painted.blocks) + len(painted.text.encode()) <= MOST_TEXT
    assert units(painted.text) <= 4_000
    json.dumps([painted.blocks, painted.metadata], ensure_ascii=False).encode("utf-8")


@BOTH
@pytest.mark.parametrize("state", list(CardState))
def test_slack_takes_the_card_of_every_state(state, plan_supported):
    painted = paint(SAMPLES[state], plan_supported)

    assert_slack_takes(painted)


@settings(max_examples=60, deadline=None)
@given(samples.facts)
def test_slack_takes_a_card_of_any_facts_at_all(facts):
    for plan_supported in (True, False):
        painted = paint(facts, plan_supported)

        assert_slack_takes(painted)


@settings(max_examples=30, deadline=None)
@given(samples.facts)
def test_equal_facts_give_equal_json(facts):
    first, second = paint(facts), paint(replace(facts))

    assert json.dumps([first.text, first.blocks]) == json.dumps([second.text, second.blocks])


@settings(max_examples=40, deadline=None)
@given(samples.facts)
def test_no_text_of_others_stands_where_slack_reads_markup(facts):
    loud = replace(facts, title="<!channel> *T*", requested_by="<!here>", acted_by="<https://evil.test|ana>")

    for plan_supported in (True, False):
        painted = paint(loud, plan_supported)

        for text in texts(painted, "mrkdwn"):
            assert not {"evil", "here", "channel"} & set(text.replace("<", " ").replace("!", " ").split())
        assert "<!channel" not in painted.text
        assert "<!here" not in painted.text
        assert "<https" not in painted.text


def test_a_running_card_has_its_blocks_in_the_order_of_the_page():
    painted = paint(RUNNING)

    assert names(painted) == ["title", "now", "plan", "ctx", "ctl"]


def test_a_card_that_is_over_has_no_buttons_but_its_menu_and_names_its_calls():
    painted = paint(SAMPLES[CardState.STOPPED])

    assert names(painted) == ["title", "now", "lines", "plan", "ctx", "ctl"]
    assert [each["type"] for each in painted.blocks[-1]["elements"]] == ["overflow"]


def test_the_question_is_bold_and_plain_whatever_markup_it_holds():
    painted = paint(replace(RUNNING, title="<!channel> *why*\n\nslow?"))

    title = block(painted, "title")["elements"][0]["elements"]

    assert title == [
        {"type": "text", "text": "<!channel> *why* slow?", "style": {"bold": True}},
        {"type": "text", "text": " · investigating · step 4"},
    ]


def test_a_long_question_leaves_what_the_run_does_in_sight():
    painted = paint(replace(RUNNING, title="why " * 5_000))

    question, doing = block(painted, "title")["elements"][0]["elements"]

    assert units(question["text"]) <= 200
    assert question["text"].endswith("…")
    assert doing["text"] == " · investigating · step 4"


def test_a_person_is_mentioned_by_id_and_a_name_that_looks_like_markup_is_only_words():
    by_id, by_name = paint(SAMPLES[CardState.STOPPED]), paint(replace(RUNNING, requested_by="<!here> ana"))

    assert {"type": "user", "user_id": "U0ANA"} in list(inside(block(by_id, "title")))
    assert texts(by_id, "mrkdwn")[0].startswith("asked by <@U0ANA> · <!date^1700000000^{time}|22:13 UTC> to ")
    assert texts(by_name, "plain_text")[0] == "asked by <!here> ana"
    assert texts(by_name, "mrkdwn") == [
        "started <!date^1700000000^{time}|22:13 UTC> · 42 s · 1 message waiting · run 9c417f3a"
    ]


def test_the_current_call_stands_outside_the_plan_which_slack_folds():
    now = block(paint(RUNNING), "now")["elements"][0]["elements"]

    assert now == [
        {"type": "text", "text": "Read metrics of the gateway "},
        {"type": "text", "text": "gateway.internal/metrics", "style": {"code": True}},
        {"type": "text", "text": " · 3 s"},
    ]


def test_an_address_is_shown_without_query_and_credentials_and_is_no_link():
    secret = replace(READING, target="https://ana:hunter2@host.test:9090/x|y?token=s3cret#f")

    painted = paint(replace(RUNNING, steps=(secret,)))

    shown = json.dumps([painted.text, painted.blocks])
    assert "https://host.test:9090/x%7Cy" in shown
    assert "hunter2" not in shown
    assert "s3cret" not in shown
    assert not texts(painted, "link")


def test_the_only_live_link_is_the_one_to_the_next_card():
    painted = paint(SAMPLES[CardState.STEERED])

    links = [each for each in inside(painted.blocks) if each.get("type") == "link"]

    assert links == [{"type": "link", "url": "https://home.slack.test/archives/C1/p2", "text": "Continued below."}]


@pytest.mark.parametrize("permalink", [None, "", "javascript:alert(1)", "https://x|y", "https://a b"])
def test_what_is_no_address_becomes_no_link(permalink):
    painted = paint(replace(SAMPLES[CardState.STEERED], next_card_permalink=permalink))

    assert [each for each in inside(painted.blocks) if each.get("type") == "link"] == []


def test_the_plan_keeps_its_block_id_so_that_slack_does_not_fold_it_at_each_paint():
    ids = {paint(facts).blocks[2]["block_id"] for facts in (RUNNING, SAMPLES[CardState.STEER_RECEIVED])}

    assert ids == {"steersman:plan"}


def test_a_step_shows_where_it_went_and_what_came_of_it():
    tasks = block(paint(RUNNING), "plan")["tasks"]

    notes = ["".join(part["text"] for part in inside(task["output"]) if "text" in part) for task in tasks]

    assert [task["status"] for task in tasks] == ["complete", "complete", "error", "in_progress"]
    assert notes == [
        "checkout.internal/metrics · 200 · 812 ms",
        "checkout.internal/logs · 200 · 64 ms",
        "169.254.169.254/latest · blocked: address not allowed",
        "gateway.internal/metrics · 3 s",
    ]


@pytest.mark.parametrize(("number", "tasks", "folded"), [(47, 47, ""), (48, 48, ""), (49, 48, "and 2 earlier calls")])
def test_from_the_49th_call_on_the_oldest_are_folded_into_one_task(number, tasks, folded):
    plan = block(paint(replace(RUNNING, steps=TWO_HUNDRED[:number])), "plan")

    assert len(plan["tasks"]) == tasks
    assert plan["tasks"][-1]["title"] == f"Read metrics {number - 1}"
    assert plan["tasks"][0]["title"] == (folded or "Read metrics 0")


def test_no_call_is_lost_from_the_count_when_the_plan_is_folded():
    plan = block(paint(replace(RUNNING, steps=TWO_HUNDRED)), "plan")

    assert plan["title"] == "200 calls done"
    assert plan["tasks"][0]["title"] == "and 153 earlier calls"
    assert len(plan["tasks"]) - 1 + 153 == 200


def test_long_steps_are_folded_before_the_message_gets_too_long():
    long = tuple(replace(step, title="漢" * 500, target="漢" * 500) for step in TWO_HUNDRED)

    painted = paint(replace(RUNNING, steps=long))

    assert 1 < len(block(painted, "plan")["tasks"]) < 48
    assert_slack_takes(painted)


def test_the_title_of_the_plan_counts_what_is_done_and_not_what_was_blocked():
    plan = block(paint(RUNNING), "plan")

    assert plan["title"] == "2 of 4 calls done"


def test_without_plans_the_newest_steps_are_a_list_with_marks():
    steps = (*TWO_HUNDRED[:9], replace(READING, state=StepState.FAILED, status=503), READING)

    painted = paint(replace(RUNNING, steps=steps), plan_supported=False)

    items = ["".join(part["text"] for part in inside(item) if "text" in part) for item in
             block(painted, "steps")["elements"][0]["elements"]]  # fmt: skip
    assert names(painted) == ["title", "now", "steps", "ctx", "ctl"]
    assert items[0] == "and 4 earlier calls"
    assert items[-3:] == [
        "✓ Read metrics 8 · checkout.internal/metrics · 200 · 812 ms",
        "✗ Read metrics of the gateway · gateway.internal/metrics · failed · 503",
        "… Read metrics of the gateway · gateway.internal/metrics · 3 s",
    ]


@BOTH
def test_a_card_without_calls_has_no_steps_block(plan_supported):
    painted = paint(SAMPLES[CardState.QUEUED], plan_supported)

    assert names(painted) == ["title", "now", "ctx", "ctl"]


def test_the_buttons_are_what_slack_sends_back():
    pause, stop, _ = block(paint(RUNNING), "ctl")["elements"]

    assert (pause["action_id"], pause["value"], "style" in pause) == ("steersman_pause", "v1:9c417f3a", False)
    assert (stop["action_id"], stop["value"], stop["style"]) == ("steersman_stop", "v1:9c417f3a", "danger")
    assert stop["text"] == {"type": "plain_text", "text": "Stop", "emoji": False}


def test_the_menu_stands_behind_the_buttons_and_each_choice_names_the_run():
    menu = block(paint(RUNNING), "ctl")["elements"][-1]

    assert (menu["type"], menu["action_id"]) == ("overflow", "steersman_more")
    assert menu["options"][0] == {
        "text": {"type": "plain_text", "text": "Stop and clear the queue", "emoji": False},
        "value": "clear:v1:9c417f3a",
    }


@pytest.mark.parametrize("menu", [(), (MenuItem("Show", "show:v1:r"),)])
def test_a_card_without_buttons_has_a_menu_only_where_something_stands_in_it(menu):
    seen = replace(view(samples.ended(SettleReason.COMPLETED), NOW), menu=menu)

    painted = blocks(seen, post_key="key1")

    assert ("ctl" in names(painted)) is bool(menu)


@pytest.mark.parametrize("state", list(CardState))
def test_the_state_can_be_read_from_the_posted_message(state):
    painted = paint(SAMPLES[state])

    assert painted.metadata == {
        "event_type": "steersman_card",
        "event_payload": {"post_key": "key1", "state": state.value},
    }


def test_the_notification_says_what_the_card_says_escaped():
    painted = paint(replace(SAMPLES[CardState.STOPPED], title="Why is <checkout> & co slow?"))

    assert painted.text == (
        "Why is &lt;checkout&gt; &amp; co slow? · stopped by <@U0ANA> after 5 steps · Mention me to go on."
    )


def test_all_ways_to_end_leave_a_card_without_a_button_and_without_work_in_progress():
    ends = [samples.ended(reason, subagents=()) for reason in SettleReason if reason not in ("dispatched", "awaiting")]

    painted = [paint(replace(facts, steps=RUNNING.steps)) for facts in ends]

    assert len(painted) == 8
    assert "button" not in {each.get("type") for each in inside([each.blocks for each in painted])}
    assert "in_progress" not in json.dumps([each.blocks for each in painted])
