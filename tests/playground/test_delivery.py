"""Which events each gesture makes, and what Slack writes into them."""

import pytest

from bot.playground.local_slack import SlackOptions
from tests.playground.samples import section


async def events_of(slack, ears, count):
    await slack.wait_for(lambda: len(ears.frames) >= count)
    return ears.events()


async def test_a_mention_makes_two_events_of_one_message(slack, ears):
    message = await slack.say("ana", "#incidents", "@Steersman why is checkout slow?")

    plain, mention = await events_of(slack, ears, 2)
    first, second = (payload["event_id"] for payload in ears.payloads())

    assert (plain["type"], mention["type"]) == ("message", "app_mention")
    assert plain["ts"] == mention["ts"] == message.ts
    assert plain["client_msg_id"] == mention["client_msg_id"]
    assert plain["text"] == mention["text"] == "<@UBOT> why is checkout slow?"
    assert first != second


async def test_the_mention_may_come_first(start, new_ears):
    slack = await start(SlackOptions(mention_first=True))
    ears = new_ears()
    await slack.connect(ears.hear)

    await slack.say("ana", "#incidents", "@Steersman why?")
    events = await events_of(slack, ears, 2)

    assert [event["type"] for event in events] == ["app_mention", "message"]


async def test_a_plain_message_says_who_where_and_when(slack, ears):
    message = await slack.say("ana", "#checkout", "all is well")

    (event,) = await events_of(slack, ears, 1)

    assert event["user"] == "U0ANA"
    assert (event["channel"], event["channel_type"]) == ("C0CHECKOUT", "channel")
    assert event["event_ts"] == event["ts"] == message.ts
    assert event["team"] == "T0PLAYGROUND"
    assert event["blocks"][0]["type"] == "rich_text"
    assert "thread_ts" not in event
    assert "subtype" not in event
    assert "bot_id" not in event


async def test_a_direct_message_mentions_nobody(slack, ears):
    await slack.say("ana", "dm", "@Steersman why?")

    (event,) = await events_of(slack, ears, 1)
    await slack.say("ana", "#checkout", "the next one")
    events = await events_of(slack, ears, 2)

    assert (event["type"], event["channel_type"], event["channel"]) == ("message", "im", "D0ANA")
    assert [found["type"] for found in events] == ["message", "message"]


async def test_a_reply_names_its_thread_and_whose_it_is(slack, ears):
    root = await slack.say("ana", "#incidents", "a question")

    await slack.say("ben", "#incidents", "an answer", root.ts)
    _, event = await events_of(slack, ears, 2)

    assert (event["thread_ts"], event["parent_user_id"]) == (root.ts, "U0ANA")


async def test_a_broadcast_reply_is_one_message_with_its_root(slack, ears):
    root = await slack.say("ana", "#incidents", "a question")

    reply = await slack.say("ana", "#incidents", "look here", root.ts, broadcast=True)
    _, event = await events_of(slack, ears, 2)

    assert (event["subtype"], event["ts"], event["thread_ts"]) == ("thread_broadcast", reply.ts, root.ts)
    assert event["root"]["ts"] == root.ts


async def test_somebody_of_another_company_is_told_apart(slack, ears):
    await slack.say("eve", "#incidents", "@Steersman what do you know?")

    events = await events_of(slack, ears, 2)
    payload = ears.payloads()[0]

    assert {event["user_team"] for event in events if "user_team" in event} == {"T0OTHERCORP"}
    assert events[0]["team"] == events[0]["source_team"] == "T0OTHERCORP"
    assert payload["team_id"] == payload["context_team_id"] == "T0PLAYGROUND"
    assert payload["is_ext_shared_channel"] is True


@pytest.mark.parametrize(("channel", "shared"), [("#incidents", True), ("#checkout", False)])
async def test_only_the_shared_channel_is_shared(slack, ears, channel, shared):
    await slack.say("ana", channel, "hello")

    await events_of(slack, ears, 1)

    assert ears.payloads()[0]["is_ext_shared_channel"] is shared


async def test_the_payload_names_one_installation(slack, ears):
    await slack.say("ana", "#incidents", "hello")

    await events_of(slack, ears, 1)
    payload = ears.payloads()[0]

    assert (payload["type"], payload["api_app_id"]) == ("event_callback", "A0STEERSMAN")
    assert [found["user_id"] for found in payload["authorizations"]] == ["UBOT"]
    assert payload["event_id"].startswith("Ev")


async def test_an_edit_tells_before_and_after(slack, ears):
    message = await slack.say("ana", "#incidents", "checkuot is slow")

    await slack.edit("ana", "#incidents", message.ts, "checkout is slow")
    _, event = await events_of(slack, ears, 2)

    assert (event["subtype"], event["hidden"]) == ("message_changed", True)
    assert event["message"]["text"] == "checkout is slow"
    assert event["previous_message"]["text"] == "checkuot is slow"
    assert event["message"]["edited"]["user"] == "U0ANA"
    assert event["message"]["client_msg_id"] == message.client_msg_id
    assert event["message"]["ts"] == message.ts != event["ts"]


async def test_an_edit_that_adds_a_mention_makes_no_mention(slack, ears):
    message = await slack.say("ana", "#incidents", "why?")

    await slack.edit("ana", "#incidents", message.ts, "@Steersman why?")
    await slack.say("ana", "#incidents", "the next one")
    events = await events_of(slack, ears, 3)

    assert [event["type"] for event in events] == ["message"] * 3


async def test_a_deletion_tells_what_is_gone(slack, ears):
    message = await slack.say("ana", "#incidents", "never mind")

    await slack.delete("ana", "#incidents", message.ts)
    _, event = await events_of(slack, ears, 2)

    assert (event["subtype"], event["deleted_ts"]) == ("message_deleted", message.ts)
    assert event["previous_message"]["text"] == "never mind"


async def test_deleting_a_root_with_replies_is_told_as_a_change_into_a_tombstone(slack, ears):
    root = await slack.say("ana", "#incidents", "a question")
    await slack.say("ben", "#incidents", "an answer", root.ts)

    await slack.delete("ana", "#incidents", root.ts)
    *_, event = await events_of(slack, ears, 3)

    assert event["subtype"] == "message_changed"
    assert (event["message"]["subtype"], event["message"]["user"]) == ("tombstone", "USLACKBOT")
    assert event["previous_message"]["text"] == "a question"
    assert event["previous_message"]["user"] == "U0ANA"


async def test_a_post_of_the_bot_comes_back_with_its_metadata(slack, ears):
    metadata = {"event_type": "card", "event_payload": {"post_key": "k1"}}

    await slack.call("chat.postMessage", {"channel": "C0INCIDENTS", "text": "hello", "metadata": metadata})
    (event,) = await events_of(slack, ears, 1)

    assert event["metadata"] == metadata
    assert (event["user"], event["bot_id"], event["app_id"]) == ("UBOT", "B0STEERSMAN", "A0STEERSMAN")
    assert "client_msg_id" not in event
    assert "subtype" not in event


async def test_a_post_of_the_bot_that_mentions_itself_is_no_mention(slack, ears):
    await slack.call("chat.postMessage", {"channel": "C0INCIDENTS", "text": "I am <@UBOT>"})

    await slack.say("ana", "#incidents", "the next one")
    events = await events_of(slack, ears, 2)

    assert [event["type"] for event in events] == ["message", "message"]


async def test_an_update_of_the_bot_comes_back_as_a_change(slack, ears):
    posted = await slack.call("chat.postMessage", {"channel": "C0INCIDENTS", "text": "a", "blocks": [section("one")]})
    ts = posted.body["ts"]

    await slack.call("chat.update", {"channel": "C0INCIDENTS", "ts": ts, "text": "b", "blocks": [section("two")]})
    _, event = await events_of(slack, ears, 2)

    assert (event["subtype"], event["message"]["bot_id"]) == ("message_changed", "B0STEERSMAN")
    assert event["message"]["blocks"][0]["text"]["text"] == "two"
    assert event["previous_message"]["blocks"][0]["text"]["text"] == "one"


async def test_the_other_app_writes_as_an_app(slack, ears):
    await slack.say("alertmanager", "#incidents", "[FIRING] CheckoutLatencyHigh")

    (event,) = await events_of(slack, ears, 1)

    assert (event["bot_id"], event["app_id"], event["user"]) == ("B0ALERTS", "A0ALERTS", "U0ALERTS")
    assert "client_msg_id" not in event


async def test_any_event_can_be_sent_under_an_id_of_its_own(slack, ears):
    event = {"type": "app_home_opened", "user": "U0ANA", "channel": "D0ANA", "tab": "messages"}

    slack.publish(event)
    slack.publish(event)
    events = await events_of(slack, ears, 2)

    assert events == [event, event]
    assert len({payload["event_id"] for payload in ears.payloads()}) == 2


async def test_a_gesture_can_be_delivered_twice_under_two_ids(slack, ears):
    slack.repeat_next()

    await slack.say("ana", "#incidents", "hello")
    await slack.say("ana", "#incidents", "once only")
    events = await events_of(slack, ears, 3)

    assert [event["text"] for event in events] == ["hello", "hello", "once only"]
    assert len({payload["event_id"] for payload in ears.payloads()}) == 3


async def test_a_gesture_that_is_past_can_be_delivered_again(slack, ears):
    await slack.say("ana", "#incidents", "hello")
    await events_of(slack, ears, 1)

    slack.repeat(slack.deliveries()[0])
    first, second = await events_of(slack, ears, 2)

    assert first == second
