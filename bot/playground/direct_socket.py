"""A socket in process: for a bot, or a fault harness, that runs in the same event loop as the local Slack."""

import asyncio
from collections.abc import Awaitable, Callable

from bot.playground.json_reading import JsonObject
from bot.playground.socket_mode import SocketMode


class DirectSocket:
    """Hands each envelope to a coroutine, and acknowledges it where that returns True."""

    def __init__(self, name: str, receive: Callable[[JsonObject], Awaitable[bool]], pool: SocketMode) -> None:
        self.id, self._receive, self._pool = name, receive, pool
        self._running: set[asyncio.Task[None]] = set()
        self._open = True

    async def send(self, frame: JsonObject) -> None:
        """Take a frame; as on a real socket, nobody waits for what becomes of it."""
        if self._open and "envelope_id" in frame:
            task = asyncio.create_task(self._take(frame))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Leave; what is on its way is dropped, as when a process dies."""
        self._open = False
        self._pool.leave(self)
        for task in self._running:
            task.cancel()

    async def _take(self, frame: JsonObject) -> None:
        if await self._receive(frame) and self._open:
            self._pool.take_frame({"envelope_id": frame["envelope_id"]})
