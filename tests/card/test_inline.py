"""The spans inside a paragraph of a model's Markdown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.card.inline import Inline, Spans, honest, in_slack_words, spans_of

marked = st.lists(st.sampled_from(["`", "``", "**", "[a](http://b.test)", "word", " ", "\\", "\n"])).map("".join)


def torn(text: str) -> str:
    """The text with a bar wherever it may be cut."""
    spans = spans_of(text)
    return "".join(char if spans.start_around(at) < at or at == 0 else f"|{char}" for at, char in enumerate(text))


@pytest.mark.parametrize(
    ("text", "cuts"),
    [
        ("a `b c` d", "a| |`b c`| |d"),
        ("``a ` b`` c", "``a ` b``| |c"),
        ("**a b** c", "**a b**| |c"),
        ("**a `b ** c` d** e", "**a `b ** c` d**| |e"),
        ("***a b*** c", "***a b***| |c"),
        ("[a b](http://c.test/d_(e)) f", "[a b](http://c.test/d_(e))| |f"),
        ("http://c.test/d?e f", "http://c.test/d?e| |f"),
        ("2 ** 3 ** 4", "2| |*|*| |3| |*|*| |4"),
        ("\\` a `b`", "\\|`| |a| |`b`"),
        ("a ` b", "a| |`| |b"),
        ("**a", "*|*|a"),
    ],
)
def test_code_bold_links_and_addresses_are_not_cut(text, cuts):
    assert torn(text) == cuts


@settings(deadline=None)
@given(marked)
def test_a_place_is_inside_a_span_only_between_its_ends(text):
    spans = spans_of(text)

    starts = [spans.start_around(at) for at in range(len(text) + 1)]

    assert all(0 <= start <= at for at, start in enumerate(starts))
    assert all(spans.start_around(start) == start for start in starts)


def test_spans_that_overlap_are_one_and_those_that_touch_are_two():
    spans = Spans([Inline(5, 8), Inline(0, 4), Inline(2, 5), Inline(8, 9)])

    assert [spans.start_around(at) for at in (0, 3, 5, 6, 8, 9, 20)] == [0, 0, 5, 5, 8, 9, 20]
    assert [spans.touch(*stretch) for stretch in [(0, 1), (4, 6), (9, 12), (8, 9)]] == [True, True, False, True]


def test_the_marks_around_a_place_are_named_from_outside_to_inside():
    spans = spans_of("**a `b c` d** e")

    assert spans.marks_around(6) == ["**", "`"]
    assert spans.marks_around(11) == ["**"]
    assert spans.marks_around(14) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[run book](https://wiki.example/a_(b)?x=1&y=2)", "[run book](https://wiki.example/a_(b)?x=1&y=2)"),
        ("[grafana.example](https://grafana.example/d)", "[grafana.example](https://grafana.example/d)"),
        ("[grafana.example](https://evil.test/d)", "[grafana.example (evil.test)](https://evil.test/d)"),
        (
            "[https://safe.example](https://safe.example@evil.test:8443/)",
            "[https://safe.example (evil.test)](https://safe.example@evil.test:8443/)",
        ),
        ("[main.py](https://git.example/x \"a\")", "[main.py (git.example)](https://git.example/x \"a\")"),
        ("[](https://evil.test/)", "[evil.test](https://evil.test/)"),
        ("[ana@x.test](mailto:ana@x.test)", "[ana@x.test](mailto:ana@x.test)"),
        ("![chart](https://evil.test/?q=secret)", "[chart](https://evil.test/?q=secret)"),
        ("wow!![chart](https://evil.test/)", "wow! [chart](https://evil.test/)"),
        ("[x](javascript:alert(1))", "[x] (javascript:alert(1))"),
        ("[x](slack://open)", "[x] (slack://open)"),
        ("[safe.example]: https://evil.test", "\\[safe.example]: https://evil.test"),
        ("`[safe.example](https://evil.test)`", "`[safe.example](https://evil.test)`"),
        ("`a\n[b]: c`", "`a\n[b]: c`"),
    ],
)  # fmt: skip
def test_a_link_says_where_it_leads(text, shown):
    assert honest(text) == shown


@settings(deadline=None)
@given(marked)
def test_what_says_where_it_leads_is_not_changed_again(text):
    once = honest(text)

    assert honest(once) == once


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## The **pool**", "*The pool*"),
        ("**a** and ***b***", "*a* and *b*"),
        ("`**a**` **b**", "`**a**` *b*"),
        ("[a](http://b.test) `[c](http://d.test)`", "a (http://b.test) `[c](http://d.test)`"),
        ("2 ** 3", "2 ** 3"),
        ("#incidents is a channel", "#incidents is a channel"),
    ],
)
def test_the_older_markup_has_one_star_and_no_links(text, shown):
    assert in_slack_words(text) == shown
