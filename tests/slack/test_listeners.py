"""What Slack is told: an event is acknowledged when it is in the database, and not before."""

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.edge import USELESS
from bot.slack.listeners import register
from bot.slack.listeners.buttons import Buttons
from tests.slack.door import ANA, BEN, INCIDENTS, OUR, Door

OK, NOT_ACKNOWLEDGED = 200, 500


@pytest.fixture
async def door(new_database_url):
    """A door of the test's own, since some take a table away."""
    async with Door.open(new_database_url) as door:
        yield door


@pytest.fixture
def bolt(door):
    """Bolt, set up as the app sets it up, with our listeners."""

    async def authorize(**_):
        return AuthorizeResult(enterprise_id=None, team_id=OUR.team_id, bot_user_id=OUR.bot_user_id)

    app = AsyncApp(
        client=AsyncWebClient(base_url=f"{door.slack.url}/api/"),
        authorize=authorize,
        process_before_response=True,
        ignoring_self_events_enabled=False,
    )
    register(app, door.messages, door.buttons)
    return app


async def answer(bolt, envelope) -> int:
    """What Bolt answers to an envelope; only 200 is acknowledged."""
    request = AsyncBoltRequest(mode="socket_mode", body=envelope.payload)
    return (await bolt.async_dispatch(request)).status


async def take_away(door):
    await door.raw.execute("alter table ingress rename to ingress_gone")


async def give_back(door):
    await door.raw.execute("alter table ingress_gone rename to ingress")


async def test_an_event_is_acknowledged_when_it_is_stored(door, bolt):
    await door.slack.say(ANA, INCIDENTS, "@Steersman why?")

    answers = [await answer(bolt, each) for each in door.slack.deliveries()]

    assert answers == [OK, OK]
    assert await door.raw.fetchval("select count(*) from runs") == 1


async def test_an_event_that_could_not_be_stored_is_not_acknowledged_and_its_repetition_is_taken_in(door, bolt):
    await door.slack.say(ANA, INCIDENTS, "@Steersman why?")
    (first, _) = door.slack.deliveries()
    await take_away(door)
    failed = await answer(bolt, first)
    await give_back(door)

    repeated = await answer(bolt, first)

    assert (failed, repeated) == (NOT_ACKNOWLEDGED, OK)
    assert await door.raw.fetchval("select count(*) from runs") == 1


async def test_a_press_that_could_not_be_stored_is_not_acknowledged(door, bolt):
    root = (await door.says(ANA, "@Steersman why?")).ts
    card = await door.card_of(root)
    press = await door.slack.click(BEN, INCIDENTS, card, "steersman_stop")
    await take_away(door)
    failed = await answer(bolt, press)
    await give_back(door)

    again = await answer(bolt, press)

    assert (failed, again) == (NOT_ACKNOWLEDGED, OK)
    assert await door.raw.fetchval("select reason from settlements") == "stopped"


@pytest.mark.parametrize("action_id", ["steersman_of_old", "steersman_stop_all"])
async def test_a_button_of_no_known_name_is_acknowledged(door, bolt, action_id):
    root = (await door.says(ANA, "@Steersman why?")).ts
    card = await door.card_of(root)

    press = await door.slack.click(BEN, INCIDENTS, card, action_id)

    assert await answer(bolt, press) == OK


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message"},
        {"type": "message", "subtype": "channel_join", "channel": INCIDENTS, "user": BEN, "ts": "1.1"},
        {"type": "message", "subtype": "message_changed", "channel": INCIDENTS, "message": None},
        {"type": "message", "subtype": "message_deleted", "channel": INCIDENTS},
        {"type": "app_mention", "text": 7},
        {"type": "agent_session_stopped"},
    ],
)
async def test_what_says_nothing_to_us_is_acknowledged_and_starts_nothing(door, bolt, event):
    envelope = door.slack.publish(event)

    assert await answer(bolt, envelope) == OK
    assert await door.raw.fetchval("select count(*) from runs") == 0


async def test_our_own_echo_passes_bolt(door, bolt):
    root = (await door.says(ANA, "@Steersman why?")).ts
    run_id = await door.raw.fetchval("select id from runs")
    metadata = {"event_type": "steersman_card", "event_payload": {"post_key": f"card:{run_id}"}}
    ts = await door.calls.post(INCIDENTS, root, {"text": "card", "metadata": metadata})

    answered = await answer(bolt, door.slack.deliveries()[-1])

    assert answered == OK
    assert await door.raw.fetchval("select ts from cards") == ts


async def choose(door, value, action_id="steersman_more"):
    """Post a card of ours with a menu, and have somebody choose from it."""
    root = (await door.says(ANA, "@Steersman why?")).ts
    run_id = await door.raw.fetchval("select id from runs")
    menu = {
        "type": "overflow",
        "action_id": action_id,
        "options": [{"text": {"type": "plain_text", "text": "x"}, "value": value.format(run=run_id)}],
    }
    metadata = {"event_type": "steersman_card", "event_payload": {"post_key": f"card:{run_id}"}}
    blocks = [{"type": "actions", "elements": [menu]}]
    card = await door.calls.post(INCIDENTS, root, {"text": "card", "blocks": blocks, "metadata": metadata})
    await door.carry()
    return await door.slack.click(BEN, INCIDENTS, card, action_id)


async def test_a_choice_of_the_menu_is_carried_out_and_acknowledged(door, bolt):
    chosen = await choose(door, "clear:v1:{run}")

    answered = await answer(bolt, chosen)

    assert answered == OK
    assert await door.raw.fetchval("select reason from settlements") == "stopped"
    assert await door.raw.fetchval("select scope from interrupts") == "thread"


@pytest.mark.parametrize("value", ["eat:v1:{run}", "v1:{run}", "nothing"])
async def test_a_choice_that_nobody_carries_out_is_answered_in_private_and_stops_nothing(door, bolt, value):
    chosen = await choose(door, value)

    answered = await answer(bolt, chosen)

    assert answered == OK
    assert await door.whispers(BEN) == [USELESS]
    assert await door.raw.fetchval("select count(*) from settlements") == 0


async def test_a_menu_that_would_offer_what_nobody_carries_out_is_refused(door):
    with pytest.raises(ValueError, match="clear"):
        Buttons(door.edge, {})
