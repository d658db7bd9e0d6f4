"""What Slack makes of a text: escaping, and the tokens that stay alive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.playground.texts import mentions, pieces, posted_text, rich_text, typed_text

NAMES = {"steersman": "UBOT", "ana": "U0ANA"}


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("already &lt;safe&gt; &amp; sound", "already &lt;safe&gt; &amp; sound"),
        ("<!here> <@U0ANA> <#C0INCIDENTS>", "<!here> <@U0ANA> <#C0INCIDENTS>"),
        ("<https://x.example/a?b=1|here>", "<https://x.example/a?b=1|here>"),
        ("<!date^1700000000^{time}|15:13>", "<!date^1700000000^{time}|15:13>"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("<javascript:alert(1)|click>", "&lt;javascript:alert(1)|click&gt;"),
    ],
)
def test_a_post_keeps_tokens_and_entities_and_escapes_loose_brackets(raw, stored):
    found = posted_text(raw)

    assert found == stored


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("@Steersman why?", "<@UBOT> why?"),
        ("@ANA look", "<@U0ANA> look"),
        ("@nobody and mail@ana", "@nobody and mail@ana"),
        ("<@UBOT> why?", "<@UBOT> why?"),
        ("@here", "<!here>"),
        ("see https://x.example/a?b=1&c=2 now", "see <https://x.example/a?b=1&amp;c=2> now"),
        ("1 < 2 && 3 > 2", "1 &lt; 2 &amp;&amp; 3 &gt; 2"),
        ("&lt; is typed out", "&amp;lt; is typed out"),
    ],
)
def test_what_a_person_types_is_stored_as_slack_stores_it(typed, stored):
    found = typed_text(typed, NAMES)

    assert found == stored


def test_a_stored_text_falls_into_words_and_tokens():
    stored = "<@UBOT> 1 &lt; 2 <https://x.example/?a=1&amp;b=2|the graph> <!channel>"

    found = [(piece.kind, piece.text, piece.label) for piece in pieces(stored)]

    assert found == [
        ("user", "UBOT", ""),
        ("text", " 1 < 2 ", ""),
        ("url", "https://x.example/?a=1&b=2", "the graph"),
        ("text", " ", ""),
        ("call", "channel", ""),
    ]


def test_only_living_mentions_count():
    stored = "<@UBOT> and &lt;@U0ANA&gt;"

    found = mentions(stored)

    assert found == {"UBOT"}


def test_the_rich_text_of_a_message_says_what_its_text_says():
    block = rich_text("<@UBOT> &lt;why&gt; <https://x.example> <#C0CHECKOUT> <!here>", "b1")

    (part,) = block["elements"]

    assert [element["type"] for element in part["elements"]] == [
        "user", "text", "link", "text", "channel", "text", "broadcast",
    ]  # fmt: skip
    assert part["elements"][1] == {"type": "text", "text": " <why> "}


@given(st.text())
def test_no_text_that_is_typed_leaves_a_loose_bracket(typed):
    stored = typed_text(typed, NAMES)

    again = posted_text(stored)

    assert again == stored


@given(st.text(alphabet="<>&;ampltg|@!# U0"))
def test_posting_a_stored_text_again_changes_nothing(raw):
    stored = posted_text(raw)

    again = posted_text(stored)

    assert again == stored
