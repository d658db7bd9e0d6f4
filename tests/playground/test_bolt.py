"""The local Slack as a bot made with slack_bolt meets it, over real HTTP and a real socket."""

from tests.playground.samples import actions, button

C = "C0INCIDENTS"


async def test_a_mention_reaches_a_bolt_app_as_two_events(slack, bolt):
    await slack.say("ana", C, "@Steersman why is checkout slow?")

    await bolt.until(lambda: len(bolt.heard) == 2)

    assert {body["event"]["type"] for body in bolt.heard} == {"message", "app_mention"}
    await slack.wait_for(lambda: all(envelope.state == "acked" for envelope in slack.deliveries()))


async def test_an_event_whose_listener_fails_comes_again(slack, bolt):
    bolt.fails = True
    await slack.say("ana", C, "hello")
    await bolt.until(lambda: len(bolt.heard) == 2)

    bolt.fails = False
    await slack.wait_for(lambda: slack.deliveries()[0].state == "acked")

    assert len({body["event_id"] for body in bolt.heard}) == 1


async def test_a_bolt_app_hears_its_own_posts(slack, bolt, client):
    await client.chat_postMessage(channel=C, text="hello")

    await bolt.until(lambda: len(bolt.heard) == 1)

    assert bolt.heard[0]["event"]["bot_id"] == "B0STEERSMAN"


async def test_a_click_reaches_a_bolt_app_and_is_acknowledged(slack, bolt, client):
    posted = await client.chat_postMessage(channel=C, text="card", blocks=[actions(button("stop", value="v1:r"))])

    envelope = await slack.click("ana", C, posted["ts"], "stop")

    assert await envelope.acked(5)
    assert bolt.heard[-1]["actions"][0]["value"] == "v1:r"


async def test_a_click_without_a_listener_is_not_acknowledged(slack, bolt, client):
    posted = await client.chat_postMessage(channel=C, text="card", blocks=[actions(button("unknown"))])

    envelope = await slack.click("ana", C, posted["ts"], "unknown")

    assert not await envelope.acked(5)


async def test_a_bolt_app_comes_back_after_a_refresh_and_misses_nothing(slack, bolt):
    (before,) = slack.socket_mode.sockets
    await slack.refresh()

    await slack.say("ana", C, "said in the gap")
    await bolt.until(lambda: bolt.heard)

    assert bolt.heard[0]["event"]["text"] == "said in the gap"
    assert before not in slack.socket_mode.sockets


async def test_the_native_stop_reaches_a_bolt_app(slack, bolt, client):
    root = await slack.say("ana", C, "why?")
    await client.api_call(
        "agents.sessions.setStatus", json={"channel_id": C, "thread_ts": root.ts, "status": "processing"}
    )

    envelope = await slack.native_stop("ana", C, root.ts)

    assert await envelope.acked(5)
    assert bolt.heard[-1]["event"]["type"] == "agent_session_stopped"
