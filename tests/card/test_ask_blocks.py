"""The blocks of a call that waits for a yes: complete and inert, whatever stands in its arguments."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.card.ask_blocks import LONGEST_CHUNK, MOST_ASKS
from bot.card.blocks import MOST_TEXT, Painted, blocks
from bot.card.elements import weight
from bot.card.view import view
from bot.playground.block_rules import BlockRules
from bot.rules.card_facts import ApprovalFacts
from bot.rules.card_states import CardState
from bot.rules.http_actions import HttpAction, Parameter, ParameterType, call_of
from bot.rules.visible import visible
from tests.card.samples import APPROVAL, NOW, SAMPLES
from tests.card.test_blocks import assert_slack_takes, inside

SNAPSHOT = Path(__file__).with_name("golden_hostile.json")
HOSTILE = {
    "note": "<!channel> <@U0BEN> <!subteam^S0ONCALL> &lt;!here&gt; *bold* _it_ ~gone~ `code` ```fence```",
    "link": "<https://evil.test|runbook> https://evil.test/x mailto:a@evil.test [text](https://evil.test)",
    "order": "che\u202ekcuo\u202c \u2066x\u2069 \u200f\u05e9\u05dc\u05d5\u05dd",
    "control": "a\x00b\x1b[31mred\x1b[0m\rc\nPOST https://deploy.internal/other\tend\x7f\x85",
    "unseen": "che\u200bck\u00adout\ufeff \u3164\u2800x\ufe0f" + "e" + "\u0301" * 12,
    "wide": "\U0001f468\u200d\U0001f469 \u4f60\u597d \u00df",
}
ACTION = HttpAction(
    name="restart_service",
    description="Restarts a service.",
    method="POST",
    url="https://deploy.internal/services/restart?note={note}",
    title="restart {order}",
    parameters=tuple(Parameter(name, ParameterType.STRING) for name in HOSTILE),
    body=json.dumps({name: f"{{{name}}}" for name in HOSTILE}),
)


def painted(*approvals: ApprovalFacts) -> Painted:
    return blocks(view(replace(SAMPLES[CardState.WANTS_APPROVAL], approvals=approvals), NOW), post_key="key1")


def shown_in(card: Painted, number: int = 1) -> str:
    """All preformatted text of one call, put together."""
    found = next(each for each in card.blocks if each["block_id"] == f"steersman:ask{number}")
    return "".join(
        part["text"]
        for element in found["elements"]
        if element["type"] == "rich_text_preformatted"
        for part in element["elements"]
    )


def names(card: Painted) -> list[str]:
    return [str(each["block_id"]).removeprefix("steersman:") for each in card.blocks]


def asking(shown: str, **more: object) -> ApprovalFacts:
    return replace(APPROVAL, shown=shown, **more)


def test_a_call_that_waits_stands_with_its_buttons_right_below_what_goes_on():
    card = painted(APPROVAL)

    assert names(card) == ["title", "now", "ask1", "ask1-who", "ask1-ctl", "plan", "ctx", "ctl"]


def test_who_may_approve_is_named_and_the_time_is_slacks_own():
    card = painted(APPROVAL)

    who = next(each for each in card.blocks if each["block_id"] == "steersman:ask1-who")

    assert [each["text"] for each in who["elements"]] == [
        "may approve: <@U0BEN>, <!subteam^S0ONCALL> · until <!date^1700001742^{time}|22:42 UTC> · 1 of 2 yes: <@U0BEN>"
    ]


def test_the_buttons_carry_the_run_and_the_approval():
    card = painted(APPROVAL)

    row = next(each for each in card.blocks if each["block_id"] == "steersman:ask1-ctl")

    assert [(each["action_id"], each["value"], each.get("style")) for each in row["elements"]] == [
        ("steersman_approve", "v1:9c417f3a:apr-2", "primary"),
        ("steersman_deny", "v1:9c417f3a:apr-2", None),
    ]


def test_hostile_arguments_are_inert_and_complete_as_they_were_looked_at():
    call = call_of(ACTION, HOSTILE)
    card = painted(asking(call.shown, title=call.title))
    shown = json.dumps(card.blocks[:5], ensure_ascii=False, indent=1) + "\n"

    looked_at = SNAPSHOT.read_text("utf-8")

    assert shown == looked_at
    assert shown_in(card) == call.shown


def test_every_hostile_argument_can_be_read_back_from_the_card():
    card = painted(asking(call_of(ACTION, HOSTILE).shown))

    lines = dict(line.split(" = ", 1) for line in shown_in(card).splitlines() if " = " in line)

    read = {name: json.loads(lines[name]) for name in HOSTILE if name not in {"wide", "unseen"}}
    assert read == {name: value for name, value in HOSTILE.items() if name in read}


def test_nothing_of_a_hostile_call_stands_where_slack_reads_markup():
    call = call_of(ACTION, HOSTILE)

    card = painted(asking(call.shown, title=call.title))

    kinds = {each.get("type") for each in inside(card.blocks)} & {"link", "broadcast", "channel", "emoji"}
    read = [each["text"] for each in inside(card.blocks) if each.get("type") == "mrkdwn"] + [card.text]
    assert kinds == set()
    assert not any(word in text for text in read for word in ("evil", "<!channel", "bold", "runbook"))
    assert_slack_takes(card)


@pytest.mark.parametrize("shown", ["x" * 6_000, "\u6f22" * 2_000, "line\n" * 1_200, "\U0001f468\u200d\U0001f469" * 350])
def test_a_long_call_is_cut_into_pieces_and_none_of_it_is_lost(shown):
    card = painted(asking(shown))

    pieces = [
        each["elements"][0]["text"] for each in inside(card.blocks) if each.get("type") == "rich_text_preformatted"
    ]
    assert "".join(pieces) == visible(shown)
    assert len(pieces) > 1
    assert all(len(piece.encode()) <= LONGEST_CHUNK for piece in pieces)
    assert BlockRules().first_problem(card.blocks) is None


def test_what_is_too_large_to_be_shown_cannot_be_approved():
    card = painted(asking("x" * 12_000))

    assert names(card) == ["title", "now", "more", "plan", "ctx", "ctl"]
    assert "steersman_approve" not in json.dumps(card.blocks)
    assert "too large to be shown in full, so it cannot be approved" in json.dumps(card.blocks)


def test_as_many_calls_are_shown_as_fit_in_order_and_the_others_are_counted():
    many = [asking(f"{number} " + "x" * 2_400, id=f"apr{number}") for number in range(6)]

    card = painted(*many)

    whole = [shown_in(card, number)[0] for number in range(1, 4)]
    assert whole == ["0", "1", "2"]
    assert names(card)[-4:] == ["more", "plan", "ctx", "ctl"]
    assert "3 more calls wait for a yes, shown here when these are decided" in json.dumps(card.blocks)
    assert_slack_takes(card)


def test_small_calls_are_shown_up_to_the_most_that_a_message_has_blocks_for():
    many = [asking("GET https://a.test", id=f"apr{number}", approvers=("U0BEN",)) for number in range(20)]

    card = painted(*many)

    assert sum(name.endswith("-ctl") for name in names(card)) == MOST_ASKS
    assert "10 more calls wait for a yes" in json.dumps(card.blocks)
    assert_slack_takes(card)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=3_000), min_size=1, max_size=4))
def test_a_call_with_buttons_is_always_whole(texts):
    card = painted(*(asking(text or "x", id=f"apr{number}") for number, text in enumerate(texts)))

    for number, text in enumerate(texts, 1):
        if f"ask{number}-ctl" in names(card):
            assert shown_in(card, number) == visible(text or "x")
    assert weight(card.blocks) <= MOST_TEXT
    assert_slack_takes(card)
