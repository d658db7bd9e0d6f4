"""Anthropic's dialect end to end: the quirks over a real connection, and what goes out."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from bot.errors import ModelError, ModelOverloadedError
from bot.llm.anthropic_messages import AnthropicMessages, request_body
from bot.llm.provider import ModelReply, ModelRequest
from bot.llm.validate import check_anthropic
from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, ToolSchema, UserMessage
from bot.rules.terms import CallOutcome
from tests.llm.notation import neutral
from tests.llm.quirks import Quirk, ask, differences, minting, quirks
from tests.llm.stream_server import Service, plays, refuses, serving

QUIRKS = {quirk.id: quirk for quirk in quirks("anthropic")}
TOOL = ToolSchema("f", "Does f.", {"type": "object"})


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with asyncio.timeout(30), serving() as running:
        yield running


def body(*messages: Message, model: str = "m", tools: tuple[ToolSchema, ...] = (TOOL,)) -> dict[str, object]:
    """The body of a request, as it is on the wire."""
    return json.loads(json.dumps(request_body(ModelRequest(model, "be brief", messages, tools, max_tokens=99))))


async def said(service: Service, case: str) -> AssistantMessage:
    """The message of a case."""
    service.answer = plays(QUIRKS[case].body)
    reply = await ask(AnthropicMessages(service.url, "k", minting()))
    assert isinstance(reply, ModelReply)
    return reply.message


def test_the_cases_of_this_dialect_are_all_there() -> None:
    assert len(QUIRKS) == 8
    assert sum(quirk.is_error for quirk in QUIRKS.values()) == 2


@pytest.mark.parametrize("quirk", QUIRKS.values(), ids=QUIRKS)
async def test_every_quirk_gives_the_message_that_was_meant_or_an_error(service: Service, quirk: Quirk) -> None:
    service.answer = plays(quirk.body, quirk.split, quirk.ends)

    reply = await ask(AnthropicMessages(service.url, "k", minting()))

    assert isinstance(reply, ModelError) == quirk.is_error, reply
    if isinstance(reply, ModelReply):
        assert differences(quirk, reply) == []


async def test_thinking_goes_back_unchanged_with_our_ids_and_is_accepted(service: Service) -> None:
    message = await said(service, "a07_thinking_signature")
    call_id = message.calls[0].id

    wire = body(UserMessage("hi"), message, ToolResult(call_id, "f", "ok"))

    assert wire["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "think", "signature": "SIG=="},
        {"type": "tool_use", "id": call_id, "name": "f", "input": {"q": "a"}},
    ]
    assert check_anthropic({**wire, "thinking": {"type": "enabled"}}, {"SIG==": "think"}) is None


async def test_redacted_thinking_goes_back_unchanged(service: Service) -> None:
    message = await said(service, "a09_redacted_thinking")

    wire = body(UserMessage("hi"), message, ToolResult(message.calls[0].id, "f", "ok"))

    assert wire["messages"][1]["content"][0] == {"type": "redacted_thinking", "data": "RED=="}


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "m2"), ("openai", "m")])
async def test_another_models_thinking_is_left_out(service: Service, provider: str, model: str) -> None:
    message = await said(service, "a07_thinking_signature")
    foreign = AssistantMessage(message.text, message.calls, provider, "m", message.provider_blocks)

    wire = body(UserMessage("hi"), foreign, ToolResult(message.calls[0].id, "f", "ok"), model=model)

    assert [block["type"] for block in wire["messages"][1]["content"]] == ["tool_use"]


async def test_a_message_without_thinking_keeps_no_blocks(service: Service) -> None:
    message = await said(service, "a01_normal_parallel")

    assert message.provider_blocks == ()
    assert len(message.calls) == 2


def test_blocks_that_call_something_else_than_the_message_are_not_sent() -> None:
    call = ToolCall("bbbbbbbbb", "f", {})
    blocks = ({"type": "tool_use", "id": "aaaaaaaaa", "name": "f", "input": {}},)
    message = AssistantMessage("", (call,), "anthropic", "m", blocks)

    wire = body(UserMessage("hi"), message, ToolResult(call.id, "f", "ok"))

    assert check_anthropic(wire) is None


async def test_the_request_carries_the_version_the_key_and_the_limit(service: Service) -> None:
    service.answer = plays(QUIRKS["a01_normal_parallel"].body)

    await ask(AnthropicMessages(service.url, "k", minting()))

    asked = service.asked[0]
    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == ("k", "2023-06-01")
    assert asked.body == {
        "model": "m",
        "max_tokens": 4096,
        "system": "be brief",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "stream": True,
    }


async def test_an_address_with_v1_at_its_end_is_the_same_address(service: Service) -> None:
    service.answer = plays(QUIRKS["a01_normal_parallel"].body)

    await ask(AnthropicMessages(f"{service.url}/v1/", "k", minting()))

    assert service.asked[0].path == "/v1/messages"


async def test_an_overload_before_and_inside_the_stream_is_the_same_error(service: Service) -> None:
    reported = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    provider = AnthropicMessages(service.url, "k", minting())

    service.answer = refuses(529, json.dumps(reported))
    before = await ask(provider)
    service.answer = plays(f"event: error\ndata: {json.dumps(reported)}\n\n")
    inside = await ask(provider)

    assert isinstance(before, ModelOverloadedError)
    assert isinstance(inside, ModelOverloadedError)
    assert before.status == 529


def test_results_come_first_in_the_users_message_and_the_steer_after_them() -> None:
    wire = body(*neutral("U A[a,b] T[b] T[a] U"))

    assert [message["role"] for message in wire["messages"]] == ["user", "assistant", "user"]
    last = wire["messages"][2]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert [block["tool_use_id"] for block in last[:2]] == ["a" * 9, "b" * 9]


def test_users_in_a_row_are_one_message_of_one_text() -> None:
    wire = body(UserMessage("one"), UserMessage("two"))

    assert wire["messages"] == [{"role": "user", "content": [{"type": "text", "text": "one\n\ntwo"}]}]


@pytest.mark.parametrize("outcome", CallOutcome)
def test_every_outcome_but_ok_is_marked_as_an_error(outcome: CallOutcome) -> None:
    wire = body(*neutral("U A[a]"), ToolResult("aaaaaaaaa", "f", "said", outcome))

    block = wire["messages"][2]["content"][0]
    assert block.get("is_error", False) == (outcome is not CallOutcome.OK)
    assert block["content"] == "said"


def test_no_text_of_the_wire_is_ever_blank() -> None:
    message = AssistantMessage(" \n", (ToolCall("aaaaaaaaa", "f", {}),))

    wire = body(UserMessage("hi"), message, ToolResult("aaaaaaaaa", "f", ""))

    assert [block["type"] for block in wire["messages"][1]["content"]] == ["tool_use"]
    assert wire["messages"][2]["content"][0]["content"] == "(no output)"


def test_a_history_with_calls_defines_tools_even_where_none_are_offered_any_more() -> None:
    wire = body(*neutral("U A[a] T[a]"), tools=())

    assert [tool["name"] for tool in wire["tools"]] == ["f"]
    assert wire["tool_choice"] == {"type": "none"}
    assert check_anthropic(wire) is None


def test_tools_that_are_offered_go_out_with_their_schema_alone() -> None:
    wire = body(UserMessage("hi"))

    assert wire["tools"] == [{"name": "f", "description": "Does f.", "input_schema": {"type": "object"}}]
    assert "tool_choice" not in wire
    assert "tools" not in body(UserMessage("hi"), tools=())


def test_what_is_sent_of_a_checked_history_passes_the_rules_of_the_dialect() -> None:
    for shorthand in ("U", "U A[a] T[a]", "U A[a,b] T[b] T[a] U A U", "U A[a] T[a] A[b] T[b] U"):
        wire = body(*neutral(shorthand))

        assert check_anthropic(wire) is None
