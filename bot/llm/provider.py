"""The port to a model service.

A provider never retries, never keeps state between calls, and is left only through its context manager: leaving
closes the connection, and with it the stream, at whatever point it is (a `break` would let it run on).
A message without its proper end is never returned: it is a ModelStreamError.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from bot.rules.messages import AssistantMessage, Message, ToolSchema, Usage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What is asked of the model in one call; the messages have passed bot.llm.validate."""

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    max_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A finished message.

    Its calls carry ids minted by us. With `stopped_at_limit` the message was cut off at max_tokens: it may not be
    dispatched, because the arguments of its last call may be half of what the model meant.
    """

    message: AssistantMessage
    usage: Usage
    stopped_at_limit: bool = False


class ModelStream(Protocol):
    """One message on its way."""

    async def reply(self) -> ModelReply:
        """Read to the proper end; raises a ModelError that names what went wrong."""
        ...


class Provider(Protocol):
    """A model service."""

    name: str

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Ask for one message; the connection lives as long as the context."""
        ...
