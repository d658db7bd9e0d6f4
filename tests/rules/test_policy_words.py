"""Every verdict that the policy can give is said in words, from its stored row alone."""

import itertools

import pytest

from bot.rules.policy_words import PHASES, SOURCES, VERDICTS, sentence
from bot.rules.steer_policy import STEER_POLICY, look_up
from bot.rules.terms import Phase, Source, Verdict

TABLE = list(itertools.product(Source, (False, True), Phase))


def test_every_source_phase_and_verdict_has_words():
    assert (set(SOURCES), set(PHASES), set(VERDICTS)) == (set(Source), set(Phase), set(Verdict))


@pytest.mark.parametrize(("source", "interjected", "phase"), TABLE)
def test_every_row_of_the_table_is_a_sentence_of_who_when_and_what(source, interjected, phase):
    judged = look_up(source, interjected, phase)

    said = sentence(judged.verdict, judged.row)

    assert SOURCES[source] in said
    assert PHASES[phase] in said
    assert VERDICTS[judged.verdict] in said
    assert ("cannot happen" in said) is (STEER_POLICY[source, interjected, phase] is None)


@pytest.mark.parametrize(
    ("verdict", "row", "words"),
    [
        ("note", "requester/no/running/override", ["A plain message of the requester", "channel's own rule"]),
        ("start", "requester/no/idle/unseen answer", ["could have seen the answer"]),
        ("note", "teammate/yes/running/to another", ["addresses the bot", "addressing somebody else"]),
        ("command", "requester/stop as a word/running", ["The word stop alone", "acts like the button"]),
        ("refuse", "guest/resume as a word/paused/not allowed", ["The word resume alone", "may not do that"]),
        ("note", "requester/no/running/an edit may not raise", ["edited", "may not raise"]),
        ("start", "alert_bot/any/idle", ["A message of a listed alert bot"]),
    ],
)
def test_what_stands_beside_the_table_is_said_too(verdict, row, words):
    said = sentence(verdict, row)

    assert [each for each in words if each not in said] == []


@pytest.mark.parametrize(
    ("verdict", "row"),
    [
        ("unjudged", "guest/no/idle"),
        ("refuse", "halt"),
        ("deletion", ""),
        ("press", ""),
        ("new", "x/y/z"),
        ("note", ""),
    ],
)
def test_what_has_no_row_is_said_as_it_stands(verdict, row):
    said = sentence(verdict, row)

    assert said.endswith(".")
    assert len(said) > 10
