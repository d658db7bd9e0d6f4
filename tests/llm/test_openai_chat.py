"""OpenAI's dialect end to end: the quirks over a real connection, and what goes out."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from bot.errors import ModelError
from bot.llm.openai_chat import OpenAIChat, limit_key, request_body
from bot.llm.provider import ModelReply, ModelRequest
from bot.llm.validate import check_openai
from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, ToolSchema, UserMessage
from bot.rules.terms import CallOutcome
from tests.llm.notation import neutral
from tests.llm.quirks import REQUEST, Quirk, ask, differences, minting, quirks
from tests.llm.stream_server import Service, plays, serving

QUIRKS = {quirk.id: quirk for quirk in quirks("openai")}


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with asyncio.timeout(30), serving() as running:
        yield running


def request(*messages: Message, system: str = "", tools: tuple[ToolSchema, ...] = ()) -> ModelRequest:
    """A request to the model m."""
    return ModelRequest("m", system, messages, tools, max_tokens=99)


def sent(*messages: Message, system: str = "") -> list[dict[str, object]]:
    """The messages of the body."""
    return json.loads(json.dumps(request_body(request(*messages, system=system))))["messages"]


def test_the_cases_of_this_dialect_are_all_there() -> None:
    assert len(QUIRKS) == 31
    assert sum(quirk.is_error for quirk in QUIRKS.values()) == 4


@pytest.mark.parametrize("quirk", QUIRKS.values(), ids=QUIRKS)
async def test_every_quirk_gives_the_message_that_was_meant_or_an_error(service: Service, quirk: Quirk) -> None:
    service.answer = plays(quirk.body, quirk.split, quirk.ends)

    reply = await ask(OpenAIChat(service.url, "k", minting()))

    assert isinstance(reply, ModelError) == quirk.is_error, reply
    if isinstance(reply, ModelReply):
        assert differences(quirk, reply) == []


@pytest.mark.parametrize("case", ["20_reasoning_content", "20b_reasoning_field"])
async def test_reasoning_goes_back_to_the_same_model_and_to_no_other(service: Service, case: str) -> None:
    service.answer = plays(QUIRKS[case].body)
    reply = await ask(OpenAIChat(service.url, "k", minting()))
    assert isinstance(reply, ModelReply)
    history = [UserMessage("hi"), reply.message, ToolResult(reply.message.calls[0].id, "f", "ok")]

    same = request_body(request(*history))["messages"][1]
    other = request_body(ModelRequest("m2", "", tuple(history), ()))["messages"][1]

    field = "reasoning" if case == "20b_reasoning_field" else "reasoning_content"
    assert same[field] == "think"
    assert field not in other


async def test_the_request_asks_for_a_stream_with_usage_under_the_given_key(service: Service) -> None:
    service.answer = plays(QUIRKS["01_normal_parallel"].body)

    await ask(OpenAIChat(f"{service.url}/v1/", "k", minting()))

    asked = service.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer k"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 4096,
    }


async def test_a_service_without_a_key_gets_no_authorization(service: Service) -> None:
    service.answer = plays(QUIRKS["01_normal_parallel"].body)

    await ask(OpenAIChat(service.url, "", minting()))

    assert "authorization" not in service.asked[0].headers


async def test_a_reply_can_be_read_twice_and_is_the_same(service: Service) -> None:
    service.answer = plays(QUIRKS["33_index_starts_at_1"].body)

    async with OpenAIChat(service.url, "k", minting()).stream(REQUEST) as stream:
        first, second = await stream.reply(), await stream.reply()

    assert first.message.text == second.message.text == "ok"
    assert [call.name for call in first.message.calls] == [call.name for call in second.message.calls]


def test_results_stand_right_after_their_message_in_call_order_and_the_user_after_them() -> None:
    messages = sent(*neutral("U A[a,b] T[b] T[a] U"), system="be brief")

    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [message.get("tool_call_id") for message in messages[3:5]] == ["a" * 9, "b" * 9]
    assert messages[2]["content"] is None


def test_users_in_a_row_go_out_as_one() -> None:
    messages = sent(UserMessage("one"), UserMessage("two"))

    assert messages == [{"role": "user", "content": "one\n\ntwo"}]


def test_a_result_without_text_says_so() -> None:
    messages = sent(*neutral("U A[a]"), ToolResult("aaaaaaaaa", "f", " \n", CallOutcome.FAILED))

    assert messages[-1]["content"] == "(no output)"


def test_a_call_goes_out_with_our_id_and_its_arguments_as_text() -> None:
    call = ToolCall("aaaaaaaaa", "get_logs", {"q": "é", "n": [1, None]})

    messages = sent(UserMessage("hi"), AssistantMessage("let me look", (call,)), ToolResult(call.id, "get_logs", "ok"))

    assert messages[1] == {
        "role": "assistant",
        "content": "let me look",
        "tool_calls": [
            {
                "id": "aaaaaaaaa",
                "type": "function",
                "function": {"name": "get_logs", "arguments": '{"q": "é", "n": [1, null]}'},
            }
        ],
    }


def test_what_one_call_carries_for_its_service_goes_back_with_that_call() -> None:
    signature = {"google": {"thought_signature": "SIG=="}}
    calls = (ToolCall("aaaaaaaaa", "f", {}), ToolCall("bbbbbbbbb", "f", {}))
    message = AssistantMessage("", calls, "openai", "m", ({"extra_content": {"aaaaaaaaa": signature}},))
    answers = [ToolResult(call.id, "f", "ok") for call in calls]

    messages = sent(UserMessage("hi"), message, *answers)

    first, second = messages[1]["tool_calls"]
    assert first["extra_content"] == signature
    assert "extra_content" not in second
    assert "extra_content" not in messages[1]


def test_tools_go_out_with_their_schema_and_without_our_grade() -> None:
    tool = ToolSchema("get_logs", "Read logs.", {"type": "object", "properties": {"q": {"type": "string"}}})

    body = request_body(request(UserMessage("hi"), tools=(tool,)))

    function = {"name": "get_logs", "description": "Read logs.", "parameters": tool.parameters}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert "tools" not in request_body(request(UserMessage("hi")))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://team.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://notopenai.com/v1", "max_tokens"),
        ("http://127.0.0.1:8000/v1", "max_tokens"),
    ],
)
def test_the_limit_has_the_name_that_the_service_knows(url: str, key: str) -> None:
    assert limit_key(url) == key


def test_what_is_sent_of_a_checked_history_passes_the_rules_of_the_dialect() -> None:
    for shorthand in ("U", "U A[a] T[a]", "U A[a,b] T[b] T[a] U A U", "U A[a] T[a] A[b] T[b] U"):
        body = request_body(request(*neutral(shorthand), system="be brief"))

        assert check_openai(body) is None
