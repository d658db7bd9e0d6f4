"""The scripted model in this process: what it answers, how it fails, where it waits."""

import asyncio
from collections.abc import Iterator
from itertools import count

import pytest

from bot.errors import (
    ModelAuthError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitedError,
    ModelRequestError,
    ModelStreamError,
)
from bot.llm.provider import ModelReply, ModelRequest, Provider
from bot.llm.script import Call, Fault, FaultKind, Gate, Play, Round, Script
from bot.llm.scripted import ScriptedProvider
from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage

LIMIT_SECONDS = 5.0


def provider_of(*rounds: Round, pace: float = 1.0, ids: Iterator[str] | None = None) -> ScriptedProvider:
    minted = ids or (f"call{number:05d}" for number in count())
    return ScriptedProvider(Script((Play("", rounds),)), lambda: next(minted), {"URL": "http://sick"}, pace)


def request(*messages: Message) -> ModelRequest:
    return ModelRequest("demo", "You are careful.", messages or (UserMessage("hi"),), ())


async def ask(provider: Provider, *messages: Message) -> ModelReply:
    async with asyncio.timeout(LIMIT_SECONDS), provider.stream(request(*messages)) as stream:
        return await stream.reply()


async def test_a_round_becomes_a_message_whose_calls_carry_minted_ids() -> None:
    calls = (Call("http_get", {"url": "{{var URL}}/metrics"}), Call("http_get", {"url": "{{var URL}}/logs"}))
    provider = provider_of(Round(say="Reading.", calls=calls, chunks=3), ids=iter(["aaaaaaaaa", "bbbbbbbbb"]))

    reply = await ask(provider)

    assert reply.message == AssistantMessage(
        "Reading.",
        (
            ToolCall("aaaaaaaaa", "http_get", {"url": "http://sick/metrics"}),
            ToolCall("bbbbbbbbb", "http_get", {"url": "http://sick/logs"}),
        ),
        provider="scripted",
        model="demo",
    )
    assert not reply.stopped_at_limit


async def test_the_next_round_sees_the_results_of_the_one_before() -> None:
    provider = provider_of(Round(calls=(Call("f"),)), Round(say="It says {{find p95 (.*)}}."))
    asked = AssistantMessage("", (ToolCall("aaaaaaaaa", "f"),))

    reply = await ask(provider, UserMessage("slow?"), asked, ToolResult("aaaaaaaaa", "f", "p95 4.8 s"))

    assert reply.message.text == "It says 4.8 s."


async def test_another_provider_with_the_same_script_goes_on_where_the_first_one_died() -> None:
    rounds = (Round(calls=(Call("f"),)), Round(say="second"))
    first = await ask(provider_of(*rounds))
    called = first.message.calls[0]

    reply = await ask(provider_of(*rounds), UserMessage("hi"), first.message, ToolResult(called.id, "f", "x"))

    assert reply.message.text == "second"


async def test_tokens_are_counted_as_a_quarter_of_the_characters() -> None:
    provider = provider_of(Round(say="y" * 80))

    reply = await ask(provider, UserMessage("x" * 384))

    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 20)
    assert reply.usage.reported


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, ModelRequestError),
        (401, ModelAuthError),
        (403, ModelAuthError),
        (404, ModelNotFoundError),
        (422, ModelRequestError),
        (429, ModelRateLimitedError),
        (500, ModelOverloadedError),
        (503, ModelOverloadedError),
        (529, ModelOverloadedError),
    ],
)
async def test_a_status_is_the_error_that_a_real_service_would_cause(status: int, error: type[ModelError]) -> None:
    provider = provider_of(Round(fault=Fault(FaultKind.STATUS, status=status)))

    with pytest.raises(ModelError) as caught:
        await ask(provider)

    assert type(caught.value) is error
    assert caught.value.status == status


async def test_a_rate_limit_says_when_to_come_back() -> None:
    provider = provider_of(Round(fault=Fault(FaultKind.STATUS, status=429, retry_after=2.5)))

    with pytest.raises(ModelRateLimitedError) as caught:
        await ask(provider)

    assert caught.value.retry_after == 2.5


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FaultKind.ENDS_EARLY, ModelStreamError),
        (FaultKind.ERROR_IN_STREAM, ModelOverloadedError),
        (FaultKind.RESET, ModelStreamError),
    ],
)
async def test_a_message_without_its_proper_end_is_never_returned(kind: FaultKind, error: type[ModelError]) -> None:
    provider = provider_of(Round(say="half", calls=(Call("f"),), fault=Fault(kind)))

    with pytest.raises(ModelError) as caught:
        await ask(provider)

    assert type(caught.value) is error


async def test_a_fault_that_happens_once_is_gone_when_asked_again() -> None:
    provider = provider_of(Round(say="well", fault=Fault(FaultKind.STATUS, status=529, times=1)))
    with pytest.raises(ModelOverloadedError):
        await ask(provider)

    reply = await ask(provider)

    assert reply.message.text == "well"


async def test_an_empty_message_has_neither_text_nor_calls() -> None:
    provider = provider_of(Round(say="unused", calls=(Call("f"),), fault=Fault(FaultKind.EMPTY)))

    reply = await ask(provider)

    assert (reply.message.text, reply.message.calls) == ("", ())


async def test_at_the_limit_the_last_call_is_broken_and_the_reply_says_so() -> None:
    calls = (Call("f", {"a": 1}), Call("g", {"b": 2}))
    provider = provider_of(Round(calls=calls, fault=Fault(FaultKind.MAX_TOKENS)))

    reply = await ask(provider)

    assert reply.stopped_at_limit
    assert [(call.arguments, call.broken_arguments) for call in reply.message.calls] == [
        ({"a": 1}, None),
        ({}, '{"b"'),
    ]


@pytest.mark.parametrize("at", ["before_first_chunk", "chunk:2", "before_end"])
async def test_the_reply_waits_at_its_gate_until_that_is_opened(at: str) -> None:
    provider = provider_of(Round(say="abc", chunks=3, gate=Gate("g", at)))
    asking = asyncio.create_task(ask(provider))
    async with asyncio.timeout(LIMIT_SECONDS):
        await provider.gates.reached("g")
    waited = not asking.done()

    provider.gates.open("g")
    reply = await asking

    assert waited
    assert reply.message.text == "abc"


async def test_waiting_for_two_messages_at_a_gate_is_not_over_after_one() -> None:
    provider = provider_of(Round(say="abc", gate=Gate("g", "before_end")))
    asking = [asyncio.create_task(ask(provider))]
    async with asyncio.timeout(LIMIT_SECONDS):
        await provider.gates.reached("g")

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(provider.gates.reached("g", times=2), 0.02)
        asking.append(asyncio.create_task(ask(provider)))
        await provider.gates.reached("g", times=2)
        provider.gates.open("g")

    replies = await asyncio.gather(*asking)
    assert [reply.message.text for reply in replies] == ["abc"] * 2


async def test_a_hang_ends_only_when_it_is_cancelled() -> None:
    provider = provider_of(Round(say="a", fault=Fault(FaultKind.HANG, after=1), gate=Gate("g", "chunk:1")))
    provider.gates.open("g")
    asking = asyncio.create_task(ask(provider))
    async with asyncio.timeout(LIMIT_SECONDS):
        await provider.gates.reached("g")

    asking.cancel()
    ended = await asyncio.gather(asking, return_exceptions=True)

    assert isinstance(ended[0], asyncio.CancelledError)


async def test_with_no_pace_the_delays_of_the_script_are_left_out() -> None:
    hour = 3_600_000
    provider = provider_of(Round(say="abc", chunks=3, first_ms=hour, chunk_ms=hour), pace=0)

    reply = await ask(provider)

    assert reply.message.text == "abc"


async def test_the_delays_of_the_script_take_their_time() -> None:
    provider = provider_of(Round(say="abc", chunks=3, first_ms=20, chunk_ms=20))
    clock = asyncio.get_running_loop().time
    before = clock()

    await ask(provider)

    assert clock() - before >= 0.055
