"""How blocks, buttons and titles look on the page."""

import pytest

from bot.playground.block_view import BlockView
from bot.playground.card_title import tone_of
from bot.playground.element_view import Place
from bot.playground.inline_view import Reader
from bot.playground.stamps import Stamps
from bot.playground.workspace import Workspace
from tests.playground.samples import (
    actions,
    button,
    confirm,
    context,
    feedback,
    lines,
    option,
    overflow,
    plain,
    plan,
    rich,
    section,
    task,
    text,
)

WORKSPACE = Workspace(Stamps(lambda: 1_700_000_000.0), lambda: None)
READER = Reader(WORKSPACE, WORKSPACE.user("ana"), "http://127.0.0.1:8080")
VIEW = BlockView(READER, Place("C0INCIDENTS", "1.000001"))


def drawn(*blocks):
    return VIEW.blocks([{"block_id": f"b{number}", **block} for number, block in enumerate(blocks)])


def rich_title(*state):
    return rich(text("Why is checkout slow?", bold=True), *state)


def test_markup_is_read_where_a_text_says_so_and_nowhere_else():
    words = drawn(section("*a*"), {"type": "section", "text": plain("*a* <b>")})

    assert "<strong>a</strong>" in words
    assert "*a* &lt;b&gt;" in words


@pytest.mark.parametrize(
    "title",
    [
        section("*Why is checkout slow?* · investigating · step 4"),
        rich_title(text(" · investigating · step 4")),
        rich_title(text(" · "), text("investigating · step 4")),
    ],
)
def test_the_state_behind_a_title_is_a_pill(title):
    found = drawn(title)

    assert "<strong>Why is checkout slow?</strong>" in found
    assert '<span class="pill blue" data-testid="state">investigating · step 4</span>' in found


def test_the_pill_names_people():
    found = drawn(rich_title(text(" · steered by "), {"type": "user", "user_id": "U0BEN"}))

    assert 'steered by <span class="mention">@ben</span></span>' in found


@pytest.mark.parametrize(
    "block", [section("*bold* and more"), section("plain · words"), rich(text("a", bold=True)), rich_title()]
)
def test_a_block_without_a_state_has_no_pill(block):
    found = drawn(block)

    assert "pill" not in found


@pytest.mark.parametrize(
    ("state", "tone"),
    [
        ("waiting for a free worker", "amber"),
        ("investigating · step 4", "blue"),
        ("changing course", "blue"),
        ("paused by @ana", "amber"),
        ("needs a yes: restart checkout", "amber"),
        ("stopping", "red"),
        ("stopped by @ana after 5 steps", "red"),
        ("steered by @ben", "purple"),
        ("taken back to step 3 by @ana", "purple"),
        ("done in 2 min 10 s", "green"),
        ("ended without an answer", "red"),
        ("failed", "red"),
        ("thinking", "grey"),
    ],
)
def test_each_state_has_its_colour(state, tone):
    found = tone_of(state)

    assert found == tone


def test_a_rich_text_draws_every_kind_of_element():
    block = rich(
        text("a ", bold=True),
        text("b", code=True),
        text("c", italic=True, strike=True),
        {"type": "link", "url": "https://x.example", "text": "x"},
        {"type": "user", "user_id": "U0BEN"},
        {"type": "channel", "channel_id": "C0CHECKOUT"},
        {"type": "broadcast", "range": "here"},
        {"type": "emoji", "name": "tada"},
        {"type": "emoji", "name": "unheard_of"},
        {"type": "date", "timestamp": 1, "format": "{unknown}", "fallback": "long ago"},
    )

    found = drawn(section("first"), block)

    for part in (
        "<strong>a </strong><code>b</code><s><em>c</em></s>",
        'href="https://x.example"',
        '<span class="mention">@ben</span><span class="mention">#checkout</span>',
        '<span class="mention call">@here</span>🎉:unheard_of:<time>long ago</time>',
    ):
        assert part in found


def test_nothing_in_a_rich_text_is_read_for_markup():
    found = drawn(rich(text("*a* <!here> <b>")))

    assert "*a* &lt;!here&gt; &lt;b&gt;" in found


def test_lists_quotes_and_code_of_a_rich_text_are_drawn():
    item = {"type": "rich_text_section", "elements": [text("a")]}
    parts = [
        {"type": "rich_text_list", "style": "bullet", "elements": [item]},
        {"type": "rich_text_list", "style": "ordered", "elements": [item]},
        {"type": "rich_text_quote", "elements": [text("q")]},
        {"type": "rich_text_preformatted", "elements": [text("x\n  y")]},
    ]

    found = drawn({"type": "rich_text", "elements": parts})

    assert "<ul><li>a</li></ul><ol><li>a</li></ol><blockquote>q</blockquote><pre>x<br>  y</pre>" in found


def test_the_line_of_a_card_that_names_a_call_is_set_apart():
    found = drawn(rich_title(text(" · investigating")), rich(text("Read metrics "), text("x.internal", code=True)))

    assert '<div class="now">Read metrics <code>x.internal</code></div>' in found


def test_the_rows_of_a_card_have_labels_and_one_that_is_bold_throughout_warns():
    rows = lines(
        [text("Finished: metrics, logs")],
        [text("Dropped: ", bold=True), text("2 reads")],
        [text("Uncertain: restart may have happened", bold=True)],
        [text("A long sentence with a colon: and more")],
    )

    found = drawn(rich_title(text(" · stopped")), rows)

    assert '<p class="row"><span class="label">Finished</span><span>metrics, logs</span></p>' in found
    assert '<p class="row"><span class="label">Dropped</span><span>2 reads</span></p>' in found
    assert '<p class="row warns"><span class="label">Uncertain</span>' in found
    assert "<p>A long sentence with a colon: and more</p>" in found


def test_a_plan_is_a_checklist():
    found = drawn(plan(task("a", output=rich(text("200 · 812 ms"))), task("b", "error"), task("c", "in_progress")))

    assert "<summary>Steps</summary>" in found
    assert found.count("<li") == 3
    for icon in ("icon complete", "icon error", "icon in_progress"):
        assert f'class="{icon}"' in found
    assert '<span class="note">200 · 812 ms</span>' in found


def test_a_plan_keeps_its_identity_between_updates():
    before, after = drawn(plan(task("a"), block_id="p")), drawn(plan(task("a"), task("b"), block_id="p"))

    assert 'id="plan-1.000001-p"' in before
    assert 'id="plan-1.000001-p"' in after


def test_a_button_carries_what_a_click_sends():
    found = drawn(actions(button("stop", "Stop", style="danger", value="v1:r")))

    for part in (
        'class="btn danger"',
        'data-testid="button-stop"',
        'data-do="click"',
        'data-channel="C0INCIDENTS"',
        'data-ts="1.000001"',
        'data-action-id="stop"',
        'data-value="v1:r"',
        ">Stop</button>",
    ):
        assert part in found
    assert "data-confirm" not in found


def test_a_question_travels_with_its_button():
    found = drawn(actions(button("stop", confirm=confirm(style="danger"))))

    assert "data-confirm=" in found
    assert "&quot;It ends.&quot;" in found


def test_a_menu_offers_its_options():
    found = drawn(actions(overflow("more", option("clear", "Stop and clear"), option("back"))))

    assert 'data-testid="button-more"' in found
    assert 'data-testid="option-clear"' in found
    assert ">Stop and clear</button>" in found


def test_thumbs_are_two_buttons():
    found = drawn(feedback())

    assert 'data-testid="button-feedback-+"' in found
    assert 'data-testid="button-feedback--"' in found


def test_a_button_for_somebody_else_is_not_shown():
    found = drawn(
        actions(button("mine", visible_to_user_ids=["U0ANA"]), button("theirs", visible_to_user_ids=["U0BEN"]))
    )

    assert "button-mine" in found
    assert "button-theirs" not in found


def test_the_other_blocks_are_drawn():
    cell = {"type": "raw_text", "text": "2.4 s"}
    found = drawn(
        {"type": "header", "text": plain("Cause")},
        {"type": "section", "fields": [plain("left"), plain("right")]},
        section("beside", accessory=button("more")),
        context("asked by <@U0BEN>", "run 7f3a"),
        {"type": "markdown", "text": "**bold**"},
        {"type": "divider"},
        {"type": "table", "rows": [[cell]]},
        {"type": "image", "alt_text": "a graph", "image_url": "https://x.example/a.png"},
    )

    for part in (
        "<h3>Cause</h3>",
        '<div class="fields"><p>left</p><p>right</p></div>',
        'data-testid="button-more"',
        "<span>run 7f3a</span>",
        "<p><strong>bold</strong></p>",
        "<hr>",
        "<table><tr><td>2.4 s</td></tr></table>",
        "[image] a graph",
    ):
        assert part in found
    assert "x.example" not in found
