"""What a run did, as a modal: true to each call, within Slack's limits, and nothing in it is read as markup."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.card.what_it_did import MOST_BYTES, TITLE, modal
from bot.playground.block_rules import BlockRules
from bot.rules.card_facts import StepState
from bot.rules.deeds import Deed, Deeds
from bot.rules.terms import Grade

NOON = 1_796_126_400.0
READ = Deed(NOON, 1, "Read /metrics of checkout", "checkout:8080/metrics", StepState.OK, method="GET", status=200,
            elapsed_ms=812, requests=1)  # fmt: skip
RUN = Deeds("run-7", "why is checkout slow?", "U0ANA", 1, (READ,))
HOSTILE = "<!channel> <@U0BEN> *bold* <https://evil.example|click> `code` @here\u202e\x00\ud800"


def of(*deeds, calls=None):
    return modal(replace(RUN, deeds=deeds, calls=calls if calls is not None else len(deeds)))


def lines(view):
    """The lines of the calls as a person reads them."""
    sections = [part for block in view["blocks"] if block["type"] == "rich_text" for part in block["elements"]]
    return [
        "".join(str(e.get("text") or e.get("fallback") or e.get("user_id")) for e in s["elements"]) for s in sections
    ]


def kinds(value):
    if isinstance(value, dict):
        yield value.get("type")
        for each in value.values():
            yield from kinds(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from kinds(each)


def test_a_call_is_told_with_its_time_step_target_status_and_duration():
    head, asked, first, second = lines(modal(RUN))

    assert (head, asked) == ("why is checkout slow?", "Asked by U0ANA · 1 call")
    assert first == "12:00 UTC · step 1 · Read /metrics of checkout"
    assert second == "GET checkout:8080/metrics · HTTP 200 · 812 ms · done"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": StepState.BLOCKED, "blocked_by": "egress.no_rule"}, "blocked by egress.no_rule"),
        ({"state": StepState.BLOCKED}, "blocked"),
        ({"state": StepState.CANCELLED, "interrupted": True}, "dropped"),
        ({"state": StepState.NOT_STARTED, "interrupted": True}, "not started"),
        ({"state": StepState.OK, "interrupted": True}, "done · interrupted"),
        ({"state": StepState.UNKNOWN}, "may have happened, check before retrying"),
        ({"state": StepState.RUNNING, "elapsed_ms": None}, "under way"),
        ({"state": StepState.WAITING}, "waiting its turn"),
        ({"approved_by": "U0BEN"}, "approved by U0BEN"),
        ({"requests": 3}, "3 requests"),
    ],
)
def test_what_became_of_a_call_is_said_in_words(changes, words):
    (*_, second) = lines(of(replace(READ, **changes)))

    assert words in second


def test_a_write_says_that_it_changes_something():
    assert "changes something" in lines(of(replace(READ, grade=Grade.WRITE)))[2]


@pytest.mark.parametrize("state", list(StepState))
def test_every_state_of_a_call_has_words(state):
    (*_, second) = lines(of(replace(READ, state=state, status=None, elapsed_ms=None, method=None, target="")))

    assert second


def test_a_run_without_calls_says_so():
    assert lines(of())[-1] == "Asked by U0ANA · It has made no call yet"


def test_of_a_long_run_the_newest_calls_are_shown_and_how_to_have_the_others():
    many = [replace(READ, title=f"Call {n}") for n in range(1, 301)]

    view = of(*many[100:], calls=300)

    titles = [line for line in lines(view) if "Call" in line]
    (left_out,) = [block for block in view["blocks"] if block["type"] == "context"]
    said = left_out["elements"][0]["text"]
    assert titles[-1].endswith("Call 300")
    assert said == f"{300 - len(titles)} earlier calls not shown. All of them: steersman audit export --run run-7"
    assert len(view["blocks"]) <= 100


def test_nothing_of_others_stands_where_slack_reads_markup():
    view = of(replace(READ, title=HOSTILE, target=HOSTILE, blocked_by=HOSTILE, approved_by=HOSTILE, method=HOSTILE))

    found = set(kinds(modal(replace(RUN, title=HOSTILE, requested_by=HOSTILE)))) | set(kinds(view))

    assert found.isdisjoint({"mrkdwn", "link", "broadcast", "usergroup"})
    assert "\u202e" not in json.dumps(view, ensure_ascii=False)


@given(
    st.lists(st.tuples(st.text(max_size=400), st.text(max_size=400), st.sampled_from(StepState)), max_size=120),
    st.text(max_size=300),
)
def test_slack_takes_whatever_a_run_did(calls, text):
    deeds = [replace(READ, title=title, target=target, state=state, blocked_by=text) for title, target, state in calls]

    view = of(*deeds, calls=len(deeds) + 5)

    assert BlockRules().first_problem(view["blocks"], most=100) is None
    assert 0 < len(view["title"]["text"]) <= 24
    assert view["title"]["text"] == TITLE
    assert len(json.dumps(view)) < MOST_BYTES + 5_000
