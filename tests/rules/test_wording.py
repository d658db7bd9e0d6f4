"""Sentences with holes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.rules.wording import Piece, filled, holes, pieces


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "stopped"),
        ({"who": "ana"}, "stopped by ana"),
        ({"steps": "5 steps"}, "stopped after 5 steps"),
        ({"who": "ana", "steps": "5 steps"}, "stopped by ana after 5 steps"),
    ],
)
def test_what_is_not_known_is_left_out_with_its_brackets(values, sentence):
    assert filled("stopped[ by {who}][ after {steps}]", values) == sentence


def test_a_part_with_two_holes_needs_both():
    template = "a[ {b} of {c}]"

    assert filled(template, {"b": "1"}) == "a"
    assert filled(template, {"b": "1", "c": "2"}) == "a 1 of 2"


def test_a_hole_outside_brackets_that_nothing_fills_is_an_error():
    with pytest.raises(KeyError):
        filled("{a}", {})


def test_holes_are_told_apart_from_words():
    assert list(pieces("a {b}[ c {d}]", {"b", "d"})) == [
        Piece("a "), Piece("b", is_hole=True), Piece(" c "), Piece("d", is_hole=True)
    ]  # fmt: skip


def test_the_holes_of_a_sentence_are_known_by_name():
    assert holes("a {b}[ c {d}]") == {"b", "d"}


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="[]{}")))
def test_words_without_holes_are_said_as_they_stand(text):
    assert filled(text, {}) == text
    assert filled(f"[{text}]", {}) == text


@settings(deadline=None)
@given(st.text())
def test_what_fills_a_hole_is_never_read_as_a_sentence(value):
    assert filled("a[ {b}]", {"b": value}) == f"a {value}"
