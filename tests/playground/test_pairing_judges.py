"""The judges of the local model server: which requests a strict provider refuses, and in which words.

Shorthand: U a user message, A a text of the assistant, A:a,b an assistant message that calls a and b, T:a the result
of call a.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.playground.anthropic_judge import judge_anthropic
from bot.playground.openai_judge import judge_openai

Json = dict[str, object]

OPENAI_TOOL = {"type": "function", "function": {"name": "http_get", "parameters": {"type": "object"}}}
ANTHROPIC_TOOL = {"name": "http_get", "input_schema": {"type": "object"}}
MUST_BE_FOLLOWED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: "
)
WITHOUT_RESULT = "`tool_use` ids were found without `tool_result` blocks immediately after: "


def openai_call(call_id: str, **function: object) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "http_get", "arguments": "{}", **function}}


def openai_message(short: str) -> Json:
    head, _, ids = short.partition(":")
    if head == "U":
        return {"role": "user", "content": "hi"}
    if head == "T":
        return {"role": "tool", "tool_call_id": ids, "content": "r"}
    calls = {"tool_calls": [openai_call(call_id) for call_id in ids.split(",")]} if ids else {}
    return {"role": "assistant", "content": None if ids else "text", **calls}


def openai(*messages: str | Json, **fields: object) -> Json:
    whole = [openai_message(message) if isinstance(message, str) else message for message in messages]
    return {"messages": whole, "tools": [OPENAI_TOOL], **fields}


def use(call_id: str, **fields: object) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "http_get", "input": {}, **fields}


def result(call_id: str, **fields: object) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "r", **fields}


def text(words: str = "hi") -> Json:
    return {"type": "text", "text": words}


def anthropic_message(short: str) -> Json:
    head, _, ids = short.partition(":")
    if head == "T":
        return {"role": "user", "content": [result(call_id) for call_id in ids.split(",")]}
    calls = [use(call_id) for call_id in ids.split(",") if call_id]
    return {"role": "user" if head == "U" else "assistant", "content": calls or "hi"}


def said(role: str, *blocks: Json) -> Json:
    return {"role": role, "content": list(blocks)}


def anthropic(*messages: str | Json, **fields: object) -> Json:
    whole = [anthropic_message(message) if isinstance(message, str) else message for message in messages]
    return {"max_tokens": 9, "messages": whole, "tools": [ANTHROPIC_TOOL], **fields}


@pytest.mark.parametrize(
    "body",
    [
        openai("U"),
        openai("U", "A", "U"),
        openai("U", "A:a", "T:a", "U"),
        openai("U", "A:a,b", "T:b", "T:a"),
        openai("U", "A:a", "T:a", "A:a", "T:a"),
        openai({"role": "system", "content": "s"}, "U", "U"),
        openai({"role": "user", "content": [{"type": "text", "text": "x"}]}),
        openai("U", {"role": "assistant", "content": "x", "tool_calls": [openai_call("a")]}, "T:a"),
        {"messages": [openai_message("U")]},
    ],
)
def test_a_well_paired_openai_request_is_taken(body: Json) -> None:
    refusal = judge_openai(body)

    assert refusal is None


@pytest.mark.parametrize(
    ("rule", "body", "message"),
    [
        ("C01", openai("U", "A:a,b", "T:a", "U"), MUST_BE_FOLLOWED + "b"),
        ("C01", openai("U", "A:a"), MUST_BE_FOLLOWED + "a"),
        ("C01", openai("U", "A:a", "U", "T:a"), MUST_BE_FOLLOWED + "a"),
        ("C01", openai("U", "A:a", "A:b", "T:b"), MUST_BE_FOLLOWED + "a"),
        ("C03", openai("U", "T:a"), "must be a response to a preceeding message with 'tool_calls'"),
        ("C03", openai("U", "A:a", "T:a", "U", "T:a"), "must be a response to a preceeding message"),
        ("C04", openai("U", "A:a", "T:x", "T:a"), "'tool_call_id' of 'x' not found in 'tool_calls'"),
        ("C05", openai("U", "A:a,b", "T:a", "T:a"), "Duplicate value for 'tool_call_id' of 'a', in messages[2] and"),
        ("C07", openai("U", "A:" + "a" * 41), "string too long. Expected a string with maximum length 40"),
        ("C08", openai("U", {"role": "assistant", "content": "x", "tool_calls": []}), "empty array"),
        ("C09", openai("U", {"role": "assistant", "content": None}), "expected a string, got null"),
        ("C09", openai({"role": "user", "content": None}), "expected a string, got null"),
        ("C09", openai("U", "A:a", {"role": "tool", "tool_call_id": "a", "content": None}), "got null"),
        ("C10", openai("U", {**openai_message("A:a"), "content": []}), "'messages[1].content': empty array"),
        ("C13", openai("U", "A:a,a", "T:a"), "duplicate 'id'"),
        ("C14", openai("U", tools=[{"type": "function", "function": {"name": "x" * 65}}]), "maximum length 64"),
        ("C14", openai("U", tools=[{"type": "function", "function": {"name": "a b"}}]), "does not match pattern"),
        ("C14", openai("U", tools=[]), "'tools': empty array"),
        ("C14", openai("U", tools=[{"name": "f"}]), "Missing required parameter"),
        ("V01", openai("U", {**openai_message("A:a"), "tool_calls": [openai_call("a", arguments="{")]}), "JSON format"),
        ("V01", openai("U", {**openai_message("A:a"), "tool_calls": [openai_call("a", arguments={})]}), "JSON format"),
        ("C00", openai("U", {**openai_message("A:a"), "tool_calls": [{"id": "a"}]}), "expected a call"),
        ("C00", openai("U", "A:,b"), "Missing required parameter: 'messages[1].tool_calls[0].id'"),
        ("C00", openai({"role": "robot", "content": "x"}), "Invalid value: 'robot'"),
        ("C00", openai(), "'messages': empty array"),
    ],
)
def test_a_broken_openai_request_is_refused_in_the_providers_words(rule: str, body: Json, message: str) -> None:
    refusal = judge_openai(body)

    assert refusal is not None
    assert refusal.rule == rule
    assert message in refusal.message


@pytest.mark.parametrize(
    "body",
    [
        anthropic("U"),
        anthropic("U", tools=None),
        anthropic("U", "A:a,b", "T:b,a"),
        anthropic("U", "A:a,b", "T:a", "T:b"),
        anthropic("U", "A:a", said("user", result("a"), text("steer"))),
        anthropic("U", "A:a", "T:a", "U"),
        anthropic("U", "U", "A", "U"),
        anthropic("U", "A:a", said("user", result("a", content=[text()]))),
        anthropic("U", said("assistant", {"type": "thinking"}, use("a")), "T:a", thinking={"type": "enabled"}),
        anthropic("U", system=[text("careful")]),
    ],
)
def test_a_well_paired_anthropic_request_is_taken(body: Json) -> None:
    refusal = judge_anthropic(body)

    assert refusal is None


@pytest.mark.parametrize(
    ("rule", "body", "message"),
    [
        ("A01", anthropic("U", "A:a,b", "T:a"), f"messages.1: {WITHOUT_RESULT}b."),
        ("A01", anthropic("U", "A:a"), f"messages.1: {WITHOUT_RESULT}a."),
        ("A01", anthropic("U", "A:a", "U", "A", "T:a"), f"messages.1: {WITHOUT_RESULT}a."),
        ("A03", anthropic("T:a"), "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a."),
        ("A03", anthropic("U", "A:a", "T:a", "A", "T:a"), "messages.4.content.0: unexpected `tool_use_id`"),
        ("A03", anthropic(said("user", use("a"))), "can only be in `assistant` messages"),
        ("A03", anthropic("U", said("assistant", result("a"))), "can only be in `user` messages"),
        ("A05", anthropic("U", "A:a", said("user", text(), result("a"))), "messages.2: Did not find 1 `tool_result`"),
        ("A05", anthropic("U", "A:a,b", said("user", result("a"), text(), result("b"))), "Did not find 2"),
        ("A05", anthropic("U", "A:a", "U", "T:a"), "at the beginning of this message"),
        ("A08", anthropic("U", "A:a,a", "T:a"), "messages.1.content.1: `tool_use` ids must be unique"),
        ("A08", anthropic("U", "A:a", "T:a", "A:a", "T:a"), "messages.3.content.0: `tool_use` ids must be unique"),
        ("A09", anthropic("U", "A:a", "T:a,a"), "each tool_use must have a single result"),
        ("A10", anthropic(said("user", text(""))), "text content blocks must be non-empty"),
        ("A10", anthropic("U", said("assistant", text(" "), use("a")), "T:a"), "text content blocks must be"),
        ("A10", anthropic("U", "A:a", said("user", result("a", content=[text("")]))), "text content blocks must be"),
        ("A10", anthropic("U", system=[text("")]), "system: text content blocks must be non-empty"),
        ("A11", anthropic(said("user")), "messages.0: all messages must have non-empty content"),
        ("A11", anthropic("U", {"role": "assistant", "content": ""}, "U"), "messages.1: all messages must have"),
        ("A12", anthropic("U", "A:a.b", "T:a.b"), "tool_use.id: String should match pattern"),
        ("A13", anthropic("U", said("assistant", use("a", input="{}")), "T:a"), "Input should be a valid dictionary"),
        ("A14", anthropic("U", "A:a", "T:a", tools=None), "must define tools"),
        ("A14", anthropic("U", "A:a", "T:a", tools=[]), "must define tools"),
        ("A15", anthropic("A", "U"), 'first message must use the "user" role'),
        ("A16", anthropic("U", "A:a", "T:a", thinking={"type": "enabled"}), "Expected `thinking`"),
        ("A19", anthropic("U", "A"), "must end with a user message"),
        ("A19", anthropic("U", {"role": "assistant", "content": []}), "must end with a user message"),
        ("A00", {"messages": [anthropic_message("U")]}, "max_tokens: Field required"),
        ("A00", anthropic("U", max_tokens=0), "max_tokens: Input should be"),
        ("A00", anthropic(), "at least one message is required"),
        ("A00", anthropic({"role": "system", "content": "x"}), "Input should be 'user' or 'assistant'"),
        ("A00", anthropic({"role": "user", "content": None}), "Input should be a valid list"),
        ("A00", anthropic(said("user", {"type": "sound"})), "Input tag 'sound'"),
        ("A00", anthropic("U", said("assistant", use("a", name=None)), "T:a"), "tool_use.name: Field required"),
        ("A00", anthropic("U", "A:a", said("user", result("a", tool_use_id=None))), "tool_use_id: Field required"),
        ("A00", anthropic("U", tools=[{"name": "f"}]), "input_schema.type: Field required"),
        ("C14", anthropic("U", tools=[{**ANTHROPIC_TOOL, "name": "a b"}]), "custom.name: String should match"),
    ],
)
def test_a_broken_anthropic_request_is_refused_in_the_providers_words(rule: str, body: Json, message: str) -> None:
    refusal = judge_anthropic(body)

    assert refusal is not None
    assert refusal.rule == rule
    assert message in refusal.message


WORDS = st.sampled_from([
    "user",
    "assistant",
    "tool",
    "text",
    "tool_use",
    "tool_result",
    "function",
    "a",
    "{}",
    "enabled",
])
MESSAGE_FIELDS = ["role", "content", "tool_calls", "tool_call_id", "type", "text", "tool_use_id", "input"]
FIELDS = st.sampled_from([*MESSAGE_FIELDS, "id", "function", "arguments", "name"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=20,
)
BODY_FIELDS = st.sampled_from(["messages", "tools", "system", "max_tokens", "thinking"])


@settings(deadline=None)
@given(st.dictionaries(BODY_FIELDS, JSON | st.lists(JSON, min_size=1, max_size=4)))
def test_a_judge_has_an_answer_to_any_body(body: Json) -> None:
    answers = (judge_openai(body), judge_anthropic({"max_tokens": 1, **body}))

    assert all(answer is None or answer.message for answer in answers)


MOVES = st.lists(st.sampled_from(["U", "A", "A:a", "A:b", "A:a,b", "T:a", "T:b"]), min_size=1, max_size=6)


@settings(deadline=None)
@given(MOVES)
def test_openai_takes_exactly_the_histories_in_which_every_call_is_answered_at_once(moves: list[str]) -> None:
    refusal = judge_openai(openai(*moves))

    assert (refusal is None) == answered_at_once(moves)


def answered_at_once(moves: list[str]) -> bool:
    waiting: set[str] = set()
    for move in moves:
        head, _, ids = move.partition(":")
        if head == "T" and ids in waiting:
            waiting.remove(ids)
        elif head == "T" or waiting:
            return False
        elif head == "A":
            waiting = set(filter(None, ids.split(",")))
    return not waiting
