"""Why a run failed, in words; the sentences are written out here a second time, by hand."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.rules.failure_words import FAILURE_WORDS, LONGEST, SAYS_WHY, ending_words, failure_words
from bot.rules.terms import FailureClass, SettleReason

KEY = "ANTHROPIC_API_KEY"
LOG = "Whoever runs Steersman: look for this run in the log."

# class, status, what is said
SAID = [
    (FailureClass.MODEL_AUTH, 401, f"The model service refused our key (401). Whoever runs Steersman: check {KEY}."),
    (
        FailureClass.MODEL_NOT_FOUND,
        404,
        "The model service does not know this model or address (404). "
        "Whoever runs Steersman: check STEERSMAN_MODEL and the address of the service.",
    ),
    (
        FailureClass.MODEL_REQUEST,
        400,
        f"The model service refused what we sent (400). Asking again will not help. {LOG}",
    ),
    (
        FailureClass.MODEL_RATE_LIMITED,
        429,
        "The model service asks us to slow down (429). Ask again in a few minutes. "
        f"If it goes on, whoever runs Steersman: raise the limits of the key in {KEY}.",
    ),
    (
        FailureClass.MODEL_OVERLOADED,
        529,
        "The model service is overloaded or down (529). Ask again in a few minutes.",
    ),
    (
        FailureClass.MODEL_UNREACHABLE,
        None,
        "The model service could not be reached. Ask again in a few minutes. "
        "If it goes on, whoever runs Steersman: check the network and the model's address.",
    ),
    (FailureClass.MODEL_STREAM, None, "The model's message broke off before its end. Ask again."),
    (
        FailureClass.MODEL_UNKNOWN,
        418,
        f"The model service failed in a way we do not know (418). Ask again. {LOG}",
    ),
    (
        FailureClass.MODEL_LIMIT,
        None,
        "The model's message was longer than it may be and was cut off. Ask for less at once. "
        "Whoever runs Steersman: raise answer_tokens under limits in the settings file.",
    ),
    (
        FailureClass.HISTORY,
        None,
        f"What was said in this thread could not be sent to the model. Ask again in a new thread. {LOG}",
    ),
    (
        FailureClass.BUDGET,
        None,
        "This analysis has used up what it may use. Ask a narrower question. "
        "Whoever runs Steersman: raise rounds, run_tokens or run_cost_usd under limits in the settings file.",
    ),
    (FailureClass.INTERNAL, None, f"Something went wrong inside Steersman. Ask again. {LOG}"),
]

TRACEBACK = 'Traceback (most recent call last):\n  File "bot/llm/x.py", line 3, in f\nValueError: no'


def test_every_class_of_failure_has_words():
    assert [failure for failure, *_ in SAID] == list(FailureClass) == list(FAILURE_WORDS)


@pytest.mark.parametrize(("failure", "status", "words"), SAID)
def test_a_failure_says_what_happened_and_who_does_what(failure, status, words):
    assert failure_words(failure, status=status, setting=KEY) == words


@pytest.mark.parametrize("failure", list(FailureClass))
def test_what_is_not_known_leaves_a_whole_sentence(failure):
    words = failure_words(failure)

    assert re.fullmatch(r"(?:[A-Z][^.\[\]{}()]+\.(?: |$))+", words)


@pytest.mark.parametrize("failure", list(FailureClass))
def test_every_failure_names_somebody_who_can_do_something(failure):
    words = failure_words(failure, status=500, setting=KEY).lower()

    assert "ask " in words or "whoever runs steersman" in words


@settings(deadline=None)
@given(st.sampled_from(FailureClass), st.integers(100, 599), st.text(max_size=40), st.text(max_size=900))
def test_no_failure_is_told_at_length(failure, status, setting, detail):
    words = failure_words(failure, status=status, setting=setting, detail=detail)

    assert 0 < len(words) <= LONGEST
    assert "\n" not in words.replace(setting, "")


@pytest.mark.parametrize("failure", list(FailureClass))
@pytest.mark.parametrize("detail", [TRACEBACK, "ModelAuthError: no", "bot.errors.ModelError: no", "  at f (x.js:1)"])
def test_no_class_name_and_no_traceback_reaches_people(failure, detail):
    words = failure_words(failure, detail=detail)

    assert not re.search(r"Error|Traceback|File |x\.js|bot\.", words)


@pytest.mark.parametrize("failure", sorted(SAYS_WHY))
def test_what_the_other_side_said_is_quoted_where_it_helps(failure):
    words = failure_words(failure, detail="ModelError: no such model: m-9\nsecond line")

    assert words.endswith('It said: "no such model: m-9"')


@pytest.mark.parametrize("failure", sorted(set(FailureClass) - SAYS_WHY))
def test_what_the_other_side_said_is_left_out_where_the_words_say_it_all(failure):
    assert failure_words(failure, detail="no such model") == failure_words(failure)


def test_a_long_quotation_ends_with_a_whole_word():
    words = failure_words(FailureClass.BUDGET, detail="many words " * 100)

    assert len(words) > LONGEST - 20
    assert re.search(r' It said: "(?:many words )*(?:many|many words)"$', words)


def test_a_quotation_without_a_space_to_cut_at_is_left_out():
    assert failure_words(FailureClass.BUDGET, detail="x" * 900) == failure_words(FailureClass.BUDGET)


@pytest.mark.parametrize("reason", list(SettleReason))
def test_only_runs_that_ran_out_of_time_or_workers_have_words_of_their_own(reason):
    words = ending_words(reason, was_paused=False)

    assert bool(words) is (reason in (SettleReason.TIMED_OUT, SettleReason.ABANDONED))


def test_a_pause_that_nobody_ended_is_told_from_a_run_that_took_too_long():
    paused, slow = (ending_words(SettleReason.TIMED_OUT, was_paused=was_paused) for was_paused in (True, False))

    assert paused == "It was paused, and nobody resumed it in time. Ask again to start over."
    assert slow == "It took longer than an analysis may take. Ask again, if you can with a narrower question."
