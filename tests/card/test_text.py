"""Text from anywhere, made fit to be shown."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.card.text import (
    ELLIPSIS,
    MOST_MARKS,
    clean,
    clip,
    clock,
    clusters,
    count,
    duration,
    escape,
    escape_once,
    escaped_units,
    label,
    shown_url,
    sound,
    took,
    unescape,
    units,
)

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"
THUMB = "\U0001f44d\U0001f3fd"
ACCENT = "e\u0301"
HEART = "\u2764\ufe0f"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
HANGUL = "\u1112\u1161\u11ab"
WHOLE = [FAMILY, FLAG, THUMB, ACCENT, HEART, ENGLAND, HANGUL, "\U0001f389", "a"]

pieces_of_text = st.lists(st.sampled_from([*WHOLE, " ", "&", "<", ">", "\u05d0"]), max_size=40)


def test_the_three_characters_of_markup_are_escaped_and_the_ampersand_first():
    assert escape("<!channel> & <@U1>") == "&lt;!channel&gt; &amp; &lt;@U1&gt;"
    assert escape("&amp;") == "&amp;amp;"


@settings(deadline=None)
@given(st.text("&<>amplgt; x"))
def test_escaping_twice_where_entities_may_stand_already_is_escaping_once(text):
    once = escape_once(text)

    assert escape_once(once) == once
    assert not {"<", ">"} & set(once)


@settings(deadline=None)
@given(st.text())
def test_unescaping_takes_one_layer_off(text):
    assert unescape(escape(text)) == text


def test_what_a_person_typed_as_an_entity_is_decoded_once():
    assert unescape("&amp;lt;") == "&lt;"


@settings(deadline=None)
@given(st.text())
def test_a_text_is_at_least_as_long_in_slack_as_it_has_characters(text):
    assert units(text) == sum(2 if ord(char) > 0xFFFF else 1 for char in text)
    assert escaped_units(text) == units(escape(text))


@pytest.mark.parametrize("character", WHOLE)
def test_what_a_reader_takes_for_one_character_is_one(character):
    assert list(clusters(f"x{character}y")) == ["x", character, "y"]


def test_two_flags_are_two_characters():
    assert list(clusters(FLAG + FLAG)) == [FLAG, FLAG]


def test_a_pair_of_surrogates_is_never_taken_apart():
    assert list(clusters("x\ud83d\ude00y")) == ["x", "\ud83d\ude00", "y"]


def test_a_character_that_never_ends_is_cut_all_the_same():
    assert max(map(len, clusters("e" + "\u0301" * 1_000))) < 100


@settings(deadline=None)
@given(st.text())
def test_no_character_is_lost_between_the_clusters(text):
    assert "".join(clusters(text)) == text


@settings(deadline=None)
@given(pieces_of_text, st.integers(0, 60))
def test_a_cut_falls_between_whole_characters_and_keeps_the_limit(characters, limit):
    text = "".join(characters)

    shown = clip(text, limit)

    assert units(shown) <= limit
    if shown != text:
        kept = shown.removesuffix(ELLIPSIS)
        assert text.startswith(kept)
        assert "".join(list(clusters(text))[: len(list(clusters(kept)))]) == kept


@pytest.mark.parametrize("limit", [9, 10, 11])
def test_at_the_limit_a_text_stays_whole_and_one_above_it_is_cut(limit):
    text = "x" * 10

    shown = clip(text, limit)

    assert shown == (text if limit >= 10 else "x" * 8 + ELLIPSIS)


@pytest.mark.parametrize("character", [FAMILY, FLAG, THUMB, ACCENT, "\U0001f389"])
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_an_emoji_placed_on_the_limit_is_kept_whole_or_left_out(character, offset):
    text = "a" * 40 + character + "b" * 40

    shown = clip(text, 40 + units(character) + 1 + offset)

    assert shown == "a" * 40 + ("" if offset < 0 else character) + ("b" if offset > 0 else "") + ELLIPSIS


@settings(deadline=None)
@given(pieces_of_text, st.integers(1, 60))
def test_a_cut_before_escaping_never_falls_inside_an_entity(characters, limit):
    shown = escape(clip("".join(characters), limit, escaped_units))

    assert units(shown) <= limit
    assert "&" not in shown.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")


@settings(deadline=None)
@given(st.text())
def test_a_clean_line_has_nothing_that_hides_or_turns_or_breaks(text):
    line = clean(text)

    assert "\n" not in line
    assert not any("\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069" for char in line)
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in line)
    line.encode("utf-8")


@settings(deadline=None)
@given(st.text())
def test_cleaning_twice_is_cleaning_once(text):
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd", "evil \u05e9\u05dc\u05d5\u05dd"),
        ("a\u200bb\ufeffc\u2060d\u00ade", "abcde"),
        ("a\u200db", "ab"),
        (FAMILY, FAMILY),
        (f"{HEART}\u200d\U0001f525", f"{HEART}\u200d\U0001f525"),
        ("nul\x00 tab\tline\nbreak\u2028end", "nul tab line break end"),
        ("\ud800x", "\ufffdx"),
        ("\u3164\u115f", ""),
        ("  a   b  ", "a b"),
    ],
)
def test_a_label_keeps_what_is_read_and_loses_what_is_not(text, line):
    assert clean(text) == line


def test_marks_stacked_on_a_letter_do_not_cover_the_lines_around():
    line = clean("e" + "\u0301" * 12_000 + "x")

    assert line == "e" + "\u0301" * MOST_MARKS + "x"


def test_of_a_very_long_text_a_label_is_made_from_its_beginning():
    assert label("why " * 100_000, 20) == "why why why why why…"


@settings(deadline=None)
@given(st.text())
def test_sound_text_can_be_sent_and_keeps_its_lines(text):
    lines = sound(text)

    lines.encode("utf-8")
    assert "\x00" not in lines
    assert sound(lines) == lines


def test_sound_text_has_one_kind_of_line_break():
    assert sound("a\r\nb\rc\x00\td\ud83d") == "a\nb\nc\td\ufffd"


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("https://ana:pw@host.test:8443/a/b?token=1#x", "https://host.test:8443/a/b"),
        ("checkout.internal/metrics?token=1", "checkout.internal/metrics"),
        ("ana:pw@checkout.internal/metrics", "checkout.internal/metrics"),
        ("checkout.internal:9090?x=1", "checkout.internal:9090"),
        ("https://grafana.example/x|safe.example", "https://grafana.example/x%7Csafe.example"),
        ("https://good.test\\@evil.test/", "https://good.test\\@evil.test/"),
        ("https://ana@good.test@evil.test/", "https://evil.test/"),
        ("https://ana:p w@host.test/a b?token=1", "https://host.test/a b"),
        ("GET https://ana:pw@host.test/a?b then POST host.test/c?d", "GET https://host.test/a then POST host.test/c"),
        ("checkout-7", "checkout-7"),
        ("#incidents", "#incidents"),
        ("ana@example.test", "ana@example.test"),
        ("up{job='x'} > 1 ? a : b", "up{job='x'} > 1 ? a : b"),
        ("", ""),
        ("https://", "https://"),
        ("https://[::1/x?y", "https://[::1/x"),
    ],
)
def test_a_target_is_shown_without_secrets_and_with_its_real_host(target, shown):
    assert shown_url(target) == shown


@settings(deadline=None)
@given(st.text(max_size=30), st.text("abc?#@/:", max_size=30))
def test_no_query_no_fragment_and_no_credentials_of_a_url_are_shown(path, rest):
    shown = shown_url(f"https://u:secret@host.test/{path}?{rest}")

    assert shown.startswith("https://host.test/")
    assert "secret" not in shown
    assert "?" not in shown


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s"), (0.4, "0 s"), (59.9, "59 s"), (60, "1 min"), (130, "2 min 10 s"), (3600, "1 h"), (3900, "1 h 5 min")],
)
def test_a_length_of_time_has_two_units_at_most(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(-1, "0 ms"), (812, "812 ms"), (1_249, "1.2 s"), (12_900, "12 s"), (61_000, "1 min 1 s")],
)
def test_a_call_is_timed_as_exactly_as_anybody_reads_it(milliseconds, words):
    assert took(milliseconds) == words


def test_a_number_has_its_noun():
    assert [count(1, "call"), count(2, "call"), count(12_300, "reply", "replies")] == [
        "1 call", "2 calls", "12,300 replies"
    ]  # fmt: skip


@pytest.mark.parametrize(("at", "shown"), [(1_700_000_000, "22:13 UTC"), (-1e12, "00:00 UTC"), (1e18, "23:59 UTC")])
def test_any_number_has_a_time_of_day(at, shown):
    assert clock(at) == shown
