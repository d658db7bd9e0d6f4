"""What a person has to judge: nothing in it is hidden, nothing turns the reading order, nothing is left out."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.rules.visible import visible

MARK = "\u0301"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\nlines", "plain\nlines"),
        ("Größe \u4f60\u597d \U0001f525", "Größe \u4f60\u597d \U0001f525"),
        ("a\x00b\tc\rd\x1b[31m", "a\\u0000b\\u0009c\\u000dd\\u001b[31m"),
        ("che\u202ekcuo", "che\\u202ekcuo"),
        ("\u05d0\u0627\u0661", "\\u05d0\\u0627\\u0661"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("blank\u3164letter\u2800", "blank\\u3164letter\\u2800"),
        ("hard\u00a0space", "hard\\u00a0space"),
        ("tag\U000e0041", "tag\\udb40\\udc41"),
        ("half \ud800", "half \\ud800"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, shown):
    assert visible(text) == shown


def test_from_the_fourth_mark_on_one_letter_marks_are_written_out():
    assert visible("e" + MARK * 5) == "e" + MARK * 3 + "\\u0301" * 2


@given(st.text())
def test_doing_it_twice_changes_nothing(text):
    once = visible(text)

    assert visible(once) == once


@given(st.text())
def test_nothing_that_is_left_is_hidden_or_turns_the_order(text):
    shown = visible(text)

    assert all(char == "\n" or char.isprintable() for char in shown)
    assert not any(unicodedata.bidirectional(char) in {"R", "AL", "AN", "RLO", "LRO", "RLI"} for char in shown)


@given(st.text(max_size=50))
def test_a_text_in_json_can_be_read_back_whole(text):
    shown = visible(json.dumps(text, ensure_ascii=False))

    assert json.loads(shown) == text
