"""How a markdown block looks on the page."""

import pytest

from bot.playground.inline_view import Reader
from bot.playground.markdown_view import markdown
from bot.playground.stamps import Stamps
from bot.playground.workspace import Workspace

WORKSPACE = Workspace(Stamps(lambda: 1_700_000_000.0), lambda: None)
READER = Reader(WORKSPACE, WORKSPACE.user("ana"), "http://127.0.0.1:8080")


def drawn(source):
    return markdown(source, READER)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("## Cause ##", "<h4>Cause</h4>"),
        ("# One\n###### Six", "<h3>One</h3><h6>Six</h6>"),
        ("one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        ("> said\n> twice", "<blockquote><p>said<br>twice</p></blockquote>"),
        ("```python\na < b\n\n```\nend", "<pre>a &lt; b<br></pre><p>end</p>"),
        ("```\nnever closed", "<pre>never closed</pre>"),
        ("---", "<hr>"),
        ("", ""),
        ("text\n- list\ntext", "<p>text</p><ul><li>list</li></ul><p>text</p>"),
    ],
)
def test_a_block_of_markdown_is_drawn(source, shown):
    found = drawn(source)

    assert found == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("**bold** and __bold__", "<strong>bold</strong> and <strong>bold</strong>"),
        ("*a* and _b_", "<em>a</em> and <em>b</em>"),
        ("~~gone~~", "<s>gone</s>"),
        ("`a < b` ``c ` d``", "<code>a &lt; b</code> <code>c ` d</code>"),
        ("**bold `code`**", "<strong>bold <code>code</code></strong>"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        (r"\*not\* a list", "*not* a list"),
        ("<b>html</b> is words", "&lt;b&gt;html&lt;/b&gt; is words"),
        ("&lt;here&gt;", "&lt;here&gt;"),
        ("<!here> <@U0BEN>", '<span class="mention call">@here</span> <span class="mention">@ben</span>'),
    ],
)
def test_the_styles_inside_a_line_are_drawn(source, shown):
    found = drawn(source)

    assert found == f"<p>{shown}</p>"


def test_links_open_elsewhere():
    found = drawn("[step 4](https://x.example/4) or https://y.example.")

    assert 'href="https://x.example/4"' in found
    assert 'rel="noopener noreferrer">step 4</a>' in found
    assert 'href="https://y.example' in found


def test_a_table_is_drawn_with_its_head():
    found = drawn("| host | p95 |\n|---|:--:|\n| a\\|b | **2.4 s** |\n\nend")

    assert found == (
        "<table><thead><tr><th>host</th><th>p95</th></tr></thead>"
        "<tbody><tr><td>a|b</td><td><strong>2.4 s</strong></td></tr></tbody></table><p>end</p>"
    )


def test_a_line_with_a_bar_alone_is_no_table():
    found = drawn("a | b\nc | d")

    assert found == "<p>a | b<br>c | d</p>"
