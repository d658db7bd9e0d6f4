"""How a message, an ephemeral and a modal look on the page, piece by piece."""

import pytest

from bot.playground.element_view import Place, element
from bot.playground.inline_view import Reader
from bot.playground.message_view import Pane, clock
from bot.playground.modal_view import modal as drawn_modal
from bot.playground.stamps import Stamps
from bot.playground.workspace import Ephemeral, Message, View, Workspace
from tests.playground.samples import actions, button, field, modal, option, plain, section

C, TS = "C0INCIDENTS", "1700000000.000100"


@pytest.fixture
def workspace():
    return Workspace(Stamps(lambda: 1_700_000_000.0), lambda: None)


@pytest.fixture
def pane(workspace):
    return Pane("channel", Reader(workspace, workspace.user("ana"), "http://127.0.0.1:8080"))


def said(workspace, user="U0ANA", text="hello", ts=TS, **rest):
    return workspace.add(Message(C, ts, user, text, **rest))


def test_a_message_can_be_found_by_its_time(workspace, pane):
    drawn = pane.message(said(workspace))

    assert f'id="channel-{TS}"' in drawn
    assert f'data-testid="message-{TS}"' in drawn
    assert f'<time title="{TS}">{clock(TS)}</time>' in drawn


def test_the_same_message_has_another_identity_in_the_thread(workspace, pane):
    message = said(workspace)

    drawn = Pane("thread", pane.reader).message(message)

    assert f'id="thread-{TS}"' in drawn


def test_messages_and_ephemerals_stand_in_the_order_of_time(workspace, pane):
    late = said(workspace, text="third", ts="1700000003.000000")
    early = said(workspace, text="first", ts="1700000001.000000")
    whisper = Ephemeral(C, "1700000002.000000", "U0ANA", "second")

    drawn = pane.log([late, early], [whisper])

    assert drawn.index("first") < drawn.index("second") < drawn.index("third")


@pytest.mark.parametrize(
    ("user", "initial", "look"),
    [("U0BEN", "b", "avatar ben"), ("UBOT", "S", "avatar steersman"), ("USLACKBOT", "?", "")],
)
def test_everybody_has_a_face(workspace, pane, user, initial, look):
    drawn = pane.message(said(workspace, user))

    assert look in drawn
    assert f'aria-hidden="true">{initial}</span>' in drawn


def test_a_persons_text_counts_and_not_their_blocks(workspace, pane):
    drawn = pane.message(said(workspace, text="the text", blocks=(section("the block"),)))

    assert "the text" in drawn
    assert "the block" not in drawn


def test_an_apps_blocks_count_and_not_its_text(workspace, pane):
    drawn = pane.message(said(workspace, "UBOT", "the text", blocks=(section("the block"),)))

    assert "the block" in drawn
    assert "the text" not in drawn


def test_an_app_without_blocks_is_shown_by_its_text(workspace, pane):
    drawn = pane.message(said(workspace, "U0ALERTS", "*FIRING*"))

    assert "<strong>FIRING</strong>" in drawn


def test_one_reply_is_one_reply(workspace, pane):
    root = said(workspace)
    said(workspace, text="reply", ts="1700000009.000000", thread_ts=root.ts)

    drawn = pane.message(root)

    assert ">1 reply</a>" in drawn
    assert f"thread={TS}" in drawn


def test_the_words_to_edit_are_those_that_were_typed(workspace, pane):
    stored = "<@UBOT> <!here> <https://x.example/?a=1&amp;b=2> <https://x.example|x> &lt;b&gt;"

    drawn = pane.message(said(workspace, text=stored))

    typed = "@Steersman @here https://x.example/?a=1&amp;b=2 &lt;https://x.example|x&gt; &lt;b&gt;"
    assert f'data-raw="{typed}"' in drawn


def test_an_ephemeral_has_buttons_and_no_tools(pane):
    drawn = pane.whisper(Ephemeral(C, TS, "U0ANA", "sure?", (actions(button("yes")),)))

    assert "Only visible to you" in drawn
    assert 'data-testid="button-yes"' in drawn
    assert 'class="tools"' not in drawn


def test_a_choice_with_several_options_is_a_row_of_buttons():
    choice = {"type": "radio_buttons", "action_id": "step", "options": [option("3", "Step 3"), option("4", "Step 4")]}

    drawn = element(choice, Place(C, TS), "U0ANA")

    assert drawn.count("<button") == 2
    assert 'data-action-id="step" data-value="4"' in drawn


def test_no_modal_is_nothing(pane):
    drawn = drawn_modal(None, pane.reader)

    assert drawn == ""


def test_a_modal_shows_its_fields_its_choices_and_its_errors(pane):
    select = {"type": "static_select", "action_id": "step", "options": [option("3", "Step 3")]}
    choice = {"type": "input", "block_id": "where", "label": plain("Where to"), "element": select}
    view = View("V1", "U0ANA", modal(section("*Choose*"), field("why", "reason"), choice), errors={"why": "Say more."})

    drawn = drawn_modal(view, pane.reader)

    for part in (
        "<strong>Choose</strong>",
        'data-block="why" data-action-id="reason"',
        '<option value="3">Step 3</option>',
        '<span class="wrong">Say more.</span>',
        ">Go</button>",
        ">Leave</button>",
    ):
        assert part in drawn


def test_radio_buttons_are_one_choice_each_with_its_description(pane):
    options = [{**option("3", "Step 3"), "description": plain("I read <b>")}, option("2", "Step 2")]
    radio = {"type": "radio_buttons", "action_id": "step", "options": options}
    choice = {"type": "input", "block_id": "where", "label": plain("Where to"), "element": radio}

    drawn = drawn_modal(View("V1", "U0ANA", modal(choice), errors={"where": "Gone."}), pane.reader)

    assert drawn.count('type="radio" name="field-step"') == 2
    for part in (
        'value="3" required=""',
        "<span>Step 3</span>",
        '<span class="small">I read &lt;b&gt;</span>',
        'data-kind="radio_buttons"',
        'data-block="where" data-action-id="step"',
        '<span class="wrong">Gone.</span></fieldset>',
    ):
        assert part in drawn


def test_a_modal_without_a_submit_button_has_none(pane):
    words = {key: part for key, part in modal(section("a")).items() if key not in ("submit", "close")}

    drawn = drawn_modal(View("V1", "U0ANA", words), pane.reader)

    assert "modal-submit" not in drawn
    assert ">Close</button>" in drawn
