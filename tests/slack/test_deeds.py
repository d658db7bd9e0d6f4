"""Show what it did: a modal for who may see it, a word in private for who may not."""

import asyncio

import pytest

from bot.playground.faults import Fault
from bot.rules.access import Action, refusal
from bot.rules.terms import Source
from storage.deeds import NOT_HERE
from tests.slack.door import ANA, BEN, EVE, GUS, INCIDENTS, Door

LIMIT = 20


@pytest.fixture
async def door(database_url):
    async with Door.open(database_url) as door:
        yield door


async def shows(door, who, value="show:v1:{run}"):
    """Ana has asked, our card stands in the thread, and somebody chooses from its menu."""
    root = (await door.says(ANA, "@Steersman why is checkout slow?")).ts
    run_id = await door.raw.fetchval("select id from runs")
    option = {"text": {"type": "plain_text", "text": "x"}, "value": value.format(run=run_id)}
    blocks = [{"type": "actions", "elements": [
        {"type": "overflow", "action_id": "steersman_more", "options": [option]}
    ]}]  # fmt: skip
    metadata = {"event_type": "steersman_card", "event_payload": {"post_key": f"card:{run_id}"}}
    card = await door.calls.post(INCIDENTS, root, {"text": "card", "blocks": blocks, "metadata": metadata})
    await door.carry()
    await door.slack.click(who, INCIDENTS, card, "steersman_more")
    await asyncio.wait_for(door.carry(), LIMIT)


def opened(door):
    return [(view.user, view.view["title"]["text"]) for view in door.slack.workspace.views.values()]


@pytest.mark.parametrize("who", [ANA, BEN])
async def test_the_requester_and_a_teammate_see_the_modal(door, who):
    await shows(door, who)

    assert opened(door) == [(who, "What it did")]
    assert door.acknowledged == 1


@pytest.mark.parametrize(("who", "source"), [(GUS, Source.GUEST), (EVE, Source.EXTERNAL)])
async def test_a_guest_and_an_outsider_are_told_in_private_why_not(door, who, source):
    await shows(door, who)

    assert opened(door) == []
    assert await door.whispers(who) == [refusal(Action.VIEW_AUDIT, source)]


async def test_a_run_that_is_not_this_cards_is_not_shown(door):
    await shows(door, ANA, "show:v1:another")

    assert opened(door) == []
    assert await door.whispers(ANA) == [NOT_HERE]


async def test_a_slack_that_refuses_the_view_breaks_nothing(door):
    door.slack.fail(Fault("views.open", error="internal_error"))

    await shows(door, ANA)

    assert door.acknowledged == 1
