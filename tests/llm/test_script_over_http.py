"""One script, three ways: in this process and over HTTP in both dialects, it must bring the same reply or error.

So what a test proves with the scripted model holds for a real connection too, and the two players cannot drift apart.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

import pytest

from bot.errors import ModelError, ModelRateLimitedError, ModelStreamError, ModelUnreachableError
from bot.llm.anthropic_messages import AnthropicMessages
from bot.llm.openai_chat import OpenAIChat
from bot.llm.provider import ModelReply, ModelRequest, Provider
from bot.llm.script import Call, Fault, FaultKind, Gate, Play, Round, Script
from bot.llm.scripted import ScriptedProvider
from bot.playground.model_server import ModelServer
from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, ToolSchema, UserMessage

KEY = "key-of-the-demo"
LIMIT_SECONDS = 10.0
OVER_HTTP = ("openai", "anthropic")
TOOL = ToolSchema("http_get", "Read a URL.", {"type": "object", "properties": {}})


def minting() -> Callable[[], str]:
    numbers = count()
    return lambda: f"call{next(numbers):05d}"


def adapter(dialect: str, server: ModelServer) -> Provider:
    if dialect == "openai":
        return OpenAIChat(f"{server.url}/v1", KEY, minting())
    return AnthropicMessages(server.url, KEY, minting())


@asynccontextmanager
async def both(script: Script, dialect: str) -> AsyncIterator[tuple[Provider, Provider]]:
    async with asyncio.timeout(LIMIT_SECONDS), ModelServer.running(script, KEY, pace=0) as server:
        yield ScriptedProvider(script, minting(), pace=0), adapter(dialect, server)


async def ask(provider: Provider, *messages: Message) -> ModelReply:
    asked = messages or (UserMessage("why?"),)
    async with provider.stream(ModelRequest("scripted", "Be careful.", asked, (TOOL,))) as stream:
        return await stream.reply()


async def error_of(provider: Provider) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(provider)
    return caught.value


def said(reply: ModelReply) -> tuple[str, tuple[ToolCall, ...], bool]:
    return reply.message.text, reply.message.calls, reply.stopped_at_limit


ROUNDS = {
    "text": Round(say="Hello {{user}}, äöü € \n\n- one\n- two", chunks=5),
    "calls": Round(say="Reading.", calls=(Call("http_get", {"url": "http://x/?a=1"}), Call("http_get"))),
    "calls only": Round(calls=(Call("http_get", {"deep": {"list": [1, "ä", None]}}),)),
    "limit": Round(say="half", fault=Fault(FaultKind.MAX_TOKENS)),
    "limit in a call": Round(
        calls=(Call("http_get", {"url": "http://x"}),) * 2, fault=Fault(FaultKind.MAX_TOKENS)
    ),
    "empty": Round(say="unused", fault=Fault(FaultKind.EMPTY)),
}  # fmt: skip


@pytest.mark.parametrize("dialect", OVER_HTTP)
@pytest.mark.parametrize("name", ROUNDS)
async def test_a_round_is_the_same_message_in_process_and_over_http(name: str, dialect: str) -> None:
    async with both(Script((Play("", (ROUNDS[name],)),)), dialect) as (here, there):
        near, far = said(await ask(here)), said(await ask(there))

    assert near == far


@pytest.mark.parametrize("dialect", OVER_HTTP)
async def test_a_steered_conversation_finds_the_same_round_in_process_and_over_http(dialect: str) -> None:
    script = Script((Play("gateway", (Round(say="1"), Round(say="2 {{find p95 (.*)}}|{{result 1}}"))),))
    call, again = ToolCall("aaaaaaaaa", "http_get"), ToolCall("bbbbbbbbb", "http_get")
    conversation = (
        UserMessage("why?"),
        AssistantMessage("Reading.", (call,)),
        ToolResult(call.id, "http_get", "p95 4.8 s"),
        UserMessage("@ben: the gateway!"),
        AssistantMessage("", (again,)),
        ToolResult(again.id, "http_get", "pool 64"),
    )

    async with both(script, dialect) as (here, there):
        near, far = await ask(here, *conversation), await ask(there, *conversation)

    assert near.message.text == far.message.text == "2 4.8 s|pool 64"


STATUSES = (400, 401, 403, 404, 422, 429, 500, 503, 529)
FAULTS = [Fault(FaultKind.STATUS, status=status) for status in STATUSES] + [
    Fault(kind, after=after)
    for kind in (FaultKind.ENDS_EARLY, FaultKind.ERROR_IN_STREAM)
    for after in (0, 1, None)
]  # fmt: skip


@pytest.mark.parametrize("dialect", OVER_HTTP)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.status}-{fault.after}")
async def test_a_fault_is_the_same_error_in_process_and_over_http(fault: Fault, dialect: str) -> None:
    round_ = Round(say="ab", chunks=2, calls=(Call("http_get"),), fault=fault)

    async with both(Script((Play("", (round_,)),)), dialect) as (here, there):
        near, far = await error_of(here), await error_of(there)

    assert type(near) is type(far)
    assert near.status == far.status


@pytest.mark.parametrize("dialect", OVER_HTTP)
async def test_a_dropped_connection_is_a_connection_error_in_process_and_over_http(dialect: str) -> None:
    round_ = Round(say="ab", chunks=2, fault=Fault(FaultKind.RESET, after=1))

    async with both(Script((Play("", (round_,)),)), dialect) as (here, there):
        near, far = await error_of(here), await error_of(there)

    # A reset may overtake the bytes before it: then no header was seen, and the service counts as unreachable.
    assert isinstance(near, ModelStreamError)
    assert isinstance(far, ModelStreamError | ModelUnreachableError)


@pytest.mark.parametrize("dialect", OVER_HTTP)
async def test_the_wait_that_a_rate_limit_asks_for_arrives_over_http(dialect: str) -> None:
    round_ = Round(fault=Fault(FaultKind.STATUS, status=429, retry_after=7))

    async with both(Script((Play("", (round_,)),)), dialect) as (here, there):
        near, far = await error_of(here), await error_of(there)

    assert isinstance(near, ModelRateLimitedError)
    assert isinstance(far, ModelRateLimitedError)
    assert near.retry_after == far.retry_after == 7


@pytest.mark.parametrize("dialect", OVER_HTTP)
async def test_leaving_the_stream_of_an_adapter_is_seen_by_the_server(dialect: str) -> None:
    script = Script((Play("", (Round(say="abc", chunks=3, gate=Gate("g", "chunk:2")),)),))

    async with asyncio.timeout(LIMIT_SECONDS), ModelServer.running(script, KEY) as server:
        asking = asyncio.create_task(ask(adapter(dialect, server)))
        await server.gate_reached("g")
        asking.cancel()
        received = await server.received(1)
        await received.ended.wait()

    assert received.left_at is not None
    assert received.chunks_sent == 1
