"""Envelopes: to one socket each, again until they are acknowledged, and never lost while no socket is open."""

import asyncio

import aiohttp
import pytest

from bot.playground.local_slack import SlackOptions
from bot.playground.socket_mode import MOST_SOCKETS

PATIENT = SlackOptions(ack_timeout=5.0)


def numbers(envelope):
    return [attempt.number for attempt in envelope.attempts]


async def ticket(slack):
    answer = await slack.call("apps.connections.open", {}, "xapp-playground")
    return answer.body["url"]


async def test_an_acknowledged_envelope_is_sent_once(slack, ears):
    await slack.say("ana", "#incidents", "hello")

    await slack.wait_for(lambda: slack.deliveries()[0].state == "acked")

    assert [frame["retry_attempt"] for frame in ears.frames] == [0]
    assert [frame["retry_reason"] for frame in ears.frames] == [""]


async def test_an_envelope_that_is_not_acknowledged_comes_again_and_says_so(slack, new_ears):
    deaf = new_ears(acks=False)
    await slack.connect(deaf.hear)
    await slack.say("ana", "#incidents", "hello")

    await slack.wait_for(lambda: slack.deliveries()[0].state == "gave_up")

    assert [(frame["retry_attempt"], frame["retry_reason"]) for frame in deaf.frames] == [
        (0, ""),
        (1, "timeout"),
        (2, "timeout"),
        (3, "timeout"),
    ]
    assert len({frame["payload"]["event_id"] for frame in deaf.frames}) == 1


async def test_retries_end_as_soon_as_one_is_acknowledged(slack, new_ears):
    listener = new_ears(acks=False)
    await slack.connect(listener.hear)
    await slack.say("ana", "#incidents", "hello")
    await slack.wait_for(lambda: listener.frames)

    listener.acks = True
    await slack.wait_for(lambda: slack.deliveries()[0].state == "acked")

    assert numbers(slack.deliveries()[0]) == [0, 1]


async def test_what_is_sent_while_no_socket_is_open_comes_as_the_retry_of_the_first_that_opens(slack, new_ears):
    await slack.say("ana", "#incidents", "anybody there?")
    listener = new_ears()

    await slack.connect(listener.hear)
    await slack.wait_for(lambda: slack.deliveries()[0].state == "acked")

    assert [frame["retry_attempt"] for frame in listener.frames] == [1]


async def test_each_envelope_goes_to_one_of_the_open_sockets(slack, new_ears):
    first, second = new_ears(), new_ears()
    await slack.connect(first.hear)
    await slack.connect(second.hear)

    for number in range(4):
        await slack.say("ana", "#incidents", f"message {number}")
    await slack.wait_for(lambda: all(envelope.state == "acked" for envelope in slack.deliveries()))

    assert (len(first.frames), len(second.frames)) == (2, 2)


async def test_a_late_acknowledgement_still_counts(slack, new_ears):
    deaf = new_ears(acks=False)
    await slack.connect(deaf.hear)
    await slack.say("ana", "#incidents", "hello")
    await slack.wait_for(lambda: slack.deliveries()[0].state == "gave_up")

    slack.socket_mode.take_frame({"envelope_id": deaf.frames[0]["envelope_id"]})

    assert slack.deliveries()[0].state == "acked"


async def test_a_click_is_sent_once_because_its_person_is_told_that_it_failed(slack, new_ears):
    deaf = new_ears(acks=False)
    await slack.connect(deaf.hear)
    envelope = slack.socket_mode.offer("interactive", {"type": "block_actions"})

    acked = await envelope.acked(1)

    assert not acked
    assert envelope.state == "gave_up"
    assert [frame.get("retry_attempt") for frame in deaf.frames] == [None]
    assert deaf.frames[0]["accepts_response_payload"]


async def test_a_click_without_any_socket_fails_at_once(slack):
    envelope = slack.socket_mode.offer("interactive", {"type": "block_actions"})

    acked = await envelope.acked(1)

    assert (acked, envelope.attempts) == (False, [])


async def test_held_envelopes_go_in_order_when_delivery_resumes(slack, ears):
    slack.pause_delivery()
    for word in ("one", "two"):
        await slack.say("ana", "#incidents", word)
    held = [envelope.state for envelope in slack.deliveries()]

    slack.resume_delivery()
    await slack.wait_for(lambda: len(ears.frames) == 2)

    assert held == ["held", "held"]
    assert [event["text"] for event in ears.events()] == ["one", "two"]


async def test_a_held_envelope_may_overtake_an_older_one(slack, ears):
    slack.pause_delivery()
    for word in ("one", "two"):
        await slack.say("ana", "#incidents", word)

    slack.socket_mode.release(slack.deliveries()[1].id)
    await slack.wait_for(lambda: len(ears.frames) == 1)
    slack.resume_delivery()
    await slack.wait_for(lambda: len(ears.frames) == 2)

    assert [event["text"] for event in ears.events()] == ["two", "one"]


async def test_a_ticket_opens_one_socket_and_no_second(slack, http):
    url = await ticket(slack)

    async with http.ws_connect(url) as socket:
        greeting = await socket.receive_json(timeout=5)

        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(url)

    assert greeting["type"] == "hello"
    assert greeting["num_connections"] == 1
    assert refused.value.status == 403


async def test_a_real_websocket_gets_and_acknowledges_an_envelope(slack, http):
    async with http.ws_connect(await ticket(slack)) as socket:
        await socket.receive_json(timeout=5)
        await slack.say("ana", "#incidents", "hello")

        frame = await socket.receive_json(timeout=5)
        await socket.send_json({"envelope_id": frame["envelope_id"]})
        await slack.wait_for(lambda: slack.deliveries()[0].state == "acked")

    assert frame["type"] == "events_api"
    assert frame["payload"]["event"]["text"] == "hello"


async def test_nonsense_on_a_socket_acknowledges_nothing(slack, http):
    async with http.ws_connect(await ticket(slack)) as socket:
        await socket.receive_json(timeout=5)
        await slack.say("ana", "#incidents", "hello")
        await socket.receive_json(timeout=5)

        await socket.send_str("not json")
        await socket.send_json({"envelope_id": "of somebody else"})
        await slack.wait_for(lambda: slack.deliveries()[0].state == "gave_up")

    assert slack.deliveries()[0].acked_at is None


async def test_a_refresh_says_why_and_closes_the_socket(slack, http):
    async with http.ws_connect(await ticket(slack)) as socket:
        await socket.receive_json(timeout=5)

        await asyncio.gather(slack.refresh(), farewell(socket))

        assert socket.closed
    assert slack.socket_mode.sockets == []


async def farewell(socket):
    frame = await socket.receive_json(timeout=5)
    closing = await socket.receive(timeout=5)

    assert (frame["type"], frame["reason"]) == ("disconnect", "refresh_requested")
    assert closing.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSING)


async def test_a_refresh_leaves_the_other_sockets_open(slack, new_ears):
    first, second = new_ears(), new_ears()
    leaving = await slack.connect(first.hear)
    staying = await slack.connect(second.hear)

    await slack.refresh(leaving.id)
    await slack.say("ana", "#incidents", "hello")
    await slack.wait_for(lambda: slack.deliveries()[0].state == "acked")

    assert slack.socket_mode.sockets == [staying]
    assert (len(first.frames), len(second.frames)) == (0, 1)


async def test_an_eleventh_socket_is_refused(slack, http, new_ears):
    for _ in range(MOST_SOCKETS):
        await slack.connect(new_ears().hear)

    async with http.ws_connect(await ticket(slack)) as socket:
        frame = await socket.receive_json(timeout=5)
        closing = await socket.receive(timeout=5)

    assert frame["reason"] == "too_many_websockets"
    assert closing.type is aiohttp.WSMsgType.CLOSE
    assert len(slack.socket_mode.sockets) == MOST_SOCKETS


async def test_the_record_tells_what_was_sent_when_and_where(slack, ears):
    await slack.say("ana", "#incidents", "hello")
    await slack.wait_for(lambda: slack.deliveries()[0].state == "acked")

    record = slack.deliveries()[0].to_json()

    assert record["event_id"] == record["payload"]["event_id"]
    assert record["attempts"][0]["socket"] == slack.socket_mode.sockets[0].id
    assert record["acked_at"] >= record["attempts"][0]["at"]


async def test_a_socket_that_dies_takes_its_unacknowledged_envelope_nowhere(start, new_ears):
    slack = await start(SlackOptions(ack_timeout=0.05, retry_delays=(0.0, 0.0, 0.0)))
    dying, heir = new_ears(acks=False), new_ears()
    socket = await slack.connect(dying.hear)
    await slack.say("ana", "#incidents", "hello")
    await slack.wait_for(lambda: dying.frames)

    await socket.close()
    await slack.connect(heir.hear)
    await slack.wait_for(lambda: slack.deliveries()[0].state == "acked")

    assert heir.frames[0]["envelope_id"] == dying.frames[0]["envelope_id"]
    assert heir.frames[0]["retry_attempt"] >= 1
