"""The connection of a model call: its life, its limits, and what leaving it does.

Both dialects share it; the calls here go through the OpenAI one.
"""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator

import pytest

from bot.errors import (
    ModelAuthError,
    ModelOverloadedError,
    ModelRateLimitedError,
    ModelStreamError,
    ModelUnreachableError,
    SettingsError,
)
from bot.llm.event_stream import MAX_MESSAGE_BYTES, Timeouts
from bot.llm.openai_chat import OpenAIChat
from bot.llm.provider import ModelReply
from tests.llm.quirks import REQUEST, ask, minting
from tests.llm.stream_server import SSE, Answering, Service, plays, refuses, serving

KEY = "sk-secret-0123456789"
HI = 'data: {"choices": [{"delta": {"content": "hi"}}]}\n\n'
END = 'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with asyncio.timeout(60), serving() as running:
        yield running


def chat(service: Service, timeouts: Timeouts | None = None) -> OpenAIChat:
    """A provider that asks the service."""
    return OpenAIChat(service.url, KEY, minting(), timeouts)


class Endless:
    """An answer that begins, never ends, and sees when the client has gone."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.gone = asyncio.Event()

    async def __call__(self, answering: Answering) -> None:
        await answering.head()
        await answering.send(HI)
        self.started.set()
        await answering.client_is_gone()
        self.gone.set()


def cancel_after(ticks: int, call: asyncio.Task[object]) -> None:
    """Cancel a call when the loop has turned that often."""
    if ticks:
        asyncio.get_running_loop().call_soon(cancel_after, ticks - 1, call)
    else:
        call.cancel()


async def test_leaving_a_stream_before_its_end_closes_the_connection_at_once(service: Service) -> None:
    endless = Endless()
    service.answer = endless

    async with chat(service).stream(REQUEST):
        await endless.started.wait()
        assert not endless.gone.is_set()

    async with asyncio.timeout(1):
        await endless.gone.wait()


async def test_a_service_that_goes_on_after_the_client_left_reaches_nobody(service: Service) -> None:
    sent = asyncio.Event()
    failed: list[str] = []

    async def answer(answering: Answering) -> None:
        await answering.head()
        await answering.send(HI)
        sent.set()
        await answering.client_is_gone()
        for _ in range(3):
            try:
                await answering.send(HI)
            except ConnectionError as gone:
                failed.append(type(gone).__name__)

    service.answer = answer
    async with chat(service).stream(REQUEST):
        await sent.wait()

    await service.all_gone.wait()
    assert failed


@pytest.mark.parametrize("ticks", range(6))
async def test_a_call_that_is_cancelled_twice_leaves_nothing_behind(service: Service, ticks: int) -> None:
    endless = Endless()
    service.answer = endless
    provider = chat(service)
    call = asyncio.create_task(ask(provider))
    await endless.started.wait()

    call.cancel()
    cancel_after(ticks, call)
    with pytest.raises(asyncio.CancelledError):
        await call

    async with asyncio.timeout(1):
        await service.all_gone.wait()
    service.answer = plays(HI + END)
    assert isinstance(await ask(provider), ModelReply)


async def test_many_double_cancels_use_up_no_connection(service: Service) -> None:
    provider = chat(service)

    for _ in range(25):
        endless = Endless()
        service.answer = endless
        call = asyncio.create_task(ask(provider))
        await endless.started.wait()
        call.cancel()
        cancel_after(1, call)
        await asyncio.wait([call])

    await service.all_gone.wait()
    service.answer = plays(HI + END)
    assert isinstance(await ask(provider), ModelReply)
    assert len(service.asked) == 26


@pytest.mark.parametrize("reading", [True, False], ids=["while reading", "while holding"])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("gap", [0, 1, 2])
async def test_cancels_at_any_moment_leave_no_connection_open(
    service: Service, reading: bool, count: int, gap: int
) -> None:
    endless, inside = Endless(), asyncio.Event()
    service.answer = endless

    async def hold() -> None:
        async with chat(service).stream(REQUEST) as stream:
            inside.set()
            await (stream.reply() if reading else asyncio.Event().wait())

    for first in range(4):
        inside.clear()
        call = asyncio.create_task(hold())
        await inside.wait()
        for nth in range(count):
            cancel_after(first + nth * gap, call)
        await asyncio.wait([call])

        async with asyncio.timeout(1):
            await service.all_gone.wait()
        assert call.cancelled()


async def test_a_cancel_before_the_answer_has_begun_closes_the_connection_too(service: Service) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def answer(answering: Answering) -> None:
        asked.set()
        await answering.client_is_gone()
        gone.set()

    service.answer = answer
    call = asyncio.create_task(ask(chat(service)))
    await asked.wait()

    call.cancel()

    async with asyncio.timeout(1):
        await gone.wait()


async def test_silence_past_the_idle_limit_is_an_unreachable_service(service: Service) -> None:
    service.answer = Endless()

    error = await ask(chat(service, Timeouts(idle=0.1)))

    assert isinstance(error, ModelUnreachableError)
    await service.all_gone.wait()


async def test_comments_count_as_life_however_long_the_message_takes(service: Service) -> None:
    async def answer(answering: Answering) -> None:
        await answering.head()
        gone = asyncio.ensure_future(answering.client_is_gone())
        for _ in range(8):
            await asyncio.wait([gone], timeout=0.1)
            await answering.send(": ping\n\n")
        await answering.send(HI + END)

    service.answer = answer

    reply = await ask(chat(service, Timeouts(idle=0.4)))

    assert isinstance(reply, ModelReply)
    assert reply.message.text == "hi"


async def test_a_service_that_is_not_there_is_unreachable() -> None:
    async with serving() as service:
        provider = chat(service)

    error = await ask(provider)

    assert isinstance(error, ModelUnreachableError)


async def test_a_connection_that_breaks_off_is_a_broken_stream(service: Service) -> None:
    service.answer = plays(HI, ends="reset")

    error = await ask(chat(service))

    assert isinstance(error, ModelStreamError)


async def test_a_chunked_body_that_is_cut_is_a_broken_stream_even_after_the_finish(service: Service) -> None:
    async def answer(answering: Answering) -> None:
        await answering.head(headers={**SSE, "Transfer-Encoding": "chunked"})
        await answering.send(f"{len(HI + END):x}\r\n{HI + END}\r\n")

    service.answer = answer

    error = await ask(chat(service))

    assert isinstance(error, ModelStreamError)


@pytest.mark.parametrize("body", ["data: " + "x" * 1024, ": " + "p" * 1024 + "\n\n"], ids=["a line", "comments"])
async def test_a_message_longer_than_the_limit_is_not_read_to_its_end(service: Service, body: str) -> None:
    async def answer(answering: Answering) -> None:
        await answering.head()
        while True:
            await answering.send(body * 512)

    service.answer = answer

    error = await ask(chat(service))

    assert isinstance(error, ModelStreamError)
    assert str(MAX_MESSAGE_BYTES) in str(error)


async def test_a_refused_request_is_one_request_and_keeps_the_services_words(service: Service) -> None:
    service.answer = refuses(429, '{"error": {"message": "slow down"}}', {"Retry-After": "12"})

    error = await ask(chat(service))

    assert isinstance(error, ModelRateLimitedError)
    assert (str(error), error.status, error.retry_after) == ("HTTP 429: slow down", 429, 12.0)
    assert len(service.asked) == 1


@pytest.mark.parametrize("status", [500, 503, 529])
async def test_an_overloaded_service_is_not_asked_again(service: Service, status: int) -> None:
    service.answer = refuses(status, "")

    error = await ask(chat(service))

    assert isinstance(error, ModelOverloadedError)
    assert len(service.asked) == 1


async def test_a_redirect_is_not_followed_and_takes_no_key_elsewhere(service: Service) -> None:
    async with serving(plays(HI + END)) as elsewhere:
        service.answer = refuses(307, "", {"Location": elsewhere.url})

        error = await ask(chat(service))

    assert str(error).startswith("HTTP 307")
    assert elsewhere.asked == []


async def test_a_body_that_is_no_event_stream_is_a_broken_stream(service: Service) -> None:
    service.answer = refuses(200, '{"choices": []}')

    error = await ask(chat(service))

    assert isinstance(error, ModelStreamError)
    assert "application/json" in str(error)


async def test_an_error_that_comes_as_json_with_status_200_is_still_that_error(service: Service) -> None:
    service.answer = refuses(200, '{"error": {"message": "busy", "code": 503}}')

    error = await ask(chat(service))

    assert isinstance(error, ModelOverloadedError)


async def test_a_compressed_stream_is_refused_because_its_size_cannot_be_limited(service: Service) -> None:
    async def answer(answering: Answering) -> None:
        await answering.head(headers={**SSE, "Content-Encoding": "gzip"})
        await answering.send(gzip.compress((HI + END).encode()))

    service.answer = answer

    error = await ask(chat(service))

    assert isinstance(error, ModelStreamError)
    assert service.asked[0].headers["accept-encoding"] == "identity"


async def test_events_without_words_are_passed_over(service: Service) -> None:
    service.answer = plays(f"id: 1\n\ndata:\n\n{HI}event: ping\n\n{END}")

    reply = await ask(chat(service))

    assert isinstance(reply, ModelReply)
    assert reply.message.text == "hi"


async def test_a_byte_order_mark_does_not_swallow_the_first_event(service: Service) -> None:
    service.answer = plays("\ufeff" + HI + END)

    reply = await ask(chat(service))

    assert isinstance(reply, ModelReply)
    assert reply.message.text == "hi"


async def test_the_key_is_in_the_request_and_in_no_error(service: Service) -> None:
    service.answer = refuses(401, json.dumps({"error": {"message": f"Incorrect API key: {KEY}"}}))

    error = await ask(chat(service))

    assert service.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert isinstance(error, ModelAuthError)
    assert KEY not in str(error)


@pytest.mark.parametrize("key", ["sk-é", "sk-1\nX: y", "sk-\0"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(SettingsError) as refused:
        OpenAIChat("http://127.0.0.1:9", key, minting())

    assert key not in str(refused.value)


async def test_proxies_of_the_environment_are_not_used(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    service.answer = plays(HI + END)

    reply = await ask(chat(service))

    assert isinstance(reply, ModelReply)
