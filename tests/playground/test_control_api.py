"""The tests' own controls over HTTP."""

import asyncio

import pytest

from tests.playground.samples import actions, button

C = "C0INCIDENTS"


async def state(slack, http):
    async with http.get(f"{slack.url}/_playground/state") as answer:
        return await answer.json()


async def test_a_conversation_can_be_held_over_http(slack, control):
    root = await control("say", user="ana", channel="#incidents", text="a question")

    reply = await control("say", user="ben", channel="#incidents", text="an answr", thread_ts=root["ts"])
    await control("edit", user="ben", channel="#incidents", ts=reply["ts"], text="an answer")
    gone = await control("say", user="ana", channel="#incidents", text="oops")
    await control("delete", user="ana", channel="#incidents", ts=gone["ts"])

    assert [message.text for message in slack.messages(C)] == ["a question", "an answer"]
    assert slack.thread(C, root["ts"])[1].ts == reply["ts"]


async def test_a_reply_can_be_broadcast_over_http(slack, control):
    root = await control("say", user="ana", channel="#incidents", text="a question")

    await control("say", user="ana", channel="#incidents", text="look", thread_ts=root["ts"], broadcast=True)

    assert slack.messages(C)[1].broadcast


async def test_a_click_over_http_says_whether_it_was_acknowledged(slack, control, new_ears):
    posted = await slack.call("chat.postMessage", {"channel": C, "text": "a", "blocks": [actions(button("stop"))]})
    click = {"user": "ana", "channel": C, "ts": posted.body["ts"], "action_id": "stop"}

    alone = await control("click", **click)
    await slack.connect(new_ears().hear)
    heard = await control("click", **click)

    assert (alone["acked"], heard["acked"]) == (False, True)
    assert slack.socket_mode.envelopes[heard["envelope_id"]].state == "acked"


@pytest.mark.parametrize(
    ("name", "body", "error"),
    [
        ("say", {"user": "zoe", "channel": C, "text": "a"}, "user_not_found"),
        ("say", {}, "user_not_found"),
        ("click", {"user": "ana", "channel": C, "ts": "1.000001", "action_id": "stop"}, "message_not_found"),
        ("native_stop", {"user": "ana", "channel": C, "thread_ts": "1.000001"}, "not_processing"),
        ("repeat", {"envelope_id": "unknown"}, "envelope_not_found"),
        ("release", {"envelope_id": "unknown"}, "envelope_not_found"),
        ("close_view", {"view_id": "unknown"}, "not_found"),
        ("submit_view", {"user": "ana", "view_id": "unknown"}, "not_found"),
    ],
)
async def test_what_is_not_possible_is_answered_with_its_word(control, name, body, error):
    told = await control(name, **body)

    assert told == {"ok": False, "error": error}


async def test_an_order_that_is_no_json_is_refused(slack, http):
    async with http.post(f"{slack.url}/_playground/say", data="user=ana") as answer:
        told = answer.status, await answer.json()

    assert told == (400, {"ok": False, "error": "invalid_json"})


async def test_faults_are_ordered_over_http(slack, control):
    await control("fail", method="auth.test", error="fatal_error", times=1)

    errors = [(await slack.call("auth.test", {})).body.get("error") for _ in range(2)]

    assert errors == ["fatal_error", None]


async def test_delivery_is_held_released_and_resumed_over_http(slack, control, ears):
    await control("pause")
    for word in ("one", "two", "three"):
        await control("say", user="ana", channel=C, text=word)

    await control("release", envelope_id=slack.deliveries()[2].id)
    await slack.wait_for(lambda: len(ears.frames) == 1)
    await control("resume")
    await slack.wait_for(lambda: len(ears.frames) == 3)

    assert [event["text"] for event in ears.events()] == ["three", "one", "two"]


async def test_events_are_repeated_and_made_over_http(slack, control, ears):
    await control("repeat_next", times=1)
    await control("say", user="ana", channel=C, text="twice")
    await control("repeat", envelope_id=slack.deliveries()[0].id)

    await control("event", event={"type": "app_home_opened", "user": "U0ANA", "tab": "messages"})
    await slack.wait_for(lambda: len(ears.frames) == 4)

    assert [event.get("text") for event in ears.events()] == ["twice", "twice", "twice", None]
    assert len({payload["event_id"] for payload in ears.payloads()}) == 4


async def test_a_socket_is_refreshed_over_http(slack, control, ears):
    (socket,) = slack.socket_mode.sockets

    await control("refresh", socket=socket.id)

    assert slack.socket_mode.sockets == []


async def test_the_native_stop_is_pressed_over_http(slack, control, ears):
    root = await control("say", user="ana", channel=C, text="why?")
    arguments = {"channel_id": C, "thread_ts": root["ts"], "status": "processing"}
    await slack.call("agents.sessions.setStatus", arguments)

    told = await control("native_stop", user="ana", channel=C, thread_ts=root["ts"])

    assert slack.socket_mode.envelopes[told["envelope_id"]].event["type"] == "agent_session_stopped"


async def test_the_state_tells_everything_that_happened(slack, control, http, ears):
    root = await control("say", user="ana", channel=C, text="why?")
    where = {"channel_id": C, "thread_ts": root["ts"]}
    await slack.call("agents.sessions.setStatus", {**where, "status": "suspended"})
    await slack.call("chat.postEphemeral", {"channel": C, "user": "U0ANA", "text": "psst"})
    await slack.wait_for(lambda: slack.deliveries()[0].state == "acked")

    told = await state(slack, http)

    assert [(found["channel"], found["text"]) for found in told["messages"]] == [(C, "why?")]
    assert [found["text"] for found in told["ephemerals"]] == ["psst"]
    assert [found["status"] for found in told["sessions"]] == ["suspended"]
    assert [call["method"] for call in told["calls"]] == ["agents.sessions.setStatus", "chat.postEphemeral"]
    assert [found["state"] for found in told["deliveries"]] == ["acked"]
    assert told["sockets"] == [slack.socket_mode.sockets[0].id]


async def test_waiting_over_http_ends_with_the_next_change(slack, control, http):
    before = (await state(slack, http))["changes"]

    waiting = asyncio.create_task(answer_of(http, f"{slack.url}/_playground/wait?after={before}&timeout=5"))
    await control("say", user="ana", channel=C, text="hello")
    told = await waiting

    assert told["changes"] > before


async def test_waiting_over_http_ends_when_nothing_changes(slack, http):
    count = slack.changes.count

    told = await answer_of(http, f"{slack.url}/_playground/wait?timeout=0.01")

    assert told["changes"] == count


async def answer_of(http, url):
    async with http.get(url) as answer:
        return await answer.json()
