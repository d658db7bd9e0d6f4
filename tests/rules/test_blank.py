"""What a reader sees nothing of."""

import pytest

from bot.rules.blank import is_blank


@pytest.mark.parametrize(
    ("text", "is_nothing"),
    [("", True), (" \n\t", True), ("\u200b\ufeff\u200d", True), ("\x00", True), (".", False), ("\U0001f389", False)],
)
def test_blank_is_what_a_reader_sees_nothing_of(text, is_nothing):
    assert is_blank(text) is is_nothing
