"""The least that investigates: it asks the model, makes the calls that it names, and asks again.

It stores nothing, can be neither stopped nor steered, and forgets all when it ends.
"""

import asyncio
import json
from typing import Any

import httpx
from httpx_sse import aconnect_sse

from benchmarks.ground import KEY
from bot.playground.model_server import MODEL

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "http_get",
            "description": "Read one URL.",
            "parameters": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
        },
    }
]


class BareLoop:
    """A loop over one client; `url` is where the model's dialect begins."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/chat/completions"
        self._client = httpx.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, trust_env=False)

    async def run(self, question: str) -> str:
        """Investigate; gives the final text."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "You investigate."},
            {"role": "user", "content": question},
        ]
        while True:
            text, calls = await self._ask(messages)
            if not calls:
                return text
            messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
            messages += await asyncio.gather(*(self._call(call) for call in calls))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask(self, messages: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
        body = {"model": MODEL, "messages": messages, "stream": True, "tools": TOOLS}
        text, calls = "", dict[int, dict[str, Any]]()
        async with aconnect_sse(self._client, "POST", self._url, json=body) as source:
            async for event in source.aiter_sse():
                if event.data == "[DONE]":
                    break
                for choice in json.loads(event.data).get("choices", []):
                    text += choice["delta"].get("content") or ""
                    _add(calls, choice["delta"].get("tool_calls") or [])
        return text, list(calls.values())

    async def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        answer = await self._client.get(json.loads(call["function"]["arguments"])["url"])
        return {"role": "tool", "tool_call_id": call["id"], "content": answer.text}


def _add(calls: dict[int, dict[str, Any]], pieces: list[dict[str, Any]]) -> None:
    for piece in pieces:
        call = calls.setdefault(
            piece["index"], {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = piece.get("id") or call["id"]
        function = piece.get("function", {})
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""
