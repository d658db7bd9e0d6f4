"""Lines made of spans, which keep our own words apart from those of others."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.card.spans import (
    FOREIGN_KINDS,
    Kind,
    Span,
    fill,
    fit,
    foreign,
    join,
    link,
    merged,
    own,
    person,
    plain,
    strong,
    target,
    time,
)
from bot.card.text import units

spans_of_any_kind = st.builds(Span, st.text(max_size=8), st.sampled_from([Kind.OWN, Kind.FOREIGN, Kind.CODE]))
any_line = st.lists(spans_of_any_kind, max_size=8).map(tuple)


@pytest.mark.parametrize("who", ["U0ANA", "<@U0ANA>", "<@U0ANA|ana>"])
def test_an_id_is_a_mention_however_it_is_written(who):
    assert person(who) == (Span("@U0ANA", Kind.PERSON, "U0ANA"),)


@pytest.mark.parametrize("who", ["ana", "<!channel>", "<@U0ANA> x", "U", "u0ana", "B0BOT", "U0ANA\n", "<@U0\u202eANA>"])
def test_what_is_no_id_is_only_words(who):
    assert [span.kind for span in person(who)] == [Kind.FOREIGN]


@pytest.mark.parametrize("text", ["", " \n", "\u200b"])
def test_nothing_to_show_is_an_empty_line(text):
    assert foreign(text) == target(text) == person(text) == ()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://home.slack.test/archives/C1/p1", Kind.LINK),
        ("http://127.0.0.1:8080/p1", Kind.LINK),
        (None, Kind.OWN),
        ("", Kind.OWN),
        ("slack://open", Kind.OWN),
        ("https://a|b", Kind.OWN),
        ("https://a>b", Kind.OWN),
        ("https://a b", Kind.OWN),
    ],
)
def test_only_a_whole_web_address_is_a_link(url, kind):
    assert [span.kind for span in link("Continued below", url)] == [kind]


@settings(deadline=None)
@given(st.floats(-1e15, 1e15))
def test_any_time_can_be_shown(at):
    (shown,) = time(at)

    assert shown.ref.isdecimal()
    assert shown.text.endswith("UTC")


def test_lines_are_joined_without_gaps_where_one_is_empty():
    assert plain(join([own("a"), (), own("b")])) == "a · b"
    assert join([(), ()]) == ()


def test_a_sentence_keeps_the_kind_of_what_fills_it():
    line = fill("stopped[ by {who}][ after {steps}]", {"who": person("<b>"), "steps": ()})

    assert line == (Span("stopped"), Span(" by "), Span("<b>", Kind.FOREIGN))


@settings(deadline=None)
@given(any_line, st.integers(0, 40))
def test_a_line_is_shortened_on_the_border_and_keeps_its_limit(line, limit):
    shown = fit(line, limit)

    assert sum(units(span.text) for span in shown) <= limit
    if sum(units(span.text) for span in line) <= limit:
        assert shown == line


def test_a_shortened_line_shows_that_something_is_missing():
    assert plain(fit((*own("abc"), *strong("defgh"), *own("i")), 6)) == "abcde…"


@settings(deadline=None)
@given(any_line)
def test_merging_changes_no_word_and_leaves_nothing_empty(line):
    shown = merged(line)

    assert plain(shown) == plain(line)
    assert all(span.text for span in shown)
    assert [span for span in shown if span.kind is Kind.CODE] == [
        span for span in line if span.kind is Kind.CODE and span.text
    ]


def test_words_of_others_are_known_to_be_theirs():
    assert {foreign("a")[0].kind, target("a")[0].kind} == FOREIGN_KINDS
