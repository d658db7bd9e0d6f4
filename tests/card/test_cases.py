"""Field reports about what people saw, answered by the card."""

import json
from dataclasses import replace

import pytest

from bot.card.blocks import Painted, blocks
from bot.card.spans import plain, target
from bot.card.text import clusters, escape, unescape, units
from bot.card.view import view
from bot.rules.card_facts import StepFacts, StepState
from bot.rules.card_states import CardState
from bot.rules.terms import RunState, SettleReason
from tests.card.field_reports import report
from tests.card.samples import NOW, RUNNING, SAMPLES, SETTLED


def paint(facts) -> Painted:
    return blocks(view(facts, NOW), post_key="key1")


def test_a_late_answer_of_a_stopped_run_is_not_announced():
    stopped = replace(SAMPLES[CardState.STOPPED], answer_permalink="https://home.slack.test/p9")

    shown = json.dumps(paint(stopped).blocks)

    assert "Answer below" not in shown
    assert "p9" not in shown
    assert report("PB-018").model_texts()


def test_text_from_a_tool_and_a_page_rings_nobody():
    case = report("PB-020")
    (log,), (url,) = case.tool_texts(), case.targets()

    painted = paint(replace(RUNNING, title=log, requested_by=log, steps=(StepFacts("c2", log, url, started_at=NOW),)))

    mrkdwn = [each["text"] for each in painted.blocks[3]["elements"] if each["type"] == "mrkdwn"]
    assert "<!channel>" not in "".join(mrkdwn) + painted.text
    assert "<@U0BOB>" not in "".join(mrkdwn) + painted.text
    assert "ERROR &lt;!channel&gt; payment down &lt;@U0BOB&gt; &amp; more" in painted.text


def test_the_target_of_a_call_shows_its_real_host():
    (url,) = report("PB-020").targets()

    assert plain(target(url)) == "https://grafana.example/x%7Csafe.example"


@pytest.mark.parametrize(("offset", "ending"), [(-1, "\U0001f389b…"), (0, "a\U0001f389…"), (1, "a…")])
def test_an_emoji_on_the_limit_does_not_break_the_card(offset, ending):
    (log,) = report("PB-022").tool_texts()
    emoji = log[log.index("\U0001f389")]
    title = "a" * (199 + offset - units(emoji)) + emoji + "b" * 50

    shown = view(replace(RUNNING, title=title), NOW).title

    assert units(shown) <= 200
    assert shown.endswith(ending)
    shown.encode("utf-8")


def test_a_title_that_turns_the_reading_order_or_stacks_marks_is_tamed():
    written = report("PB-022").messages()[-1]

    shown = view(replace(RUNNING, title=written), NOW).title

    assert "\u202e" in written
    assert "\u202e" not in shown
    assert "evil" in shown
    assert "\u05e9\u05dc\u05d5\u05dd" in shown
    assert max(map(len, clusters(shown))) < 12


def test_an_entity_that_a_person_typed_is_shown_as_typed():
    assert "p99 &gt; 2s" in report("PB-023").messages()[-1]
    assert unescape(escape(unescape("&amp;lt;"))) == "&lt;"
    assert paint(replace(RUNNING, title="&lt;")).text.startswith("&amp;lt; · ")


def test_an_empty_end_says_so_and_what_was_found():
    painted = paint(SAMPLES[CardState.NO_ANSWER])

    shown = json.dumps(painted.blocks)
    assert "ended without an answer" in shown
    assert "Finished: " in shown


@pytest.mark.parametrize("reason", [reason for reason in SettleReason if reason not in ("dispatched", "awaiting")])
def test_every_way_a_run_can_end_releases_its_card(reason):
    left = tuple(StepFacts(f"call0000{n}", "Read", state=state) for n, state in enumerate(StepState))

    painted = paint(replace(SETTLED, settle_reason=reason, steps=left, open_calls=3))

    shown = json.dumps(painted.blocks)
    assert "in_progress" not in shown
    assert "pending" not in shown
    assert "steersman_stop" not in shown


def test_a_stop_without_a_worker_shows_the_same_card_as_any_other():
    by_worker, by_anybody = SAMPLES[CardState.STOPPED], replace(SAMPLES[CardState.STOPPED], round=0, steps=())

    assert view(by_worker, NOW).state is view(by_anybody, NOW).state is CardState.STOPPED
    assert paint(by_anybody).text == "Why is checkout slow? · stopped by <@U0ANA> · Mention me to go on."


def test_a_state_that_is_over_can_be_told_from_one_that_is_not_by_reading_the_message():
    late, final = RUNNING, replace(RUNNING, run_state=RunState.SETTLED, settle_reason=SettleReason.COMPLETED)

    read = [paint(facts).metadata["event_payload"]["state"] for facts in (late, final)]

    assert read == ["running", "done"]
