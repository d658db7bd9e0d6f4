"""Text and JSON that can be stored and sent, whatever came."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.llm.texts import clean, clean_json, is_tool_name, read_arguments, tool_name


@pytest.mark.parametrize(
    ("came", "kept"),
    [
        ("plain", "plain"),
        ("a\0b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00x", "\ufffdx"),
        ("x\ud800", "x\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("é\ud83d\ude00\ud83d", "é\U0001f600\ufffd"),
    ],
)
def test_nul_and_lone_surrogates_are_replaced_and_split_pairs_joined(came: str, kept: str) -> None:
    cleaned = clean(came)

    assert cleaned == kept


@given(st.text(st.characters(codec=None), max_size=20))
def test_whatever_text_comes_can_be_sent_and_cleaning_it_again_changes_nothing(text: str) -> None:
    cleaned = clean(text)

    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert "\0" not in cleaned
    assert clean(cleaned) == cleaned


def test_json_is_cleaned_in_keys_values_and_lists() -> None:
    value = {"a\0": ["\ud800", {"b": ("c", 1, None, True)}]}

    assert clean_json(value) == {"a\ufffd": ["\ufffd", {"b": ["c", 1, None, True]}]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}, b"x"])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        clean_json({"q": [value]})


def test_json_that_is_nested_too_deep_to_be_sent_is_refused() -> None:
    deep: object = "end"
    for _ in range(200):
        deep = [deep]

    with pytest.raises(ValueError, match="deep"):
        clean_json(deep)


@pytest.mark.parametrize("text", ["", " \n", "null", "{}"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert read_arguments(text) == ({}, None)


@pytest.mark.parametrize(
    "text", ['{"q": ', "[1]", '"q"', "1", "{'q': 1}", '{"n": NaN}', '{"n": 1e999}', "[" * 100_000, "{}{}", '{"a": 1} x']
)
def test_text_that_is_no_json_object_is_kept_as_broken_arguments(text: str) -> None:
    read, broken = read_arguments(text)

    assert read == {}
    assert broken == text


def test_escapes_in_arguments_are_cleaned_after_they_are_read() -> None:
    read, broken = read_arguments(r'{"q": "a\u0000b\ud800", "pair": "\ud83d\ude00"}')

    assert read == {"q": "a\ufffdb\ufffd", "pair": "\U0001f600"}
    assert broken is None


@given(st.text(max_size=20))
def test_reading_arguments_gives_an_object_that_can_be_sent_or_says_that_it_is_broken(text: str) -> None:
    read, broken = read_arguments(text)

    assert json.dumps(read, allow_nan=False)
    assert broken is None or read == {}


@given(st.text(st.characters(codec=None), max_size=80))
def test_any_name_becomes_one_that_every_dialect_accepts(name: str) -> None:
    given_name = tool_name(name)

    assert is_tool_name(given_name)
    assert tool_name(given_name) == given_name


def test_a_good_name_is_left_alone_and_a_missing_one_says_so() -> None:
    assert tool_name("restart-service_2") == "restart-service_2"
    assert tool_name("functions.get") == "functions_get"
    assert tool_name("") == "unnamed"
    assert not is_tool_name(None)
