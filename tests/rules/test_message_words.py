"""Which texts are words that act as buttons, and which only look like them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.rules.message_words import addresses_another, approval_word, command_of, interject, without_mention
from bot.rules.terms import Command, Phase

BOT = "U0SELF"


@pytest.mark.parametrize("command", Command)
@pytest.mark.parametrize(
    "shape", ["{}", " {} ", "{}!", "{}.", "<@U0SELF> {}", "<@U0SELF>: {}", "{} <@U0SELF>", "<@U0SELF|bot>, {}…", "*{}*"]
)
def test_a_word_that_is_the_whole_text_is_a_command(command, shape):
    for word in (command.value, command.value.upper(), command.value.title()):
        assert command_of(shape.format(word), BOT) is command


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<@U0SELF>",
        "stop the deploy on web-3 and look at web-4",
        "stop worrying, I think it is DNS again",
        "please stop",
        "stop stop",
        "stopped",
        "st\u200bop",
        "\u200bstop",
        "s t o p",
        "\ufb06op",
        "st\u043ep",
        "<@U0BOB> stop",
        "st<@U0SELF>op",
        "stop?",
        "&gt; stop",
    ],
)
def test_what_only_looks_like_a_command_is_none(text):
    assert command_of(text, BOT) is None


def test_asking_for_the_status_is_the_command():
    assert command_of("<@U0SELF> status?", BOT) is Command.STATUS


@pytest.mark.parametrize("text", ["approve", "YES", "ok", "Go!", "deny.", "no", "<@U0SELF> yes"])
def test_the_words_people_answer_approvals_with_are_known(text):
    assert approval_word(text, BOT) is True


@pytest.mark.parametrize("text", ["", "yes, as in May", "go on", "nope", "ok then", "<@U0BOB> yes"])
def test_a_sentence_is_no_answer_to_an_approval(text):
    assert approval_word(text, BOT) is False


@pytest.mark.parametrize("text", ["<@U0BOB> can you look?", "  <@U0BOB|bob>: hi", "<!subteam^S0ONCALL|@oncall> look"])
def test_a_text_that_begins_with_a_name_addresses_another(text):
    assert addresses_another(text, BOT) is True


@pytest.mark.parametrize("text", ["<@U0SELF> ask <@U0BOB>", "ask <@U0BOB>", "<!here> look", "<#C0INC> is down", ""])
def test_a_text_that_begins_otherwise_addresses_nobody_else(text):
    assert addresses_another(text, BOT) is False


@pytest.mark.parametrize(
    ("text", "mentions_bot", "is_direct", "phase", "expected"),
    [
        ("look at payments", False, False, Phase.RUNNING, False),
        ("look at payments", True, False, Phase.RUNNING, True),
        ("look at payments", False, True, Phase.UNTOUCHED, True),
        ("!look at payments", False, False, Phase.UNTOUCHED, False),
        ("!look at payments", False, False, Phase.IDLE, False),
        ("!look at payments", False, False, Phase.RUNNING, True),
        ("  ! look at payments", False, False, Phase.PAUSED, True),
        ("!look at payments", False, False, Phase.WAITING_APPROVAL, True),
        ("look at payments!", False, False, Phase.RUNNING, False),
    ],
)
def test_a_message_is_meant_for_the_bot_by_mention_by_place_or_by_its_first_sign(
    text, mentions_bot, is_direct, phase, expected
):
    assert interject(text, mentions_bot=mentions_bot, is_direct=is_direct, phase=phase) is expected


def test_only_the_mentions_of_the_bot_are_taken_out():
    assert without_mention("<@U0SELF> ask <@U0BOB> and <@U0SELF|bot>", BOT) == "ask <@U0BOB> and"


@given(st.text(), st.sampled_from(["stop", "pause", "resume", "status"]), st.text(min_size=1))
def test_a_command_holds_no_letter_that_is_not_of_its_word(before, word, after):
    text = f"{before}{word}{after}"

    found = command_of(text, BOT)

    assert found is None or [each for each in text if each.isalnum()] == list(word)
