"""The reference table's shorthand: `U A[a,b] T[a]` is a user message, a model message with two calls, one result.

It writes the same history in three ways: neutral messages, an OpenAI body, an Anthropic body. A plain `A` is a model
message with text only.
"""

import re
from collections.abc import Iterator

from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage

_TOKEN = re.compile(r"([UAT])(?:\[([^\]]*)\])?")


def tokens(shorthand: str) -> Iterator[tuple[str, list[str]]]:
    """Each message as its letter and the ids in its brackets."""
    for letter, ids in _TOKEN.findall(shorthand):
        yield letter, ids.split(",") if ids else []


def portable(letter: str) -> str:
    """A portable id for a one-letter one."""
    return letter * 9 if len(letter) == 1 else letter


def neutral(shorthand: str) -> list[Message]:
    """The history as neutral messages."""
    return [_neutral(letter, [portable(one) for one in ids]) for letter, ids in tokens(shorthand)]


def _neutral(letter: str, ids: list[str]) -> Message:
    if letter == "U":
        return UserMessage("hi")
    if letter == "T":
        return ToolResult(ids[0], "f", "ok")
    return AssistantMessage("" if ids else "so", tuple(ToolCall(one, "f", {"q": "a"}) for one in ids))


def openai(shorthand: str) -> dict[str, object]:
    """The history as a body of OpenAI's chat dialect."""
    return {"model": "m", "messages": [_openai(letter, ids) for letter, ids in tokens(shorthand)]}


def _openai(letter: str, ids: list[str]) -> dict[str, object]:
    if letter == "U":
        return {"role": "user", "content": "hi"}
    if letter == "T":
        return {"role": "tool", "tool_call_id": ids[0], "content": "ok"}
    if not ids:
        return {"role": "assistant", "content": "so"}
    return {"role": "assistant", "content": None, "tool_calls": [openai_call(one) for one in ids]}


def openai_call(call_id: str, name: str = "f", arguments: object = '{"q": "a"}') -> dict[str, object]:
    """One call of an OpenAI body."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def anthropic(shorthand: str) -> dict[str, object]:
    """The history as a body of Anthropic's messages dialect, one message a token, with a tool defined."""
    messages = [_anthropic(letter, ids) for letter, ids in tokens(shorthand)]
    return {"model": "m", "max_tokens": 9, "tools": [{"name": "f"}], "messages": messages}


def _anthropic(letter: str, ids: list[str]) -> dict[str, object]:
    if letter == "U":
        return {"role": "user", "content": [text("hi")]}
    if letter == "T":
        return {"role": "user", "content": [result(one) for one in ids]}
    return {"role": "assistant", "content": [use(one) for one in ids] or [text("so")]}


def text(said: str) -> dict[str, object]:
    """A text block."""
    return {"type": "text", "text": said}


def use(call_id: str, given: object = None) -> dict[str, object]:
    """A tool_use block."""
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {"q": "a"} if given is None else given}


def result(call_id: str) -> dict[str, object]:
    """A tool_result block."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}


def said(*turns: tuple[str, object]) -> dict[str, object]:
    """An Anthropic body from roles and contents."""
    messages = [{"role": role, "content": content} for role, content in turns]
    return {"model": "m", "max_tokens": 9, "tools": [{"name": "f"}], "messages": messages}
