"""Anthropic's messages dialect: request, stream, reply.

It turns neutral messages into a request body and a stream into one neutral message. It never retries, never mends a
history, and never gives a message that did not come to its proper end.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

from bot.llm.anthropic_assembly import AnthropicAssembly
from bot.llm.assembly import Origin
from bot.llm.event_stream import Endpoint, EventReply, Timeouts, checked_key, posted
from bot.llm.provider import ModelRequest, ModelStream
from bot.llm.shape import NO_OUTPUT, is_own, shaped
from bot.rules.messages import AssistantMessage, JsonObject, Message, ToolCall, ToolResult, ToolSchema, UserMessage
from bot.rules.terms import CallOutcome

NAME = "anthropic"
VERSION = "2023-06-01"
"""The `anthropic-version` whose events the assembly knows."""


class AnthropicMessages:
    """A service that speaks Anthropic's messages dialect at `base_url`, with or without `/v1` at its end."""

    name = NAME

    def __init__(
        self, base_url: str, api_key: str, mint_id: Callable[[], str], timeouts: Timeouts | None = None
    ) -> None:
        key = checked_key(api_key)
        headers = {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}
        url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1/messages"
        self._endpoint = Endpoint(url, headers, key, timeouts or Timeouts())
        self._mint_id = mint_id

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelStream]:
        """Ask for one message; the connection lives as long as the context."""
        body = request_body(request)
        asked = len(json.dumps(body))
        origin = Origin(self.name, request.model, self._mint_id, asked, self._endpoint.secret)
        async with posted(self._endpoint, body) as events:
            yield EventReply(events, AnthropicAssembly(origin))


def request_body(request: ModelRequest) -> JsonObject:
    """The body of a request: roles alternate, results come first in the user's message."""
    body: dict[str, object] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": list(_turns(request)),
        "stream": True,
    }
    if request.system.strip():
        body["system"] = request.system
    body.update(_tools(request))
    return body


def _tools(request: ModelRequest) -> JsonObject:
    """The tools; where none are offered any more, those of the history, which may not be called (A14)."""
    if request.tools:
        return {"tools": [_tool(tool) for tool in request.tools]}
    calls = (call for message in request.messages if isinstance(message, AssistantMessage) for call in message.calls)
    names = dict.fromkeys(call.name for call in calls)
    gone = [_tool(ToolSchema(name, "No longer offered.", {"type": "object"})) for name in names]
    return {"tools": gone, "tool_choice": {"type": "none"}} if gone else {}


def _tool(tool: ToolSchema) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _turns(request: ModelRequest) -> Iterator[JsonObject]:
    role, blocks = "", list[JsonObject]()
    for message in shaped(request.messages):
        speaker = "assistant" if isinstance(message, AssistantMessage) else "user"
        if blocks and speaker != role:
            yield {"role": role, "content": blocks}
            blocks = []
        role = speaker
        blocks.extend(_blocks(message, request.model))
    if blocks:
        yield {"role": role, "content": blocks}


def _blocks(message: Message, model: str) -> Sequence[JsonObject]:
    match message:
        case UserMessage(text=text):
            return _text(text)
        case ToolResult():
            return (_result(message),)
        case AssistantMessage():
            if is_own(message, NAME, model) and _holds_the_calls(message):
                return message.provider_blocks
            return [*_text(message.text), *map(_use, message.calls)]


def _holds_the_calls(message: AssistantMessage) -> bool:
    """Whether the kept blocks call what the message calls; if not, the results after it would have no call."""
    uses = [block.get("id") for block in message.provider_blocks if block.get("type") == "tool_use"]
    return uses == [call.id for call in message.calls]


def _text(text: str) -> Sequence[JsonObject]:
    return ({"type": "text", "text": text},) if text.strip() else ()


def _use(call: ToolCall) -> JsonObject:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _result(result: ToolResult) -> JsonObject:
    block = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": result.text if result.text.strip() else NO_OUTPUT,
    }
    return block if result.outcome is CallOutcome.OK else {**block, "is_error": True}
