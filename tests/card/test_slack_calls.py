"""Every way in which a call of Slack's Web API can fail has one meaning, whatever stands between Slack and us."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from bot.card.slack_calls import LONGEST_REST_S, STANDARD_REST_S, SlackCalls
from bot.errors import SlackError, SlackPermanentError, SlackRateLimitedError, SlackUnansweredError
from bot.playground.faults import Fault
from bot.playground.local_slack import LocalSlack
from bot.rules.redaction import Scrubber

ANA, INCIDENTS = "U0ANA", "C0INCIDENTS"
HELLO = {"text": "hello"}


def calls_of(url: str, token: str = "xoxb-playground", timeout: int = 10) -> SlackCalls:
    return SlackCalls(AsyncWebClient(token=token, base_url=f"{url}/api/", retry_handlers=[], timeout=timeout))


@pytest.fixture
async def slack():
    async with LocalSlack.running() as slack:
        yield slack


@pytest.fixture
async def root(slack):
    return (await slack.say(ANA, INCIDENTS, "why?")).ts


class Odd:
    """Something that answers as Slack never would, or not at all; it counts how often it was asked."""

    def __init__(self, answer: web.Response | None) -> None:
        self.answer, self.asked, self.url = answer, 0, ""

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self.answer is None:
            await asyncio.Event().wait()
        return self.answer

    @classmethod
    @asynccontextmanager
    async def running(cls, answer: web.Response | None):
        odd, app = cls(answer), web.Application()
        app.router.add_route("*", "/{path:.*}", odd._answer)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        odd.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield odd
        await runner.cleanup()


async def refusal(call) -> SlackError:
    with pytest.raises(SlackError) as caught:
        await call
    return caught.value


async def test_a_post_says_where_it_stands_and_unfurls_nothing(slack, root):
    ts = await calls_of(slack.url).post(INCIDENTS, root, HELLO)

    (call,) = slack.calls("chat.postMessage")
    assert slack.thread(INCIDENTS, root)[1].ts == ts
    assert [str(call.arguments[key]).lower() for key in ("unfurl_links", "unfurl_media")] == ["false", "false"]


@pytest.mark.parametrize("secret", ["hunter2-hunter2", "xoxb-1234567890-abcdef"])
async def test_nothing_that_is_shown_holds_a_secret(slack, root, secret):
    calls = calls_of(slack.url).scrubbing(Scrubber(["hunter2-hunter2"]))
    block = {"type": "section", "text": {"type": "plain_text", "text": f"it is {secret}"}}

    ts = await calls.post(INCIDENTS, root, {"text": f"it is {secret}", "blocks": [block]})
    await calls.update(INCIDENTS, ts, {"text": f"it was {secret}", "blocks": [block]})
    await calls.whisper(INCIDENTS, ANA, f"it is {secret}", root)

    sent = [str(call.arguments) for call in slack.calls() if call.method.startswith("chat.")]
    assert len(sent) == 3
    assert all("[redacted]" in each and secret not in each for each in sent)


@pytest.mark.parametrize("error", ["message_not_found", "token_revoked", "is_archived", "missing_scope"])
async def test_what_no_repetition_can_mend_is_permanent(slack, root, error):
    slack.fail(Fault("chat.postMessage", error=error))

    refused = await refusal(calls_of(slack.url).post(INCIDENTS, root, HELLO))

    assert (type(refused), refused.method, refused.error) == (SlackPermanentError, "chat.postMessage", error)


@pytest.mark.parametrize("error", ["fatal_error", "internal_error", "service_unavailable"])
async def test_after_a_fault_of_slacks_own_nobody_knows_what_was_done(slack, root, error):
    slack.fail(Fault("chat.postMessage", error=error))

    refused = await refusal(calls_of(slack.url).post(INCIDENTS, root, HELLO))

    assert type(refused) is SlackUnansweredError


@pytest.mark.parametrize("fault", [{"drop": True}, {"lose": True}, {"status": 503}])
async def test_a_call_without_an_answer_is_made_once_and_is_uncertain(slack, root, fault):
    slack.fail(Fault("chat.postMessage", **fault))

    refused = await refusal(calls_of(slack.url).post(INCIDENTS, root, HELLO))

    assert type(refused) is SlackUnansweredError
    assert len(slack.calls("chat.postMessage")) == 1


async def test_any_other_refusal_is_neither(slack, root):
    slack.fail(Fault("chat.postMessage", error="invalid_blocks"))

    refused = await refusal(calls_of(slack.url).post(INCIDENTS, root, HELLO))

    assert (type(refused), refused.error) == (SlackError, "invalid_blocks")


async def test_a_method_that_slack_asks_to_rest_is_not_called_and_the_others_are(slack, root):
    slack.fail(Fault("chat.update", retry_after=30))
    calls = calls_of(slack.url)
    ts = await calls.post(INCIDENTS, root, HELLO)

    first = await refusal(calls.update(INCIDENTS, ts, HELLO))
    second = await refusal(calls.update(INCIDENTS, ts, HELLO))

    await calls.post(INCIDENTS, root, HELLO)
    assert first.retry_after == 30
    assert 29 < second.retry_after <= 30
    assert (len(slack.calls("chat.update")), len(slack.calls("chat.postMessage"))) == (1, 2)


async def test_a_method_may_be_called_again_when_its_rest_is_over(slack, root):
    slack.fail(Fault("chat.postMessage", retry_after=0))
    calls = calls_of(slack.url)
    await refusal(calls.post(INCIDENTS, root, HELLO))

    await calls.post(INCIDENTS, root, HELLO)

    assert len(slack.thread(INCIDENTS, root)) == 2


async def test_a_limit_that_is_told_with_http_200_is_a_limit(slack, root):
    slack.fail(Fault("chat.postMessage", error="ratelimited"))

    refused = await refusal(calls_of(slack.url).post(INCIDENTS, root, HELLO))

    assert (type(refused), refused.retry_after) == (SlackRateLimitedError, STANDARD_REST_S)


@pytest.mark.parametrize(
    ("header", "body", "seconds"),
    [
        ("7", {}, 7),
        (None, {"retry_after": 5}, 5),
        ("soon", {}, STANDARD_REST_S),
        ("nan", {}, STANDARD_REST_S),
        ("-1", {}, STANDARD_REST_S),
        ("inf", {}, STANDARD_REST_S),
        (str(LONGEST_REST_S * 2), {}, STANDARD_REST_S),
    ],
)
async def test_the_time_to_rest_is_read_where_it_makes_sense(header, body, seconds):
    headers = {"Retry-After": header} if header else {}
    answer = web.json_response({"ok": False, "error": "ratelimited", **body}, status=429, headers=headers)

    async with Odd.running(answer) as odd:
        refused = await refusal(calls_of(odd.url).whoami())

    assert refused.retry_after == seconds


ODD_ANSWERS = {
    "the page of a proxy": web.Response(status=502, text="<html>Bad gateway</html>", content_type="text/html"),
    "the plain text of a proxy": web.Response(status=503, text="upstream connect error"),
    "plain text with a good status": web.Response(text="ok"),
    "a list": web.json_response([1]),
    "nothing": web.Response(content_type="application/json"),
    "half an object": web.Response(text='{"ok": tr', content_type="application/json"),
    "no text at all": web.Response(body=b"\xff\xfe\xff", content_type="application/json"),
    "a refusal without a reason": web.json_response({"ok": False}),
    "a post without its time": web.json_response({"ok": True}),
    "a post whose time is none": web.json_response({"ok": True, "ts": {"a": 1}}),
}


@pytest.mark.parametrize("kind", ODD_ANSWERS)
async def test_an_answer_that_slack_never_gives_is_no_answer(kind):
    made = ODD_ANSWERS[kind]
    answer = web.Response(body=made.body, status=made.status, content_type=made.content_type)

    async with Odd.running(answer) as odd:
        refused = await refusal(calls_of(odd.url).post(INCIDENTS, "1.1", HELLO))

    assert type(refused) is SlackUnansweredError
    assert odd.asked == 1


async def test_a_silent_slack_is_left_after_the_time_limit():
    async with Odd.running(None) as odd:
        refused = await refusal(calls_of(odd.url, timeout=1).whoami())

    assert (type(refused), refused.error) == (SlackUnansweredError, "TimeoutError")


async def test_a_slack_that_is_not_there_gives_no_answer():
    async with Odd.running(None) as odd:
        gone = odd.url

    refused = await refusal(calls_of(gone).whoami())

    assert type(refused) is SlackUnansweredError


@pytest.mark.parametrize("user", [None, "ana", []])
async def test_an_answer_about_a_person_without_the_person_is_no_answer(user):
    async with Odd.running(web.json_response({"ok": True, "user": user})) as odd:
        refused = await refusal(calls_of(odd.url).person(ANA))

    assert type(refused) is SlackUnansweredError


async def test_a_wrong_token_is_permanent(slack):
    refused = await refusal(calls_of(slack.url, token="xoxb-other").whoami())

    assert (type(refused), refused.error) == (SlackPermanentError, "invalid_auth")


async def test_no_error_repeats_the_token(slack):
    refused = await refusal(calls_of(slack.url, token="xoxb-other").whoami())

    assert "xoxb-other" not in f"{refused!r} {refused.__cause__!r}"
