"""How the styles and tokens inside a line look on the page, and that nothing in a text becomes markup."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.playground.inline_view import Reader, link, local_time, mrkdwn, plain
from bot.playground.markdown_view import markdown
from bot.playground.markup import Html, join, tag, text
from bot.playground.stamps import Stamps
from bot.playground.texts import posted_text, typed_text
from bot.playground.workspace import Workspace

WORKSPACE = Workspace(Stamps(lambda: 1_700_000_000.0), lambda: None)
READER = Reader(WORKSPACE, WORKSPACE.user("ana"), "http://127.0.0.1:8080")
ALLOWED = re.compile(
    r"</?(p|strong|em|s|u|code|pre|span|time|blockquote|ul|ol|li|table|thead|tbody|tr|th|td|h[3-6]|a|hr|br)"
    r'( (class|href|target|rel)="[^"<>]*")*>'
)


def test_words_are_escaped_and_markup_is_not():
    found = tag("p", "<b> & ", tag("i", '"x"'), title='a"b')

    assert found == '<p title="a&quot;b">&lt;b&gt; &amp; <i>&quot;x&quot;</i></p>'


def test_attributes_are_left_out_where_there_is_nothing_to_say():
    found = tag("input", class_="a", data_ts="1.0", hidden=None, disabled=False, checked=True)

    assert found == '<input class="a" data-ts="1.0" checked>'


def test_line_breaks_are_kept():
    found = join([text("one\ntwo"), Html("<hr>")])

    assert found == "one<br>two<hr>"


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("*bold* _italic_ ~gone~ `code`", "<strong>bold</strong> <em>italic</em> <s>gone</s> <code>code</code>"),
        ("2*3*4 and snake_case_name", "2*3*4 and snake_case_name"),
        ("*bold with _italic_*", "<strong>bold with <em>italic</em></strong>"),
        ("`*not bold*`", "<code>*not bold*</code>"),
        ("```\na < b\n```".replace("<", "&lt;"), "<pre>a &lt; b</pre>"),
        ("&gt; quoted\nnot", "<blockquote>quoted</blockquote>not"),
        ("1 &lt; 2 &amp;&amp; x", "1 &lt; 2 &amp;&amp; x"),
        ("&lt;b&gt;x&lt;/b&gt;", "&lt;b&gt;x&lt;/b&gt;"),
        ("<@U0BEN>", '<span class="mention">@ben</span>'),
        ("<@U0ANA>", '<span class="mention me">@ana</span>'),
        ("<@U0UNKNOWN>", '<span class="mention">@U0UNKNOWN</span>'),
        ("<#C0CHECKOUT>", '<span class="mention">#checkout</span>'),
        ("<!here>", '<span class="mention call">@here</span>'),
        ("<!date^1700000000^{weather}|in the evening>", "<time>in the evening</time>"),
        (
            "<https://x.example/?a=1&amp;b=2|the graph>",
            '<a href="https://x.example/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer">the graph</a>',
        ),
    ],
)
def test_slacks_markup_is_drawn(stored, shown):
    found = mrkdwn(stored, READER)

    assert found == shown


def test_a_time_is_told_in_the_zone_of_this_machine():
    found = mrkdwn("<!date^1700000000^started {time}|15:13>", READER)

    assert found == f"<time>started {local_time(1_700_000_000):%H:%M}</time>"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//evil.example", 'https://x"onclick="a'])
def test_an_address_that_could_do_anything_else_is_no_link(url):
    found = link(url, "click", READER)

    assert found == "click"


def test_a_permalink_of_the_playground_stays_in_the_page_and_keeps_the_person():
    found = link("http://127.0.0.1:8080/archives/C0INCIDENTS/p1?thread_ts=1&cid=C", "below", READER)

    assert found == '<a href="/archives/C0INCIDENTS/p1?thread_ts=1&amp;cid=C&amp;as=ana">below</a>'


def test_code_shows_tokens_as_they_read():
    found = plain("curl <https://x.example|x.example> &lt;id&gt;")

    assert found == "curl x.example <id>"


@given(st.text(alphabet="<>&\"'`*_~|@!#/:= \nahrefjscpt()[]-\\1"))
def test_no_text_can_become_markup_of_its_own(raw):
    drawn = [mrkdwn(posted_text(raw), READER), mrkdwn(typed_text(raw, {}), READER), markdown(raw, READER)]

    rests = [ALLOWED.sub("", found) for found in drawn]

    assert not any("<" in rest or ">" in rest for rest in rests)


@pytest.mark.parametrize(
    "raw",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        "<javascript:alert(1)|x>",
        "[x](https://a.example/'onmouseover='alert(1))",
        '`"><script>`',
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        '|"><script>|x|\n|---|---|',
    ],
)
def test_the_usual_attacks_are_words(raw):
    drawn = [mrkdwn(posted_text(raw), READER), markdown(raw, READER)]

    rests = [ALLOWED.sub("", found) for found in drawn]

    assert not any("<" in rest for rest in rests)
    assert not any("javascript:" in href for found in drawn for href in re.findall(r'href="([^"]*)"', found))
