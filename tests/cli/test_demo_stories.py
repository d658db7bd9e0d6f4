"""The demo's judge, on its own: what counts as a card, what counts as told, and what a line says."""

from dataclasses import replace

import pytest

from bot.cli.demo_stories import STORIES, Line, are_as_they_should_be
from bot.cli.demo_watch import CardSeen, card_of
from bot.playground.workspace import Message
from bot.rules.terms import RunState, SettleReason
from storage.outcomes import RunOutcome


def line(story: str, reason: SettleReason, state: str) -> Line:
    final = 7 if reason is SettleReason.COMPLETED else None
    run = RunOutcome("r1", RunState.SETTLED, "card:r1", reason, final)
    return Line(story, run, CardSeen("1.0", "card:r1", state, {}), history_valid=True)


def told() -> list[Line]:
    """The lines of a demo in which everything went as it should."""
    return [line(story, *end) for story, (_, ends) in STORIES.items() for end in ends]


FAULTS = {
    "a story is missing": lambda lines: lines[:-1],
    "a run more than there should be": lambda lines: [*lines, lines[-1]],
    "another reason": lambda lines: [
        replace(lines[0], run=replace(lines[0].run, reason=SettleReason.FAILED, final_event_id=None)), *lines[1:]
    ],
    "a card that still says running": lambda lines: [
        replace(lines[0], card=replace(lines[0].card, state="running")), *lines[1:]
    ],
    "no card": lambda lines: [replace(lines[0], card=None), *lines[1:]],
    "a history that is refused": lambda lines: [*lines[:-1], replace(lines[-1], history_valid=False)],
    "a completed run without a final event": lambda lines: [
        replace(lines[0], run=replace(lines[0].run, final_event_id=None)), *lines[1:]
    ],
    "a steered run with a final event": lambda lines: [
        *lines[:1], replace(lines[1], run=replace(lines[1].run, final_event_id=3)), *lines[2:]
    ],
}  # fmt: skip


def test_a_demo_in_which_everything_went_well_is_as_it_should_be():
    lines = told()

    verdict = are_as_they_should_be(lines)

    assert verdict


@pytest.mark.parametrize("fault", FAULTS)
def test_a_demo_with_a_fault_is_not_as_it_should_be(fault):
    lines = FAULTS[fault](told())

    verdict = are_as_they_should_be(lines)

    assert not verdict


def test_a_line_says_the_run_and_its_card_and_nothing_else():
    shown = replace(told()[0], card=CardSeen("1.0", "card:r1", "paused", {"Resume": "a", "Stop": "b"})).to_json()

    assert shown == {
        "story": "completed",
        "run_id": "r1",
        "reason": "completed",
        "final_event_id": 7,
        "card": {"state": "paused", "buttons": ["Resume", "Stop"]},
        "history_valid": True,
    }


def test_a_card_is_read_from_the_message_that_the_playground_holds():
    button = {"type": "button", "action_id": "steersman_stop", "text": {"type": "plain_text", "text": "Stop"}}
    blocks = ({"type": "context", "elements": [button]}, {"type": "actions", "elements": [button]})
    metadata = {"event_type": "steersman_card", "event_payload": {"post_key": "card:1", "state": "running"}}

    card = card_of(Message("C1", "1.0", "UBOT", "text", blocks, metadata=metadata))

    assert card == CardSeen("1.0", "card:1", "running", {"Stop": "steersman_stop"})


@pytest.mark.parametrize("metadata", [None, {}, {"event_type": "steersman_post", "event_payload": {"post_key": "a"}}])
def test_a_message_that_is_no_card_is_none(metadata):
    message = Message("C1", "1.0", "UBOT", "an answer", metadata=metadata)

    assert card_of(message) is None
