"""What Slack accepts as rich text."""

import pytest

from bot.playground.rich_text_rules import INLINE, check_rich_text
from tests.playground.samples import rich, text

SECTION = {"type": "rich_text_section", "elements": [text("a")]}


def places(block):
    return [problem.at for problem in check_rich_text(block, "/b")]


def of(*parts):
    return {"type": "rich_text", "elements": list(parts)}


@pytest.mark.parametrize(
    "block",
    [
        of(),
        rich(text("a", bold=True, code=True)),
        rich({"type": "link", "url": "https://x.example"}),
        rich({"type": "link", "url": "https://x.example", "text": ""}),
        rich({"type": "user", "user_id": "U0ANA"}, {"type": "emoji", "name": "tada"}),
        rich({"type": "date", "timestamp": 1_700_000_000, "format": "{time}"}),
        of({"type": "rich_text_preformatted", "elements": [text("a")], "border": 0}),
        of({"type": "rich_text_quote", "elements": [text("a")]}),
        of({"type": "rich_text_list", "style": "ordered", "indent": 1, "elements": [SECTION, SECTION]}),
    ],
)
def test_proper_rich_text_is_accepted(block):
    found = places(block)

    assert found == []


@pytest.mark.parametrize("kind", INLINE)
def test_an_element_that_says_nothing_is_refused(kind):
    found = places(rich({"type": kind}))

    assert found == [f"/b/elements/0/elements/0/{INLINE[kind]}"]


@pytest.mark.parametrize(
    ("block", "at"),
    [
        ({"type": "rich_text_section", "elements": []}, "/b"),
        ({"type": "rich_text", "elements": "words"}, "/b"),
        (of(text("outside")), "/b/elements/0"),
        (of({"type": "rich_text_section"}), "/b/elements/0"),
        (of({"type": "rich_text_list", "style": "dotted", "elements": [SECTION]}), "/b/elements/0/style"),
        (of({"type": "rich_text_list", "style": "bullet", "elements": [text("a")]}), "/b/elements/0/elements/0"),
        (rich({"type": "plain_text", "text": "a"}), "/b/elements/0/elements/0/type"),
        (rich(text("a", sparkling=True)), "/b/elements/0/elements/0/style"),
        (rich({**text("a"), "style": "bold"}), "/b/elements/0/elements/0/style"),
    ],
)
def test_broken_rich_text_is_refused_with_its_place(block, at):
    found = places(block)

    assert found == [at]
