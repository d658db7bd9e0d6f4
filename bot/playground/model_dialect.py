"""What the local model server must know of a dialect: one value a dialect, so that the server itself has no `if`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bot.llm.script import Line, Send
from bot.playground.openai_judge import Refusal

CHARACTERS_PER_TOKEN = 4
"""How tokens are counted: roughly, and the same every time."""


class Wire(Protocol):
    """One streamed message, as the bytes of server-sent events; it keeps the count of what was sent."""

    def start(self) -> bytes:
        """Open the message."""
        ...

    def piece(self, sent: Send) -> bytes:
        """Send a piece of text, or a whole call."""
        ...

    def failure(self) -> bytes:
        """Say in the stream that something went wrong."""
        ...

    def finish(self, at_limit: bool) -> bytes:
        """End the message properly."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect: where it is served, how its key is sent, how it reads, refuses and answers.

    `wire` takes the number of the request and its body, `error_body` a status and a refusal.
    """

    name: str
    path: str
    key_header: str
    key_prefix: str
    needed_header: str | None
    judge: Callable[[Mapping[str, object]], Refusal | None]
    lines: Callable[[Mapping[str, object]], tuple[Line, ...]]
    error_body: Callable[[int, Refusal], Mapping[str, object]]
    wire: Callable[[int, Mapping[str, object]], Wire]


def event(content: object, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(content)}\n\n".encode()


def halves(text: str) -> tuple[str, str]:
    """Cut a text in two, so that every call comes in more than one delta."""
    return text[: len(text) // 2], text[len(text) // 2 :]


def tokens(characters: int) -> int:
    """How many tokens so many characters are taken for."""
    return characters // CHARACTERS_PER_TOKEN


def input_tokens(body: Mapping[str, object]) -> int:
    """How many tokens a request is taken for."""
    return tokens(len(json.dumps([body.get("system"), body.get("messages"), body.get("tools")])))


def content_text(content: object) -> str:
    """The text of a content that is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text")) for block in blocks if isinstance(block, dict) and "text" in block)
