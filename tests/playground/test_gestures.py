"""What the people can do, and what they cannot."""

import pytest

from bot.errors import SlackError
from tests.playground.samples import actions, button, feedback, option, overflow, section

C = "C0INCIDENTS"


async def post(slack, *blocks, thread_ts=None):
    arguments = {"channel": C, "text": "card", "blocks": list(blocks), "thread_ts": thread_ts}
    return (await slack.call("chat.postMessage", arguments)).body["ts"]


async def click_payload(slack, ears):
    payloads = await slack.wait_for(lambda: ears.payloads("interactive"))
    return payloads[-1]


async def refusal(gesture):
    with pytest.raises(SlackError) as refused:
        await gesture
    return refused.value.error


async def test_people_are_known_by_name_and_by_id(slack):
    by_name = await slack.say("ana", "#incidents", "one")
    by_id = await slack.say("U0ANA", C, "two")

    assert by_name.user == by_id.user == "U0ANA"
    assert by_name.channel == by_id.channel == C


@pytest.mark.parametrize(
    ("user", "channel", "text", "thread", "error"),
    [
        ("zoe", "#incidents", "a", None, "user_not_found"),
        ("ana", "#nowhere", "a", None, "channel_not_found"),
        ("eve", "#checkout", "a", None, "not_in_channel"),
        ("ana", "D0BEN", "a", None, "not_in_channel"),
        ("ana", "#incidents", "", None, "no_text"),
        ("ana", "#incidents", "x" * 12_001, None, "msg_too_long"),
        ("ana", "#incidents", "a", "1.000001", "thread_not_found"),
    ],
)
async def test_what_slack_would_not_let_a_person_say_is_not_said(slack, user, channel, text, thread, error):
    found = await refusal(slack.say(user, channel, text, thread))

    assert found == error
    assert slack.workspace.messages == {}


async def test_only_the_author_edits_and_deletes(slack):
    message = await slack.say("ana", C, "mine")

    edited = await refusal(slack.edit("ben", C, message.ts, "yours"))
    deleted = await refusal(slack.delete("ben", C, message.ts))

    assert edited == deleted == "cant_update_message"
    assert slack.messages(C)[0].text == "mine"


async def test_an_edit_into_nothing_is_refused(slack):
    message = await slack.say("ana", C, "mine")

    error = await refusal(slack.edit("ana", C, message.ts, ""))

    assert error == "no_text"


async def test_a_deleted_message_is_gone(slack):
    message = await slack.say("ana", C, "mine")

    await slack.delete("ana", C, message.ts)
    error = await refusal(slack.edit("ana", C, message.ts, "again"))

    assert slack.messages(C) == []
    assert error == "message_not_found"


async def test_a_deleted_reply_leaves_its_thread(slack):
    root = await slack.say("ana", C, "root")
    reply = await slack.say("ana", C, "reply", root.ts)

    await slack.delete("ana", C, reply.ts)

    assert [message.ts for message in slack.thread(C, root.ts)] == [root.ts]


async def test_a_tombstone_can_be_neither_edited_nor_clicked(slack):
    root = await slack.say("ana", C, "root")
    await slack.say("ben", C, "reply", root.ts)
    await slack.delete("ana", C, root.ts)

    edited = await refusal(slack.edit("ana", C, root.ts, "again"))
    clicked = await refusal(slack.click("ana", C, root.ts, "stop"))

    assert edited == clicked == "message_not_found"
    assert slack.thread(C, root.ts)[0].tombstone


async def test_a_click_tells_who_what_and_where(slack, ears):
    root = await slack.say("ana", C, "why?")
    ts = await post(slack, actions(button("stop", value="v1:r_42")), thread_ts=root.ts)

    envelope = await slack.click("ben", C, ts, "stop")
    payload = await click_payload(slack, ears)

    (action,) = payload["actions"]
    assert await envelope.acked(1)
    assert payload["type"] == "block_actions"
    assert (payload["user"]["id"], payload["user"]["team_id"]) == ("U0BEN", "T0PLAYGROUND")
    assert (action["action_id"], action["value"], action["type"]) == ("stop", "v1:r_42", "button")
    assert action["block_id"] == slack.messages(C)[-1].blocks[0]["block_id"]
    assert payload["container"] == {
        "type": "message", "message_ts": ts, "channel_id": C, "is_ephemeral": False, "thread_ts": root.ts,
    }  # fmt: skip
    assert payload["message"]["ts"] == ts
    assert payload["response_url"].startswith(f"{slack.url}/response/")


async def test_a_click_of_another_company_names_its_team(slack, ears):
    ts = await post(slack, actions(button("stop")))

    await slack.click("eve", C, ts, "stop")
    payload = await click_payload(slack, ears)

    assert payload["user"]["team_id"] == "T0OTHERCORP"
    assert payload["team"]["id"] == "T0PLAYGROUND"


async def test_two_clicks_are_two_actions(slack, ears):
    ts = await post(slack, actions(button("stop")))

    for _ in range(2):
        await slack.click("ana", C, ts, "stop")
    await slack.wait_for(lambda: len(ears.payloads("interactive")) == 2)
    first, second = ears.payloads("interactive")

    assert first["actions"][0]["action_ts"] != second["actions"][0]["action_ts"]
    assert first["trigger_id"] != second["trigger_id"]


async def test_one_click_can_be_delivered_twice(slack, ears):
    ts = await post(slack, actions(button("stop")))
    slack.repeat_next()

    await slack.click("ana", C, ts, "stop")
    await slack.wait_for(lambda: len(ears.payloads("interactive")) == 2)
    first, second = ears.payloads("interactive")

    assert first == second


async def test_an_option_of_a_menu_is_chosen_by_its_value(slack, ears):
    ts = await post(slack, actions(overflow("more", option("clear", "Stop and clear"), option("back", "Go back"))))

    await slack.click("ana", C, ts, "more", "back")
    payload = await click_payload(slack, ears)

    (action,) = payload["actions"]
    assert action["type"] == "overflow"
    assert action["selected_option"]["value"] == "back"
    assert action["selected_option"]["text"]["text"] == "Go back"


async def test_a_thumb_is_chosen_by_its_value(slack, ears):
    ts = await post(slack, section("done"), feedback())

    await slack.click("ana", C, ts, "feedback", "-")
    payload = await click_payload(slack, ears)

    (action,) = payload["actions"]
    assert (action["type"], action["value"], action["text"]["text"]) == ("feedback_buttons", "-", "Bad")


async def test_a_button_that_an_update_took_away_can_still_be_clicked(slack, ears):
    ts = await post(slack, actions(button("stop", value="old")))
    await slack.call("chat.update", {"channel": C, "ts": ts, "text": "a", "blocks": [section("over")]})

    await slack.click("ana", C, ts, "stop")
    payload = await click_payload(slack, ears)

    assert payload["actions"][0]["value"] == "old"
    assert [block["type"] for block in payload["message"]["blocks"]] == ["section"]


async def test_the_newest_blocks_are_clicked_first_and_older_ones_by_their_value(slack, ears):
    ts = await post(slack, actions(button("resume", value="pause-1")))
    blocks = [actions(button("resume", value="pause-2"))]
    await slack.call("chat.update", {"channel": C, "ts": ts, "text": "a", "blocks": blocks})

    await slack.click("ana", C, ts, "resume")
    await slack.click("ana", C, ts, "resume", "pause-1")
    await slack.wait_for(lambda: len(ears.payloads("interactive")) == 2)

    assert [payload["actions"][0]["value"] for payload in ears.payloads("interactive")] == ["pause-2", "pause-1"]


async def test_a_forged_value_is_sent_as_it_is(slack, ears):
    ts = await post(slack, actions(button("stop", value="v1:mine")))

    await slack.click("eve", C, ts, "stop", "v1:of-somebody-else")
    payload = await click_payload(slack, ears)

    assert payload["actions"][0]["value"] == "v1:of-somebody-else"


async def test_what_is_not_there_cannot_be_clicked(slack):
    ts = await post(slack, actions(button("stop")))

    action = await refusal(slack.click("ana", C, ts, "pause"))
    message = await refusal(slack.click("ana", C, "1.000001", "stop"))

    assert (action, message) == ("no_such_action", "message_not_found")


async def test_the_button_beside_a_section_is_clicked_as_well(slack, ears):
    ts = await post(slack, section("a", accessory=button("more", value="v1")))

    await slack.click("ana", C, ts, "more")
    payload = await click_payload(slack, ears)

    assert payload["actions"][0]["value"] == "v1"


async def test_a_button_that_only_one_person_sees_is_clicked_by_that_person(slack, ears):
    blocks = [actions(button("undo"))]
    await slack.call("chat.postEphemeral", {"channel": C, "user": "U0ANA", "text": "noted", "blocks": blocks})
    ts = slack.ephemerals("ana")[0].ts

    stranger = await refusal(slack.click("ben", C, ts, "undo"))
    await slack.click("ana", C, ts, "undo")
    payload = await click_payload(slack, ears)

    assert stranger == "message_not_found"
    assert payload["container"]["is_ephemeral"] is True


async def test_the_native_stop_is_there_while_the_session_is_processing(slack, ears):
    root = await slack.say("ana", C, "why?")
    early = await refusal(slack.native_stop("ana", C, root.ts))
    where = {"channel_id": C, "thread_ts": root.ts}
    await slack.call("agents.sessions.setStatus", {**where, "status": "processing"})

    await slack.native_stop("ben", C, root.ts)
    await slack.wait_for(lambda: len(ears.frames) == 2)
    await slack.call("agents.sessions.setStatus", {**where, "status": "active"})
    late = await refusal(slack.native_stop("ana", C, root.ts))

    event = ears.events()[-1]
    assert (event["type"], event["user"], event["thread_ts"]) == ("agent_session_stopped", "U0BEN", root.ts)
    assert event["streaming_message_ts"] == []
    assert early == late == "not_processing"


async def test_slack_does_not_end_a_session_by_itself(slack, ears):
    root = await slack.say("ana", C, "why?")
    arguments = {"channel_id": C, "thread_ts": root.ts, "status": "processing"}
    await slack.call("agents.sessions.setStatus", arguments)

    await slack.native_stop("ana", C, root.ts)

    assert slack.session(C, root.ts).status == "processing"
