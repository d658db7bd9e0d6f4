"""Sockets, modals and sessions: what opens them, and how often."""

import asyncio

import pytest

from bot.errors import SlackError
from bot.playground.local_slack import LocalSlack, SlackOptions
from bot.playground.opening import Triggers
from bot.playground.stamps import Stamps
from tests.playground.samples import actions, button, field, modal, plain, section

C = "C0INCIDENTS"


async def clicked(slack, ears):
    """The trigger id of a click by ana."""
    posted = await slack.call("chat.postMessage", {"channel": C, "text": "a", "blocks": [actions(button("go"))]})
    await slack.click("ana", C, posted.body["ts"], "go")
    (payload,) = await slack.wait_for(lambda: ears.payloads("interactive"))
    return payload["trigger_id"]


async def open_view(slack, trigger, view):
    return (await slack.call("views.open", {"trigger_id": trigger, "view": view})).body


async def test_a_click_opens_one_modal(slack, ears):
    trigger = await clicked(slack, ears)

    first = await open_view(slack, trigger, modal(field("why", "reason")))
    second = await open_view(slack, trigger, modal(field("why", "reason")))

    assert first["ok"]
    assert slack.workspace.open_view("U0ANA").id == first["view"]["id"]
    assert slack.workspace.open_view("U0BEN") is None
    assert second["error"] == "exchanged_trigger_id"


async def test_nothing_opens_without_a_click(slack):
    answer = await open_view(slack, "1.2.3", modal(section("a")))

    assert answer["error"] == "invalid_trigger_id"


def test_a_trigger_lives_for_three_seconds():
    readings = [1_700_000_000.0]
    triggers = Triggers(Stamps(lambda: readings[-1]))
    early, late = triggers.give("U0ANA"), triggers.give("U0BEN")

    readings.append(1_700_000_003.0)
    user = triggers.use(early)
    readings.append(1_700_000_003.5)
    with pytest.raises(SlackError) as refused:
        triggers.use(late)

    assert user == "U0ANA"
    assert refused.value.error == "expired_trigger_id"


@pytest.mark.parametrize(
    "view",
    [
        modal(section("a"), title=plain("x" * 25)),
        modal(section("a"), type="home"),
        modal(section("")),
        modal(*[section("a")] * 101),
    ],
)
async def test_a_modal_that_slack_would_refuse_is_refused(slack, ears, view):
    trigger = await clicked(slack, ears)

    answer = await open_view(slack, trigger, view)

    assert answer["error"] == "invalid_arguments"
    assert slack.workspace.open_view("U0ANA") is None


async def test_a_submitted_modal_tells_what_was_typed_and_closes(slack, ears):
    trigger = await clicked(slack, ears)
    opened = await open_view(slack, trigger, modal(field("why", "reason")))
    values = {"why": {"reason": {"type": "plain_text_input", "value": "wrong host"}}}

    envelope = await slack.submit_view("ana", opened["view"]["id"], values)

    payload = ears.payloads("interactive")[-1]
    assert payload["type"] == "view_submission"
    assert payload["view"]["state"]["values"] == values
    assert payload["user"]["id"] == "U0ANA"
    assert envelope.state == "acked"
    assert slack.workspace.open_view("U0ANA") is None


async def test_a_modal_that_nobody_acknowledges_stays_open(start, new_ears):
    slack = await start(SlackOptions(ack_timeout=0.05))
    ears = new_ears()
    await slack.connect(ears.hear)
    trigger = await clicked(slack, ears)
    opened = await open_view(slack, trigger, modal(field("why", "reason")))

    ears.acks = False
    envelope = await slack.submit_view("ana", opened["view"]["id"], {})

    assert envelope.state == "gave_up"
    assert slack.workspace.open_view("U0ANA") is not None


async def test_a_modal_answered_with_errors_stays_open_and_shows_them(slack, http):
    async with http.ws_connect(
        (await slack.call("apps.connections.open", {}, "xapp-playground")).body["url"]
    ) as socket:
        await socket.receive_json(timeout=5)
        posted = await slack.call("chat.postMessage", {"channel": C, "text": "a", "blocks": [actions(button("go"))]})
        await acknowledged(socket)
        await slack.click("ana", C, posted.body["ts"], "go")
        trigger = (await acknowledged(socket))["payload"]["trigger_id"]
        opened = await open_view(slack, trigger, modal(field("why", "reason")))

        answer = {"response_action": "errors", "errors": {"why": "Say more."}}
        submitted = slack.submit_view("ana", opened["view"]["id"], {})
        await asyncio.gather(submitted, acknowledged(socket, answer))

    assert slack.workspace.open_view("U0ANA").errors == {"why": "Say more."}


async def acknowledged(socket, payload=None):
    frame = await socket.receive_json(timeout=5)
    await socket.send_json({"envelope_id": frame["envelope_id"], **({"payload": payload} if payload else {})})
    return frame


async def test_a_modal_is_closed_by_its_reader_alone(slack, ears):
    trigger = await clicked(slack, ears)
    opened = await open_view(slack, trigger, modal(field("why", "reason")))

    with pytest.raises(SlackError) as refused:
        await slack.submit_view("ben", opened["view"]["id"], {})
    await slack.close_view(opened["view"]["id"])

    assert refused.value.error == "not_found"
    assert slack.workspace.open_view("U0ANA") is None


async def test_a_session_is_remembered_for_its_thread(slack):
    root = await slack.say("ana", C, "a question")

    arguments = {"channel_id": C, "thread_ts": root.ts, "status": "processing", "title": "Reading logs"}
    answer = await slack.call("agents.sessions.setStatus", arguments)

    assert answer.body == {"ok": True}
    assert (slack.session(C, root.ts).status, slack.session(C, root.ts).title) == ("processing", "Reading logs")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"status": "running"}, "invalid_arguments"),
        ({"title": "x" * 201}, "invalid_arguments"),
        ({"thread_ts": "1.000001"}, "thread_not_found"),
        ({"channel_id": "C0NOWHERE"}, "channel_not_found"),
    ],
)
async def test_a_session_that_slack_would_refuse_is_refused(slack, change, error):
    root = await slack.say("ana", C, "a question")
    arguments = {"channel_id": C, "thread_ts": root.ts, "status": "active"}

    answer = await slack.call("agents.sessions.setStatus", {**arguments, **change})

    assert answer.body["error"] == error
    assert slack.session(C, root.ts) is None


async def test_an_app_that_is_no_agent_has_no_sessions():
    slack = LocalSlack(SlackOptions(agent_view=False))
    root = await slack.say("ana", C, "a question")

    arguments = {"channel_id": C, "thread_ts": root.ts, "status": "active"}
    answer = await slack.call("agents.sessions.setStatus", arguments)
    await slack.aclose()

    assert answer.body["error"] == "not_authorized"
