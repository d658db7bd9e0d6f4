"""Writing messages through the Web API: what is stored, and what is refused with which word."""

import json

import pytest
from slack_sdk.errors import SlackApiError

from bot.playground.local_slack import SlackOptions
from tests.playground.samples import CARD, plan, rich, section, task, text

C = "C0INCIDENTS"


async def post(slack, **arguments):
    answer = await slack.call("chat.postMessage", {"channel": C, **arguments})
    return answer.body


async def update(slack, ts, **arguments):
    answer = await slack.call("chat.update", {"channel": C, "ts": ts, **arguments})
    return answer.body


async def test_a_card_is_posted_and_updated_by_the_sdk(slack, client):
    posted = await client.chat_postMessage(channel=C, text="running", blocks=list(CARD), unfurl_links=False)

    updated = await client.chat_update(channel=C, ts=posted["ts"], text="done", blocks=[section("done")])

    (message,) = slack.messages(C)
    assert posted["message"]["blocks"][0]["block_id"] == "rca:title"
    assert updated["ts"] == posted["ts"] == message.ts
    assert [block["type"] for block in message.blocks] == ["section"]


async def test_the_sdk_gets_slacks_word_for_what_was_wrong(client):
    with pytest.raises(SlackApiError) as refused:
        await client.chat_postMessage(channel=C, text="a", blocks=[{"type": "hologram"}])

    assert refused.value.response["error"] == "invalid_blocks"
    assert "is no block type" in refused.value.response["response_metadata"]["messages"][0]


async def test_a_form_says_its_blocks_in_json(slack, http):
    form = {"channel": C, "text": "a", "blocks": json.dumps([section("from a form")]), "token": "xoxb-playground"}

    async with http.post(f"{slack.url}/api/chat.postMessage", data=form) as answer:
        body = await answer.json()

    assert body["ok"]
    assert slack.messages(C)[0].blocks[0]["text"]["text"] == "from a form"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"channel": "C0NOWHERE", "text": "a"}, "channel_not_found"),
        ({"text": ""}, "no_text"),
        ({}, "no_text"),
        ({"blocks": []}, "no_text"),
        ({"text": "a", "blocks": "not json"}, "invalid_blocks_format"),
        ({"text": "a", "blocks": [section("x" * 3_001)]}, "invalid_blocks"),
        ({"text": "a", "blocks": [section("x" * 2_700) for _ in range(5)]}, "msg_blocks_too_long"),
        ({"text": "a", "thread_ts": "1700000000.000100"}, "thread_not_found"),
        ({"text": "a", "metadata": {"event_type": "card"}}, "invalid_metadata_format"),
        ({"text": "a", "metadata": {"event_type": "a", "event_payload": {"k": "x" * 2_000}}}, "metadata_too_large"),
    ],
)
async def test_a_post_that_slack_would_refuse_is_refused(slack, arguments, error):
    body = await post(slack, **arguments)

    assert body["error"] == error
    assert slack.messages(C) == []


async def test_a_reply_may_not_be_answered_as_a_thread_of_its_own(slack):
    root = await post(slack, text="root")
    reply = await post(slack, text="reply", thread_ts=root["ts"])

    body = await post(slack, text="deeper", thread_ts=reply["ts"])

    assert body["error"] == "thread_not_found"


async def test_loose_brackets_are_escaped_and_tokens_live(slack):
    await post(slack, text="5 < 6 & <!here> <script>")

    (message,) = slack.messages(C)

    assert message.text == "5 &lt; 6 &amp; <!here> &lt;script&gt;"


async def test_a_long_post_is_cut_and_a_long_update_is_refused(slack):
    posted = await post(slack, text="x" * 50_000)

    body = await update(slack, posted["ts"], text="x" * 4_001)

    assert len(slack.messages(C)[0].text) == 40_000
    assert body["error"] == "msg_too_long"


async def test_a_post_to_a_person_is_a_direct_message(slack):
    await slack.call("chat.postMessage", {"channel": "U0BEN", "text": "psst"})

    (message,) = slack.messages("D0BEN")

    assert message.text == "psst"


async def test_blocks_without_an_id_get_one(slack):
    body = await post(slack, blocks=[section("a"), section("b", block_id="mine")])

    ids = [block["block_id"] for block in body["message"]["blocks"]]

    assert ids[1] == "mine"
    assert ids[0]


async def test_an_update_of_text_alone_takes_the_blocks_away_and_is_marked(slack):
    posted = await post(slack, text="a", blocks=[section("a")])

    body = await update(slack, posted["ts"], text="b")

    (message,) = slack.messages(C)
    assert message.blocks == ()
    assert body["message"]["edited"]["user"] == "UBOT"


async def test_an_update_of_blocks_is_not_marked_and_keeps_the_text(slack):
    posted = await post(slack, text="a", blocks=[section("a")])

    body = await update(slack, posted["ts"], blocks=[section("b")])

    assert "edited" not in body["message"]
    assert body["text"] == "a"


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({}, {"event_type": "card", "event_payload": {"k": "1"}}),
        ({"metadata": {}}, None),
        ({"metadata": {"event_type": "x", "event_payload": {}}}, {"event_type": "x", "event_payload": {}}),
    ],
)
async def test_metadata_that_an_update_does_not_name_is_kept(slack, given, left):
    posted = await post(slack, text="a", metadata={"event_type": "card", "event_payload": {"k": "1"}})

    await update(slack, posted["ts"], text="b", **given)

    assert slack.messages(C)[0].metadata == left


async def test_the_message_of_somebody_else_cannot_be_updated(slack):
    message = await slack.say("ana", C, "mine")

    body = await update(slack, message.ts, text="yours")

    assert body["error"] == "cant_update_message"


async def test_what_does_not_exist_cannot_be_updated(slack):
    await slack.call("chat.postEphemeral", {"channel": C, "user": "U0ANA", "text": "psst"})
    ephemeral = slack.ephemerals("ana")[0]

    unknown = await update(slack, "1700000000.000100", text="a")
    whispered = await update(slack, ephemeral.ts, text="a")

    assert unknown["error"] == whispered["error"] == "message_not_found"


async def test_rich_text_alone_cannot_become_anything_else(slack):
    posted = await post(slack, text="a", blocks=[rich(text("a"))])

    refused = await update(slack, posted["ts"], blocks=[section("b")])
    accepted = await update(slack, posted["ts"], blocks=[rich(text("b"))])

    assert refused["error"] == "block_mismatch"
    assert accepted["ok"]


async def test_a_workspace_without_plans_refuses_a_card_with_one(start):
    slack = await start(SlackOptions(plan_supported=False))

    refused = await post(slack, text="a", blocks=[plan(task("a"))])
    accepted = await post(slack, text="a", blocks=[section("a")])

    assert refused["error"] == "invalid_blocks"
    assert accepted["ok"]


async def test_an_ephemeral_is_seen_by_one_person_and_announced_to_nobody(slack, ears):
    answer = await slack.call("chat.postEphemeral", {"channel": C, "user": "U0ANA", "text": "only you"})
    await slack.say("ana", C, "the next one")
    await slack.wait_for(lambda: ears.frames)

    assert [found.text for found in slack.ephemerals("ana")] == ["only you"]
    assert slack.ephemerals("ana")[0].ts == answer.body["message_ts"]
    assert slack.ephemerals("ben") == []
    assert [event["text"] for event in ears.events()] == ["the next one"]


async def test_an_ephemeral_reaches_nobody_outside_the_channel(slack):
    answer = await slack.call("chat.postEphemeral", {"channel": "C0CHECKOUT", "user": "U0EVE", "text": "psst"})

    assert answer.body["error"] == "user_not_in_channel"


async def test_a_permalink_leads_to_the_message(slack, client, http):
    root = await slack.say("ana", C, "a question")
    reply = await slack.say("ben", C, "an answer", root.ts)

    link = (await client.chat_getPermalink(channel=C, message_ts=reply.ts))["permalink"]
    async with http.get(link) as page:
        shown = await page.text()

    assert link.startswith(f"{slack.url}/archives/{C}/p{reply.ts.replace('.', '')}?thread_ts={root.ts}")
    assert "an answer" in shown
    assert page.history[0].headers["Location"].endswith(f"#thread-{reply.ts}")


async def test_there_is_no_permalink_to_nothing(slack):
    answer = await slack.call("chat.getPermalink", {"channel": C, "message_ts": "1.000001"})

    assert answer.body["error"] == "message_not_found"
