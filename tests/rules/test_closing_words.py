"""What the model is told of a call without an answer is true, and never says more than anybody knows."""

import itertools

import pytest

from bot.rules.closing_words import WHY, closing
from bot.rules.terms import CallOutcome, Grade, InterruptKind

EVERY = list(itertools.product(Grade, (False, True), (None, *InterruptKind)))


@pytest.mark.parametrize(("grade", "started", "by"), EVERY)
def test_every_call_has_an_answer_that_says_why(grade, started, by):
    answer = closing(grade, started=started, by=by)

    says_why = WHY[by] in answer.text or answer.outcome is CallOutcome.SUPERSEDED
    assert says_why
    assert answer.text.strip()


@pytest.mark.parametrize(("grade", "by"), list(itertools.product(Grade, (None, *InterruptKind))))
def test_a_call_that_never_started_says_just_that(grade, by):
    answer = closing(grade, started=False, by=by)

    assert answer.outcome is CallOutcome.NOT_STARTED
    assert answer.text.startswith("not started: ")


@pytest.mark.parametrize("by", [None, *InterruptKind])
def test_a_write_that_had_started_is_unknown_and_asks_to_look_first(by):
    answer = closing(Grade.WRITE, started=True, by=by)

    assert answer.outcome is CallOutcome.UNKNOWN
    assert answer.text.startswith("outcome unknown: ")
    assert "check what happened before trying again" in answer.text


@pytest.mark.parametrize("by", [each for each in (None, *InterruptKind) if each is not InterruptKind.STEER])
def test_a_read_that_had_started_is_cancelled(by):
    answer = closing(Grade.READ, started=True, by=by)

    assert answer.outcome is CallOutcome.CANCELLED
    assert answer.text == f"cancelled: {WHY[by]}; no result"


def test_a_read_that_a_message_overtook_says_so():
    answer = closing(Grade.READ, started=True, by=InterruptKind.STEER)

    assert (answer.outcome, answer.text) == (
        CallOutcome.SUPERSEDED,
        "cancelled: superseded by a message; no result",
    )


def test_every_interrupt_has_its_own_words():
    assert set(WHY) == {None, *InterruptKind}
    assert len(set(WHY.values())) == len(WHY)
