"""A model service of the tests' own: whatever a function says of the messages, streamed in OpenAI's dialect.

It judges nothing and remembers nothing but what it was sent.
"""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

Decide = Callable[[list], "Said"]


@dataclass(frozen=True)
class Said:
    """A message of the model: its text and its calls as (name, arguments); a status of its own refuses instead."""

    text: str = ""
    calls: list = field(default_factory=list)
    status: int = 200


class OwnModel:
    """A model service that is running; `url` is where the dialect begins."""

    def __init__(self, decide: Decide) -> None:
        self.url, self.requests, self.keys, self.said = "", [], set(), []
        self._decide = decide

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, decide: Decide):
        """Run on a free port of this machine."""
        model = cls(decide)
        app = web.Application(client_max_size=32 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", model._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            model.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            yield model
        finally:
            await runner.cleanup()

    @property
    def prompts(self) -> str:
        """Everything that was sent, but for the header with the key."""
        return "\n".join(json.dumps(request, ensure_ascii=False) for request in self.requests)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.keys.add(request.headers.get("Authorization", "").removeprefix("Bearer "))
        said = self._decide(body["messages"])
        self.said.append(said)
        if said.status != 200:
            return web.json_response(
                {"error": {"message": said.text, "type": "invalid_request_error"}}, status=said.status
            )
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        calls = [
            {"index": n, "id": f"call_{len(self.requests)}_{n}", "type": "function",
             "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(said.calls)
        ]  # fmt: skip
        delta = {"role": "assistant", "content": said.text, **({"tool_calls": calls} if calls else {})}
        for piece, end in ((delta, None), ({}, "tool_calls" if calls else "stop")):
            choice = {"index": 0, "delta": piece, "finish_reason": end}
            chunk = {"id": "x", "object": "chat.completion.chunk", "model": "scripted", "choices": [choice]}
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def text_of(message) -> str:
    """The text of a message as it was sent."""
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content)
