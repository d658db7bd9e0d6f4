"""Nobody who presses or writes a word is left without an answer, be it in words or on the card."""

import pytest

from bot.rules.command_words import DECISION_WORDS, WORDS, Decided, Result

SHOWN_BY_THE_CARD = {
    Result.STOPPED, Result.STOPPING, Result.PAUSED, Result.PAUSING, Result.RESUMED, Result.TAKEN_BACK,
    Result.TAKING_BACK,
}  # fmt: skip


def test_every_result_has_words_or_is_shown_by_the_card():
    assert set(WORDS) == set(Result)
    assert {result for result, words in WORDS.items() if words is None} == SHOWN_BY_THE_CARD


@pytest.mark.parametrize("words", [words for words in WORDS.values() if words])
def test_what_is_said_is_whole_sentences_for_people(words):
    assert words[0].isupper()
    assert words.endswith(".")
    assert "run_id" not in words


def test_no_two_results_are_said_in_the_same_words():
    said = [words for words in WORDS.values() if words]

    assert len(said) == len(set(said))


@pytest.mark.parametrize(
    ("result", "way_out"),
    [
        (Result.ALREADY_PAUSED, "Press Resume"),
        (Result.STALE, "Use the newest card"),
        (Result.NEWER_REQUEST, "press Stop on the card"),
        (Result.STOP_IS_AT_WORK, "once the card says that it has stopped"),
        (Result.NO_SUCH_STEP, "choose another"),
        (Result.SET_ASIDE, "Open the menu again"),
    ],
)
def test_who_was_in_vain_is_told_what_would_work(result, way_out):
    assert way_out in WORDS[result]


def test_every_decision_has_words_or_is_shown_by_the_card_and_no_two_the_same():
    said = [words for words in DECISION_WORDS.values() if words]

    assert set(DECISION_WORDS) == set(Decided)
    assert {decided for decided, words in DECISION_WORDS.items() if words is None} == {
        Decided.APPROVED,
        Decided.DENIED,
    }
    assert len(said) == len(set(said))
    assert all(words.endswith(".") and words[0].isupper() for words in said)
