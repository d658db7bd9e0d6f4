"""The log of the local model server: which requests came, and what became of each.

It is what tests count by; the server itself decides nothing from it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

LISTED = ("number", "at", "dialect", "model", "status", "broken_rule", "place", "chunks_sent", "ended_at", "left_at")


@dataclass(slots=True)
class Received:
    """One request, and what became of it.

    Times are the event loop's (monotonic, seconds). `left_at` is when the client closed the connection before the
    end of its answer, `place` which play and round it got, `broken_rule` why it was refused.
    """

    number: int
    at: float
    dialect: str
    body: Mapping[str, object] = field(default_factory=dict)
    status: int | None = None
    broken_rule: str | None = None
    place: str | None = None
    chunks_sent: int = 0
    ended_at: float | None = None
    left_at: float | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.body.get("model"))

    @property
    def messages(self) -> list[Mapping[str, object]]:
        """The messages as they were sent."""
        messages = self.body.get("messages")
        return messages if isinstance(messages, list) else []

    def end(self, left: bool) -> None:
        """The answer is over, or the client has left."""
        self.ended_at = asyncio.get_running_loop().time()
        self.left_at = self.ended_at if left else None
        self.ended.set()

    def listing(self) -> Mapping[str, object]:
        """The request as the control address shows it."""
        return {**{name: getattr(self, name) for name in LISTED}, "messages": self.messages}


class RequestLog:
    """The requests in the order in which they came."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self._arrived = asyncio.Condition()

    async def arrive(self, dialect: str) -> Received:
        """Note a request."""
        async with self._arrived:
            received = Received(len(self.requests) + 1, asyncio.get_running_loop().time(), dialect)
            self.requests.append(received)
            self._arrived.notify_all()
        return received

    async def received(self, count: int) -> Received:
        """Wait until so many requests have come in all; gives the last of these."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]
