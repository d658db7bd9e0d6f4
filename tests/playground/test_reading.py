"""Reading through the Web API: who somebody is, and what a thread says."""

import pytest
from slack_sdk.errors import SlackApiError

C = "C0INCIDENTS"


async def thread_of(slack, replies):
    root = await slack.say("ana", C, "root")
    said = [await slack.say("ben", C, f"reply {number}", root.ts) for number in range(replies)]
    return root, said


async def test_auth_test_says_who_the_bot_is(client):
    answer = await client.auth_test()

    assert (answer["user_id"], answer["bot_id"], answer["app_id"]) == ("UBOT", "B0STEERSMAN", "A0STEERSMAN")
    assert answer["team_id"] == "T0PLAYGROUND"


@pytest.mark.parametrize(
    ("user", "flags"),
    [
        ("U0ANA", {"is_restricted": False, "is_bot": False, "team_id": "T0PLAYGROUND"}),
        ("U0GUS", {"is_restricted": True, "is_bot": False}),
        ("U0EVE", {"is_stranger": True, "team_id": "T0OTHERCORP"}),
        ("UBOT", {"is_bot": True}),
        ("U0ALERTS", {"is_bot": True}),
    ],
)
async def test_users_info_tells_members_guests_strangers_and_apps_apart(client, user, flags):
    answer = await client.users_info(user=user)

    told = {key: answer["user"].get(key) for key in flags}

    assert told == flags


async def test_only_a_stranger_is_one(client):
    answer = await client.users_info(user="U0ANA")

    assert "is_stranger" not in answer["user"]


async def test_an_app_names_itself_in_its_profile(client):
    answer = await client.users_info(user="U0ALERTS")

    assert answer["user"]["profile"]["api_app_id"] == "A0ALERTS"


async def test_channels_and_direct_messages_are_told_apart(client):
    shared = (await client.conversations_info(channel=C))["channel"]
    own = (await client.conversations_info(channel="C0CHECKOUT"))["channel"]
    direct = (await client.conversations_info(channel="D0ANA"))["channel"]

    assert (shared["name"], shared["is_ext_shared"], own["is_ext_shared"]) == ("incidents", True, False)
    assert (direct["is_im"], direct["user"]) == (True, "U0ANA")


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("users_info", {"user": "U0NOBODY"}, "user_not_found"),
        ("conversations_info", {"channel": "C0NOWHERE"}, "channel_not_found"),
        ("conversations_replies", {"channel": "C0NOWHERE", "ts": "1.000001"}, "channel_not_found"),
        ("conversations_replies", {"channel": C, "ts": "1.000001"}, "thread_not_found"),
        ("conversations_replies", {"channel": C, "ts": ""}, "thread_not_found"),
    ],
)
async def test_what_does_not_exist_is_named_as_slack_names_it(client, method, arguments, error):
    with pytest.raises(SlackApiError) as refused:
        await getattr(client, method)(**arguments)

    assert refused.value.response["error"] == error


async def test_a_thread_is_told_root_first(slack, client):
    root, said = await thread_of(slack, 2)

    answer = await client.conversations_replies(channel=C, ts=root.ts)

    assert [found["ts"] for found in answer["messages"]] == [root.ts, said[0].ts, said[1].ts]
    assert answer["messages"][0]["reply_count"] == 2
    assert answer["messages"][1]["thread_ts"] == root.ts
    assert answer["has_more"] is False


async def test_a_message_without_replies_is_a_thread_of_one(slack, client):
    root, _ = await thread_of(slack, 0)

    answer = await client.conversations_replies(channel=C, ts=root.ts)

    assert [found["text"] for found in answer["messages"]] == ["root"]


async def test_asked_with_a_reply_it_tells_that_reply_alone(slack, client):
    _, said = await thread_of(slack, 2)

    answer = await client.conversations_replies(channel=C, ts=said[1].ts)

    assert [found["ts"] for found in answer["messages"]] == [said[1].ts]


async def test_a_long_thread_comes_in_pages(slack, client):
    root, _ = await thread_of(slack, 4)

    first = await client.conversations_replies(channel=C, ts=root.ts, limit=3)
    cursor = first["response_metadata"]["next_cursor"]
    second = await client.conversations_replies(channel=C, ts=root.ts, limit=3, cursor=cursor)

    assert first["has_more"] is True
    assert [found["text"] for found in first["messages"]] == ["root", "reply 0", "reply 1"]
    assert [found["text"] for found in second["messages"]] == ["reply 2", "reply 3"]
    assert "response_metadata" not in second


@pytest.mark.parametrize(("inclusive", "texts"), [(False, ["reply 1"]), (True, ["reply 0", "reply 1", "reply 2"])])
async def test_oldest_and_latest_bound_the_replies(slack, client, inclusive, texts):
    root, said = await thread_of(slack, 3)

    answer = await client.conversations_replies(
        channel=C, ts=root.ts, oldest=said[0].ts, latest=said[2].ts, inclusive=inclusive
    )

    assert [found["text"] for found in answer["messages"]] == ["root", *texts]


async def test_metadata_is_told_whole_only_when_asked_for(slack, client):
    metadata = {"event_type": "card", "event_payload": {"post_key": "k"}}
    root, _ = await thread_of(slack, 0)
    await client.chat_postMessage(channel=C, thread_ts=root.ts, text="a", metadata=metadata)

    short = await client.conversations_replies(channel=C, ts=root.ts)
    whole = await client.conversations_replies(channel=C, ts=root.ts, include_all_metadata=True)

    assert short["messages"][1]["metadata"] == {"event_type": "card"}
    assert whole["messages"][1]["metadata"] == metadata


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"limit": 0}, None), ({"limit": 5_000}, "invalid_limit"), ({"oldest": "soon"}, "invalid_ts_oldest")],
)
async def test_bounds_that_make_no_sense_are_refused(slack, arguments, error):
    root, _ = await thread_of(slack, 1)

    answer = await slack.call("conversations.replies", {"channel": C, "ts": root.ts, **arguments})

    assert answer.body.get("error") == error


async def test_the_tombstone_of_a_root_keeps_its_thread_readable(slack, client):
    root, said = await thread_of(slack, 1)
    await slack.delete("ana", C, root.ts)

    answer = await client.conversations_replies(channel=C, ts=root.ts)

    assert answer["messages"][0]["subtype"] == "tombstone"
    assert answer["messages"][1]["ts"] == said[0].ts
