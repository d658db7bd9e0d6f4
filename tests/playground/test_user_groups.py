"""User groups of the playground: who is in one, and how a mention of one is stored and shown."""

import pytest
from slack_sdk.errors import SlackApiError

from bot.playground.cast import ANA, BEN, GUS, ONCALL
from bot.playground.changes import Changes
from bot.playground.inline_view import Reader, mrkdwn
from bot.playground.rich_text_view import rich_text as shown_rich_text
from bot.playground.stamps import Stamps
from bot.playground.texts import Piece, pieces, posted_text, rich_text
from bot.playground.workspace import Workspace

MENTION = "ask <!subteam^S0ONCALL> or <!subteam^S0NONE|@old>"


def reader(user) -> Reader:
    return Reader(Workspace(Stamps(lambda: 1_700_000_000.0), Changes().notify), user, "http://127.0.0.1:1")


async def test_a_group_lists_its_people(client):
    answer = await client.usergroups_users_list(usergroup=ONCALL.id)

    assert answer["users"] == [ANA.id, BEN.id]


async def test_a_group_that_is_not_there_is_refused(client):
    with pytest.raises(SlackApiError, match="no_such_subteam"):
        await client.usergroups_users_list(usergroup="S0NONE")


def test_a_mention_of_a_group_stays_alive_and_is_taken_apart():
    stored = posted_text(MENTION)

    assert stored == MENTION
    assert list(pieces(stored))[1] == Piece("group", "S0ONCALL")
    assert rich_text(stored, "b1")["elements"][0]["elements"][1] == {"type": "usergroup", "usergroup_id": "S0ONCALL"}


def test_a_group_is_shown_by_its_handle_and_marked_for_those_who_are_in_it():
    mine, of_guest = str(mrkdwn(MENTION, reader(ANA))), str(mrkdwn(MENTION, reader(GUS)))

    assert '<span class="mention me">@oncall</span>' in mine
    assert '<span class="mention">@oncall</span>' in of_guest
    assert '<span class="mention">@S0NONE</span>' in mine


def test_a_group_in_rich_text_is_shown_the_same_way():
    element = {"type": "usergroup", "usergroup_id": "S0ONCALL"}
    block = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [element]}]}

    assert '<span class="mention me">@oncall</span>' in str(shown_rich_text(block, reader(BEN)))
