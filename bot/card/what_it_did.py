"""What a run did, as a modal: a line or two a call, newest last.

Pure and deterministic. Owns the limits of a modal, and keeps them by leaving out the oldest calls and saying how many.
Text of others stands in rich text and plain text only, where Slack reads no markup.
"""

import json

from bot.card import spans
from bot.card.elements import Json, rich
from bot.card.spans import Line
from bot.card.steps import LONGEST_STEP, STEP_WORDS
from bot.card.text import clip, count, label, took
from bot.rules.card_facts import StepState
from bot.rules.deeds import Deed, Deeds
from bot.rules.terms import Grade

TITLE = "What it did"
MOST_CALLS = 96
"""Slack takes 100 blocks a view; the others say what this is and what is left out."""
MOST_BYTES = 100_000
"""Of the view's JSON. Slack takes 250,000 (its page of views.open); what people still scroll through is less."""
LONGEST_HEAD = 200
LONGEST_RULE = 80
LONGEST_METHOD = 10


def modal(deeds: Deeds) -> Json:
    """The view for views.open."""
    calls: list[Json] = []
    room = MOST_BYTES
    for deed in reversed(deeds.deeds[-MOST_CALLS:]):
        (block,) = rich(f"call{len(calls)}", [_first_line(deed), _second_line(deed)])
        room -= len(json.dumps(block))
        if room < 0:
            break
        calls.insert(0, block)
    return {
        "type": "modal",
        "title": _plain(TITLE),
        "close": _plain("Close"),
        "blocks": [*_head(deeds), *_left_out(deeds, deeds.calls - len(calls)), *calls],
    }


def _head(deeds: Deeds) -> list[Json]:
    asked = (*spans.own("Asked by "), *spans.person(deeds.requested_by)) if deeds.requested_by else ()
    small = spans.join([asked, spans.own(count(deeds.calls, "call") if deeds.calls else "It has made no call yet")])
    title = label(deeds.title, LONGEST_HEAD)
    return rich("head", [spans.strong(title) if title else (), small])


def _left_out(deeds: Deeds, number: int) -> list[Json]:
    """What is not shown, and how to have it."""
    if number <= 0:
        return []
    words = f"{count(number, 'earlier call')} not shown. All of them: steersman audit export --run {deeds.run_id}"
    return [{"type": "context", "block_id": "steersman:more", "elements": [_plain(words)]}]


def _first_line(deed: Deed) -> Line:
    return spans.join([
        spans.time(deed.at),
        spans.own(f"step {deed.step}") if deed.step > 0 else (),
        spans.strong(label(deed.title, LONGEST_STEP) or "A call"),
        spans.own("changes something") if deed.grade is Grade.WRITE else (),
    ])


def _second_line(deed: Deed) -> Line:
    return spans.join([
        spans.join([spans.foreign(deed.method or "", LONGEST_METHOD), spans.target(deed.target)], " "),
        spans.own(f"HTTP {deed.status}") if deed.status is not None else (),
        spans.own(took(deed.elapsed_ms)) if deed.elapsed_ms is not None else (),
        spans.own(count(deed.requests, "request")) if deed.requests > 1 else (),
        _outcome(deed),
        spans.own("interrupted") if deed.interrupted and deed.state in _SAYS_NOTHING_OF_IT else (),
        (*spans.own("approved by "), *spans.person(deed.approved_by)) if deed.approved_by else (),
    ])


_SAYS_NOTHING_OF_IT = frozenset({StepState.OK, StepState.FAILED, StepState.BLOCKED, StepState.TIMED_OUT})


def _outcome(deed: Deed) -> Line:
    if deed.state is StepState.BLOCKED and deed.blocked_by:
        return (*spans.own("blocked by "), *spans.foreign(deed.blocked_by, LONGEST_RULE))
    if deed.state is StepState.RUNNING:
        return spans.own("under way")
    return spans.own("done" if deed.state is StepState.OK else STEP_WORDS[deed.state][1])


def _plain(text: str) -> Json:
    return {"type": "plain_text", "text": clip(text, 2_000), "emoji": False}
