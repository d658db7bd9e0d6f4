"""Socket Mode: each envelope goes to one of the open sockets, and again until it is acknowledged.

An event is sent again after the retry delays, and waits for a socket where none is open. A click or a submitted view
is sent once: where it fails, Slack shows an error to the person instead. Times are seconds of the event loop.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.playground.changes import Changes
from bot.playground.json_reading import JsonObject, as_object, object_at, text_at
from bot.playground.stamps import Stamps

MOST_SOCKETS = 10


class Socket(Protocol):
    """One open connection of the bot."""

    id: str

    async def send(self, frame: JsonObject) -> None:
        """Send one frame; a connection that is gone swallows it."""

    async def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sending of an envelope: its number (0 for the first), the socket it went to and when."""

    number: int
    socket: str
    at: float


@dataclass(slots=True)
class Envelope:
    """A payload on its way: `state` is held, waiting, sent, acked or gave_up."""

    id: str
    kind: str
    payload: JsonObject
    attempts: list[Attempt] = field(default_factory=list)
    acked_at: float | None = None
    answer: JsonObject = field(default_factory=dict)
    state: str = "waiting"
    released: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def event_id(self) -> str:
        """The id of the event inside; empty for a click or a view."""
        return text_at(self.payload, "event_id")

    @property
    def event(self) -> JsonObject:
        """The event inside; empty for a click or a view."""
        return object_at(self.payload, "event")

    async def acked(self, within: float) -> bool:
        """Whether the bot acknowledges it within so many seconds."""
        try:
            async with asyncio.timeout(within):
                await self.settled.wait()
        except TimeoutError:
            return False
        return self.acked_at is not None

    def frame(self, attempt: int) -> JsonObject:
        """What goes over the wire at an attempt."""
        frame: dict[str, object] = {"envelope_id": self.id, "type": self.kind, "payload": self.payload}
        frame["accepts_response_payload"] = self.kind == "interactive"
        if self.kind == "events_api":
            frame |= {"retry_attempt": attempt, "retry_reason": "timeout" if attempt else ""}
        return frame

    def to_json(self) -> JsonObject:
        """The record of this delivery, for the tests."""
        attempts = [{"number": tried.number, "socket": tried.socket, "at": tried.at} for tried in self.attempts]
        return {
            "envelope_id": self.id, "type": self.kind, "event_id": self.event_id, "state": self.state,
            "attempts": attempts, "acked_at": self.acked_at, "payload": self.payload,
        }  # fmt: skip


class SocketMode:
    """The open sockets and everything that was ever sent over them."""

    def __init__(self, stamps: Stamps, changes: Changes, ack_timeout: float, retry_delays: Sequence[float]) -> None:
        self.sockets: list[Socket] = []
        self.envelopes: dict[str, Envelope] = {}
        self.paused = False
        self._stamps, self._changes = stamps, changes
        self._ack_timeout, self._retry_delays = ack_timeout, tuple(retry_delays)
        self._carriers: set[asyncio.Task[None]] = set()
        self._turn = 0

    async def admit(self, socket: Socket) -> bool:
        """Take a new connection in; one above ten is told so and refused."""
        if len(self.sockets) >= MOST_SOCKETS:
            await socket.send({"type": "disconnect", "reason": "too_many_websockets"})
            return False
        await socket.send({"type": "hello", "num_connections": len(self.sockets) + 1, "debug_info": {"host": "local"}})
        self.sockets.append(socket)
        self._changes.notify()
        return True

    def leave(self, socket: Socket) -> None:
        """Forget a connection that is gone."""
        if socket in self.sockets:
            self.sockets.remove(socket)
            self._changes.notify()

    async def refresh(self, socket_id: str | None = None) -> None:
        """Tell one connection (the oldest, where none is named) to come back, and close it."""
        for socket in [socket for socket in self.sockets if socket_id in (None, socket.id)][:1]:
            self.leave(socket)
            await socket.send({"type": "disconnect", "reason": "refresh_requested", "debug_info": {"host": "local"}})
            await socket.close()

    def offer(self, kind: str, payload: JsonObject) -> Envelope:
        """Send a payload on its way; `kind` is events_api or interactive."""
        envelope = Envelope(self._stamps.unique(), kind, payload)
        self.envelopes[envelope.id] = envelope
        if self.paused:
            envelope.state = "held"
        else:
            envelope.released.set()
        carrier = asyncio.create_task(self._carry(envelope, heard=bool(self.sockets)))
        self._carriers.add(carrier)
        carrier.add_done_callback(self._carriers.discard)
        self._changes.notify()
        return envelope

    def take_frame(self, frame: JsonObject) -> None:
        """Read what the bot sent over a socket: an acknowledgement, maybe with an answer."""
        envelope = self.envelopes.get(text_at(frame, "envelope_id"))
        if envelope is None or envelope.acked_at is not None:
            return
        envelope.answer = as_object(frame.get("payload"))
        envelope.acked_at = self._stamps.now()
        self._settle(envelope, "acked")

    def release(self, envelope_id: str) -> None:
        """Let one held envelope go, before those that were held longer."""
        self.envelopes[envelope_id].released.set()

    def resume(self) -> None:
        """Let every held envelope go, in order."""
        self.paused = False
        for envelope in self.envelopes.values():
            envelope.released.set()

    async def aclose(self) -> None:
        """End every delivery and close the sockets."""
        for carrier in self._carriers:
            carrier.cancel()
        await asyncio.gather(*self._carriers, return_exceptions=True)
        for socket in tuple(self.sockets):
            await socket.close()

    async def _carry(self, envelope: Envelope, *, heard: bool) -> None:
        """`heard`: a socket was open when it was offered. Where none was, the first attempt is spent already."""
        if envelope.state == "held":
            await envelope.released.wait()
            heard = True
        delays = self._retry_delays if envelope.kind == "events_api" else ()
        if heard and self.sockets and await self._attempt(envelope, 0):
            return
        for number, delay in enumerate(delays, 1):
            if await envelope.acked(delay):
                return
            await self._open_socket()
            if await self._attempt(envelope, number):
                return
        if envelope.acked_at is None:
            self._settle(envelope, "gave_up")

    async def _open_socket(self) -> None:
        while not self.sockets:
            await self._changes.after(self._changes.count)

    async def _attempt(self, envelope: Envelope, number: int) -> bool:
        socket = self.sockets[self._turn % len(self.sockets)]
        self._turn += 1
        envelope.attempts.append(Attempt(number, socket.id, self._stamps.now()))
        envelope.state = "sent"
        self._changes.notify()
        await socket.send(envelope.frame(number))
        return await envelope.acked(self._ack_timeout)

    def _settle(self, envelope: Envelope, state: str) -> None:
        envelope.state = state
        envelope.settled.set()
        self._changes.notify()
