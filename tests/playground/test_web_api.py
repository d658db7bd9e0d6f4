"""A call of the Web API: tokens, faults on order, rate limits and the log."""

import asyncio

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.faults import Fault
from bot.playground.local_slack import SlackOptions

C = "C0INCIDENTS"


def texts(slack):
    return [message.text for message in slack.messages(C)]


@pytest.mark.parametrize(
    ("method", "token", "error"),
    [
        ("auth.test", "", "not_authed"),
        ("auth.test", "xoxb-wrong", "invalid_auth"),
        ("auth.test", "xapp-playground", "not_allowed_token_type"),
        ("apps.connections.open", "xoxb-playground", "not_allowed_token_type"),
        ("apps.connections.open", "xapp-wrong", "invalid_auth"),
        ("chat.postCard", "xoxb-playground", "unknown_method"),
    ],
)
async def test_a_wrong_token_or_method_is_refused_with_slacks_word(slack, method, token, error):
    answer = await slack.call(method, {}, token)

    assert answer.body == {"ok": False, "error": error}


async def test_the_sdk_is_refused_with_a_wrong_token(slack):
    stranger = AsyncWebClient(token="xoxb-stolen", base_url=f"{slack.url}/api/", retry_handlers=[])

    with pytest.raises(SlackApiError) as refused:
        await stranger.auth_test()

    assert refused.value.response["error"] == "invalid_auth"


async def test_a_fault_with_slacks_word_applies_nothing_and_ends(slack, client):
    slack.fail(Fault("chat.postMessage", error="fatal_error", times=2))

    errors = []
    for number in range(3):
        try:
            await client.chat_postMessage(channel=C, text=f"try {number}")
        except SlackApiError as refusal:
            errors.append(refusal.response["error"])

    assert errors == ["fatal_error", "fatal_error"]
    assert texts(slack) == ["try 2"]


async def test_a_rate_limit_says_when_to_come_back(slack, client):
    slack.fail(Fault("chat.update", retry_after=7))

    with pytest.raises(SlackApiError) as refused:
        await client.chat_update(channel=C, ts="1.000001", text="a")

    assert refused.value.response["error"] == "ratelimited"
    assert refused.value.response.status_code == 429
    assert refused.value.response.headers["Retry-After"] == "7"


async def test_a_broken_server_applies_nothing(slack, client):
    slack.fail(Fault("chat.postMessage", status=503))

    with pytest.raises(SlackApiError) as refused:
        await client.chat_postMessage(channel=C, text="a")

    assert refused.value.response.status_code == 503
    assert texts(slack) == []


async def test_a_dropped_answer_is_applied_nevertheless(slack, client):
    slack.fail(Fault("chat.postMessage", drop=True))

    with pytest.raises(aiohttp.ServerDisconnectedError):
        await client.chat_postMessage(channel=C, text="did it arrive?")

    assert texts(slack) == ["did it arrive?"]


async def test_a_lost_call_is_not_applied(slack, client):
    slack.fail(Fault("chat.postMessage", lose=True))

    with pytest.raises(aiohttp.ServerDisconnectedError):
        await client.chat_postMessage(channel=C, text="did it arrive?")

    assert texts(slack) == []


async def test_a_delayed_call_is_applied_after_a_later_one(slack):
    posted = await slack.call("chat.postMessage", {"channel": C, "text": "first"})
    slack.fail(Fault("chat.update", delay_s=0.1))

    where = {"channel": C, "ts": posted.body["ts"]}
    calls = [slack.call("chat.update", {**where, "text": text}) for text in ("older", "newer")]
    await asyncio.gather(*calls)

    assert texts(slack) == ["older"]
    assert [call.arguments["text"] for call in slack.calls("chat.update")] == ["newer", "older"]


async def test_a_delayed_answer_is_applied_at_once(slack):
    slack.fail(Fault("chat.postMessage", answer_delay_s=5))

    waiting = asyncio.create_task(slack.call("chat.postMessage", {"channel": C, "text": "there already"}))
    await slack.wait_for(lambda: texts(slack))
    waiting.cancel()

    assert texts(slack) == ["there already"]
    assert slack.calls("chat.postMessage") == []


async def test_a_fault_of_every_method_meets_any(slack):
    slack.fail(Fault("*", error="internal_error", times=2))

    errors = [(await slack.call(method, {})).body.get("error") for method in ("auth.test", "users.info", "auth.test")]

    assert errors == ["internal_error", "internal_error", None]


async def test_the_faults_of_other_methods_stay_ordered(slack):
    slack.fail(Fault("chat.update", error="fatal_error"))

    await slack.call("auth.test", {})
    answer = await slack.call("chat.update", {})

    assert answer.body["error"] == "fatal_error"


async def test_an_order_can_be_taken_back(slack):
    slack.fail(Fault("auth.test", error="fatal_error"))

    slack.web_api.faults.clear()
    answer = await slack.call("auth.test", {})

    assert answer.body["ok"]


async def test_a_limit_a_minute_answers_with_the_time_that_is_left(start):
    slack = await start(SlackOptions(limits={"chat.postMessage": 2}))

    answers = [await slack.call("chat.postMessage", {"channel": C, "text": str(number)}) for number in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert 0 < answers[2].retry_after <= 60
    assert texts(slack) == ["0", "1"]


async def test_a_method_without_a_limit_is_not_limited(start):
    slack = await start(SlackOptions(limits={"chat.postMessage": 1}))

    answers = [await slack.call("auth.test", {}) for _ in range(5)]

    assert {answer.status for answer in answers} == {200}


async def test_the_log_keeps_calls_with_their_answers_and_no_token(slack, http):
    form = {"channel": C, "text": "a", "token": "xoxb-playground"}
    async with http.post(f"{slack.url}/api/chat.postMessage", data=form) as answer:
        body = await answer.json()
    await slack.call("users.info", {"user": "U0NOBODY"})

    posted, asked = slack.calls()

    assert (posted.method, dict(posted.arguments)) == ("chat.postMessage", {"channel": C, "text": "a"})
    assert posted.answer.body == body
    assert (posted.error, asked.error) == ("", "user_not_found")
    assert posted.at <= posted.answered_at <= asked.at


async def test_the_log_names_what_was_dropped(slack):
    slack.fail(Fault("chat.postMessage", drop=True))

    await slack.call("chat.postMessage", {"channel": C, "text": "a"})

    (call,) = slack.calls("chat.postMessage")
    assert call.answer.dropped
    assert call.answer.body["ok"]
    assert call.to_json()["answer"]["dropped"] is True


async def test_a_call_over_the_query_is_understood(slack, http):
    headers = {"Authorization": "Bearer xoxb-playground"}

    async with http.get(f"{slack.url}/api/users.info?user=U0ANA", headers=headers) as answer:
        body = await answer.json()

    assert body["user"]["name"] == "ana"


async def test_json_that_is_broken_is_no_argument(slack, http):
    headers = {"Authorization": "Bearer xoxb-playground", "Content-Type": "application/json"}

    async with http.post(f"{slack.url}/api/chat.postMessage", data="{not json", headers=headers) as answer:
        body = await answer.json()

    assert body["error"] == "channel_not_found"
