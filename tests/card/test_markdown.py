"""The blocks of a model's Markdown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.card.markdown import Fence, Prose, read

lines = st.lists(st.sampled_from(["```", "````", "~~~", "```log", "a", "", "| a | b |", "|---|---|", "  ", "a | b"]))


def code(text: str) -> list[tuple[str, ...]]:
    return [block.body for block in read(text) if isinstance(block, Fence)]


@settings(deadline=None)
@given(lines)
def test_every_line_belongs_to_one_block_and_code_is_closed(some):
    text = "\n".join(some)

    again = "".join(block.gap + block.text for block in read(text))

    assert "".join(block.gap + block.text for block in read(again)) == again
    assert all(block.text.endswith(block.closer) for block in read(text) if isinstance(block, Fence))


def test_paragraphs_code_and_what_stands_between_are_told_apart():
    blocks = list(read("\na\nb\n\n\n```log\nc\n\nd\n```\ne"))

    assert blocks == [
        Prose("a\nb", "\n"),
        Fence("```log", ("c", "", "d"), "```", "\n\n\n"),
        Prose("e", "\n"),
    ]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("```\na\n```", ("a",)),
        ("````\na\n```\nb\n````", ("a", "```", "b")),
        ("~~~\na\n```\n~~~", ("a", "```")),
        ("```\na\n~~~", ("a", "~~~")),
        ("```\na\n```` ", ("a",)),
        ("- item\n  ```\n  a\n  ```", ("  a",)),
        ("```\na\n\n\n", ("a",)),
        ("```", ()),
    ],
)
def test_code_ends_at_its_own_closing_line_or_at_the_end(text, body):
    assert code(text) == [body]


def test_backticks_on_one_line_are_no_fence():
    assert code("```a``` and more\n```b```") == []


def test_a_long_info_string_is_shortened_because_each_part_repeats_it():
    fence = next(iter(read("```" + "x" * 5_000 + "\na\n```")))

    assert isinstance(fence, Fence)
    assert len(fence.opener) <= 3 + 40


def table(text: str) -> str:
    return "\n".join(next(iter(code(text)), ()))


def test_a_table_is_aligned_in_a_block_of_code():
    shown = table("| svc | p99 | note |\n|:---|---:|:-:|\n| api | 2 s | ok |\n| checkout | 12 s |\n\nAfter")

    assert shown == "svc        p99  note\n--------  ----  ----\napi        2 s  ok\ncheckout  12 s"


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("| **api** | `a  b` |", "api  a  b"),
        ("| `**x**` | y |", "**x**  y"),
        ("| a \\| b | c |", "a | b  c"),
        ("a | b", "a  b"),
        ("| a | b | c | d |", "a  b"),
        ("| 漢字 | b |", "漢字  b"),
        ("| <!channel> | & |", "<!channel>  &"),
    ],
)
def test_a_cell_shows_what_it_says(row, shown):
    last = table(f"| x | y |\n|---|---|\n{row}").split("\n")[-1]

    assert " ".join(last.split()) == " ".join(shown.split())


def test_columns_are_as_wide_as_they_look():
    rows = table("| a | b |\n|---|---|\n| 漢字 | x |\n| e\u0301e | y |").split("\n")

    assert rows[2:] == ["漢字  x", "e\u0301e    y"]


def test_backticks_in_a_cell_cannot_close_the_code():
    fence = next(iter(read("| a | b |\n|---|---|\n| ``` | ````x |")))

    assert isinstance(fence, Fence)
    assert fence.opener == fence.closer == "`````"


@pytest.mark.parametrize(
    "text",
    ["a | b", "a | b\n---", "a | b\n|---|", "|---|---|", "a\n---", "```\n| a | b |\n|---|---|\n```", "| a |\n| b |"],
)
def test_what_is_no_table_stays_as_it_is(text):
    shown = "".join(block.text for block in read(text))

    assert shown == text


def test_a_table_may_follow_a_sentence_at_once_and_ends_where_the_bars_end():
    blocks = list(read("See:\n| a | b |\n|---|---|\n| 1 | 2 |\nAfter"))

    assert [type(block).__name__ for block in blocks] == ["Prose", "Fence", "Prose"]
    assert blocks[2].text == "After"
