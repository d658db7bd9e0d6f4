"""OpenAI's chat dialect, and every service that speaks it: request, stream, reply.

It turns neutral messages into a request body and a stream into one neutral message. It never retries, never mends a
history, and never gives a message that did not come to its proper end.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx

from bot.llm.assembly import Origin
from bot.llm.event_stream import Endpoint, EventReply, Timeouts, checked_key, posted
from bot.llm.openai_assembly import EXTRA, OpenAIAssembly
from bot.llm.provider import ModelRequest, ModelStream
from bot.llm.shape import NO_OUTPUT, is_own, shaped
from bot.rules.messages import AssistantMessage, JsonObject, Message, ToolCall, ToolResult, ToolSchema, UserMessage

NAME = "openai"

_OWN_HOSTS = ("openai.com", "openai.azure.com")


class OpenAIChat:
    """A service that speaks OpenAI's chat dialect at `base_url`, which ends where `/chat/completions` begins."""

    name = NAME

    def __init__(
        self, base_url: str, api_key: str, mint_id: Callable[[], str], timeouts: Timeouts | None = None
    ) -> None:
        key = checked_key(api_key)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"{base_url.rstrip('/')}/chat/completions"
        self._endpoint = Endpoint(url, headers, key, timeouts or Timeouts())
        self._mint_id = mint_id

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelStream]:
        """Ask for one message; the connection lives as long as the context."""
        body = {**request_body(request), limit_key(self._endpoint.url): request.max_tokens}
        asked = len(json.dumps(body))
        origin = Origin(self.name, request.model, self._mint_id, asked, self._endpoint.secret)
        async with posted(self._endpoint, body) as events:
            yield EventReply(events, OpenAIAssembly(origin))


def limit_key(url: str) -> str:
    """The name of the limit on tokens: OpenAI's newer models refuse the old name, many other services the new one."""
    host = httpx.URL(url).host
    own = any(host == name or host.endswith(f".{name}") for name in _OWN_HOSTS)
    return "max_completion_tokens" if own else "max_tokens"


def request_body(request: ModelRequest) -> JsonObject:
    """The body of a request, without its limit: system first, results right after their message, then the user."""
    system = [{"role": "system", "content": request.system}] if request.system.strip() else []
    body: dict[str, object] = {
        "model": request.model,
        "messages": [*system, *_messages(request)],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def _messages(request: ModelRequest) -> Sequence[JsonObject]:
    return [_message(message, request.model) for message in shaped(request.messages)]


def _message(message: Message, model: str) -> JsonObject:
    match message:
        case UserMessage(text=text):
            return {"role": "user", "content": text}
        case ToolResult(call_id=call_id, text=text):
            return {"role": "tool", "tool_call_id": call_id, "content": text if text.strip() else NO_OUTPUT}
        case AssistantMessage():
            return _assistant(message, model)


def _assistant(message: AssistantMessage, model: str) -> JsonObject:
    own: dict[str, object] = {}
    for block in message.provider_blocks if is_own(message, NAME, model) else ():
        own.update(block)
    extras = own.pop(EXTRA, None)
    body: dict[str, object] = {"role": "assistant", "content": message.text if message.text.strip() else None, **own}
    if message.calls:
        body["tool_calls"] = [_call(call, extras if isinstance(extras, Mapping) else {}) for call in message.calls]
    return body


def _call(call: ToolCall, extras: JsonObject) -> JsonObject:
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    body = {"id": call.id, "type": "function", "function": function}
    return {**body, EXTRA: extras[call.id]} if call.id in extras else body


def _tool(tool: ToolSchema) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
