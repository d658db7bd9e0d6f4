"""The final answer: nothing in it rings or pretends, and each post stands by itself."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import MarkdownBlock

from bot.card.answer import LEAST_LIMIT, PART_LIMIT, parts, plain
from bot.card.text import unescape, units
from bot.rules.blank import is_blank
from tests.card.field_reports import report

ROWS = "\n".join(f"2026-11-30T15:0{n % 10}:00 {n:04} **not bold** | a | b | <!channel> & more" for n in range(400))
SENTENCES = " ".join(f"The pool of checkout-{n} is full." for n in range(2_000))
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

blocks_of_markdown = st.sampled_from([
    "## Verdict",
    "Intro **bold `code()` bold** and more.",
    "```log\nline <!channel> & **x**\n\n| a | b |\n```",
    "~~~\ncode with ``` inside\n~~~",
    "| svc | p99 |\n|---|--:|\n| api | 2 s |",
    "- one\n- two `a & b`\n  - three",
    "[run book](https://wiki.example/a_(b)?x=1&y=2) <@U0BEN>",
    "see https://grafana.example/d?a=1&b=2 **now**",
    SENTENCES[:700],
    "```\n" + ROWS[:900] + "\n```",
    "x" * 600,
    FAMILY * 90,
    "> quoted & <b>",
    "",
])
documents = st.lists(blocks_of_markdown, max_size=12).map("\n\n".join)
limits = st.integers(LEAST_LIMIT, 1_500)


def fences(text: str) -> int:
    return len(re.findall(r"^[ \t]*(?:```|~~~)", text, re.MULTILINE))


def outside_code(text: str) -> str:
    return re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", text)


@pytest.mark.parametrize("text", ["", "   ", "\n\n\t", "\u200b\ufeff", "\x00"])
def test_a_text_that_shows_nothing_makes_no_post(text):
    assert parts(text) == ()
    assert plain(text) == ""


def test_a_short_answer_is_one_post_with_its_words_as_they_are():
    answer = "## The pool is full\n\n**Confidence**: high\n\n1. `pool_in_use` is 64 of 64 (step 4)\n2. no deploy"

    assert parts(answer) == (answer,)


@settings(deadline=None)
@given(st.text(), limits)
def test_no_text_can_ring_or_pretend(text, limit):
    for part in parts(text, limit):
        assert not {"<", ">"} & set(part)
        assert re.fullmatch(r"(?s)(?:[^&]|&(?:amp|lt|gt);)*", part)
        assert not is_blank(part)
        part.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<!channel> down", "&lt;!channel&gt; down"),
        ("<@U0BEN> & `<!here>`", "&lt;@U0BEN&gt; &amp; `&lt;!here&gt;`"),
        ("<https://evil.test|runbook>", "&lt;https://evil.test|runbook&gt;"),
        ("&lt;!channel&gt; &amp; &copy;", "&lt;!channel&gt; &amp; &amp;copy;"),
        ("&amp;lt;", "&amp;lt;"),
        ("```\na < b && c\n```", "```\na &lt; b &amp;&amp; c\n```"),
    ],
)
def test_markup_is_escaped_exactly_once(text, part):
    assert parts(text) == (part,)


@settings(deadline=None)
@given(documents, limits)
def test_each_part_keeps_the_limit_and_can_be_sent_through_again(text, limit):
    sent = parts(text, limit)

    assert all(units(part) <= limit for part in sent)
    assert [parts(part, limit) for part in sent] == [(part,) for part in sent]


@settings(deadline=None)
@given(documents, limits)
def test_no_word_is_lost_between_the_parts(text, limit):
    sent = unescape("".join(parts(text, limit)))

    def letters(of: str) -> str:
        return re.sub(r"[^0-9A-Za-z]|log", "", of)

    assert letters(sent) == letters(text)


@settings(deadline=None)
@given(documents, limits)
def test_every_part_closes_the_code_that_it_opens(text, limit):
    assert all(fences(part) % 2 == 0 for part in parts(text, limit))


@pytest.mark.parametrize("length", [PART_LIMIT - 1, PART_LIMIT, PART_LIMIT + 1])
def test_at_the_limit_an_answer_is_one_post_and_one_above_it_two(length):
    answer = ("word " * 3_000)[: length - 1] + "x"

    sent = parts(answer)

    assert len(sent) == (1 if length <= PART_LIMIT else 2)


def test_every_part_is_a_block_that_slack_takes():
    sent = parts(f"{SENTENCES}\n\n```\n{ROWS}\n```\n\n{FAMILY * 4_000}")

    assert len(sent) > 3
    for part in sent:
        MarkdownBlock(text=part).to_dict()


def test_a_long_log_is_continued_in_a_fence_of_the_same_kind_line_by_line():
    sent = parts(f"Before\n```log\n{ROWS}\n```\nAfter", 4_000)

    logs = [part for part in sent if "not bold" in part]
    lines = [line for part in logs for line in unescape(part).split("\n") if "not bold" in line]
    assert len(logs) > 5
    assert all(part.startswith("```log\n") and "\n```" in part for part in logs)
    assert "\n".join(lines) == ROWS
    assert sent[0] == "Before"
    assert sent[-1].endswith("```\nAfter")


def test_code_that_fits_in_a_post_of_its_own_is_not_cut():
    code = "```\n" + ROWS[:2_000] + "\n```"

    sent = parts(f"{SENTENCES[:3_000]}\n\n{code}\n\nAfter", 4_000)

    assert any(code in unescape(part) for part in sent)


def test_a_line_longer_than_a_post_is_cut_between_characters_inside_its_fence():
    sent = parts(f"```\n{FAMILY * 300}\n```", 600)

    assert all(part.startswith(f"```\n{FAMILY}") and part.endswith(f"{FAMILY}\n```") for part in sent)
    assert "".join(part[4:-4] for part in sent) == FAMILY * 300


def test_code_that_is_never_closed_is_closed_at_the_end():
    assert parts("```sh\nls -l\n\n") == ("```sh\nls -l\n```",)


@settings(deadline=None)
@given(st.integers(300, 1_400), st.sampled_from([
    "[the run book](https://wiki.example/a_(b)?x=1&y=2)",
    "**very bold words here**",
    "`kubectl get pods -n checkout`",
    "https://grafana.example/d/abc?orgId=1&from=now-1h",
]))  # fmt: skip
def test_a_link_bold_code_or_address_on_the_border_stays_in_one_piece(before, piece):
    text = ("word " * 300)[:before].rstrip() + " " + piece + " " + "word " * 300

    sent = parts(text, 1_000)

    assert sum(piece in unescape(part) for part in sent) == 1


def test_text_without_spaces_is_cut_before_a_link_and_not_inside_it():
    link = "[\u8d44\u6599](https://wiki.example/" + "a" * 80 + ")"

    sent = parts("\u6f22" * 950 + link + "\u6f22" * 950, 1_000)

    assert sent == ("\u6f22" * 950, link + "\u6f22" * (1_000 - len(link)), "\u6f22" * (len(link) - 50))


@pytest.mark.parametrize(("marks", "inside"), [("**", "bold "), ("`", "code "), ("**", "bold")])
def test_a_span_longer_than_a_post_is_closed_and_opened_again(marks, inside):
    sent = parts(f"{marks}{(inside * 600).strip()}{marks}", 1_000)

    assert len(sent) > 2
    assert all(part.startswith(marks) and part.endswith(marks) and part.count(marks) == 2 for part in sent)


def test_a_list_is_cut_between_its_items():
    items = [f"- finding {n}: {'word ' * (n % 20)}end" for n in range(200)]

    sent = parts("\n".join(items), 1_000)

    assert [line for part in sent for line in part.split("\n")] == items


def test_the_rest_of_a_sentence_does_not_become_a_heading_or_a_list():
    text = "word " * 190 + "# 7 - 8 > 9 * 10 " * 20 + "word " * 50

    sent = parts(text, 1_000)

    assert len(sent) == 2
    assert re.match(r"\w+ ", sent[1])


def test_bold_that_is_balanced_shows_no_stars_to_the_reader():
    sent = parts("Intro **bold `a ** b` bold** end. " * 100, 1_000)

    assert len(sent) > 2
    assert all(outside_code(part).count("**") % 2 == 0 for part in sent)


def test_a_blank_paragraph_between_long_ones_makes_no_empty_post():
    sent = parts(f"{'a ' * 300}\n\n\u200b\n\n{'b ' * 300}", 600)

    assert len(sent) == 2


HOSTILE = ["`" * 30_000, "[" * 30_000, "**a " * 10_000, "` `` " * 8_000, "[a](b" * 8_000, "|-" * 10_000 + " " * 20_000,
           "# " * 10_000, "a|b\n|-" + " " * 30_000 + "x", "[x](" + "(" * 30_000, "\n" * 30_000 + "x"]  # fmt: skip


@pytest.mark.timeout(30)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_makes_the_search_for_its_structure_run_away(text):
    sent = parts(text)

    assert sent
    assert plain(text)


def test_the_plain_form_has_no_markdown_and_says_where_links_lead():
    answer = "# The **pool** is full #\n\n**Why**: [run book](https://wiki.example/a) `**x**`\n~~~log\n**raw** <a>\n~~~"

    assert plain(answer) == (
        "*The pool is full*\n\n*Why*: run book (https://wiki.example/a) `**x**`\n```\n**raw** &lt;a&gt;\n```"
    )


@settings(deadline=None)
@given(st.text(), st.integers(1, 80))
def test_the_plain_form_is_escaped_and_keeps_its_limit(text, limit):
    assume(not is_blank(text))

    words = plain(text, limit)

    assert units(words) <= limit
    assert not {"<", ">"} & set(words)


def test_a_model_that_rings_everybody_rings_nobody():
    answer = report("PB-020").model_texts()[-1]

    assert parts(answer) == (
        "&lt;!here&gt; cause found: &lt;!subteam^S0ONCALL&gt; see &lt;https://evil.test|runbook&gt;",
    )


def test_each_part_of_a_long_reported_answer_is_valid_by_itself():
    log = "\n".join(f"{n} **not bold** and | a | b |" for n in range(200))
    answer = report("PB-021").model_texts()[-1].replace("(200 lines, one holds **not bold** and | a | b |)", log)

    sent = parts(answer, 2_000)

    assert sent[0] == "Intro **bold `code()` bold**"
    assert sum(part.count("**not bold** and | a | b |") for part in sent) == 200
    assert all(fences(part) % 2 == 0 for part in sent)
    assert "```\nsvc  p99\n---  ---\napi  2 s\n```" in sent[-1]
    assert sent[-1].endswith("[run book](https://wiki.example/a_(b)?x=1&amp;y=2)")
    assert "**" not in outside_code("\n".join(sent).replace("**bold `code()` bold**", ""))


def test_a_final_text_of_spaces_makes_no_empty_post():
    assert parts(report("PB-026").model_texts()[-1]) == ()
