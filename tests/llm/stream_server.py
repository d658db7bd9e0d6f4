"""A model service for the tests: a real socket on loopback that sends exactly the bytes it was given.

It knows nothing of dialects. It keeps what it was asked, counts its connections, and tells when a client has gone.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

SSE = {"Content-Type": "text/event-stream"}


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]


@dataclass
class Answering:
    """One answer in the making."""

    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader

    async def head(self, status: int = 200, headers: Mapping[str, str] = SSE) -> None:
        """Send the status and the headers; the body ends where the connection ends."""
        lines = [f"HTTP/1.1 {status} X", "Connection: close", *(f"{name}: {value}" for name, value in headers.items())]
        await self.send("\r\n".join([*lines, "", ""]))

    async def send(self, text: str | bytes, split: bool = False) -> None:
        """Send some of the body; with `split` every byte in a packet of its own."""
        sent = text.encode() if isinstance(text, str) else text
        for part in [sent[n : n + 1] for n in range(len(sent))] if split else [sent]:
            self.writer.write(part)
            await self.writer.drain()

    async def client_is_gone(self) -> None:
        """Wait until the other side has closed."""
        while await self.reader.read(1024):
            pass

    def reset(self) -> None:
        """Break the connection off."""
        self.writer.transport.abort()


Answer = Callable[[Answering], Awaitable[None]]


@dataclass
class Service:
    """The running service; `answer` may be changed between requests."""

    url: str = ""
    answer: Answer | None = None
    asked: list[Asked] = field(default_factory=list)
    open: int = 0
    all_gone: asyncio.Event = field(default_factory=asyncio.Event)
    faults: list[Exception] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        self.open += 1
        self.all_gone.clear()
        try:
            self.asked.append(await _read(reader))
            if self.answer is not None:
                await self.answer(Answering(writer, reader))
        except ConnectionError as gone:
            self.faults.append(gone)
        finally:
            writer.close()
            self.open -= 1
            if not self.open:
                self.all_gone.set()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = await reader.readexactly(int(headers["content-length"]))
    return Asked(head[0].split(" ")[1], headers, json.loads(body))


@asynccontextmanager
async def serving(answer: Answer | None = None) -> AsyncIterator[Service]:
    """Run the service on a free port of loopback."""
    service = Service(answer=answer)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.close()


def plays(body: str, split: bool = False, ends: str = "clean") -> Answer:
    """An answer that streams `body` and then closes properly, or breaks off."""

    async def answer(answering: Answering) -> None:
        await answering.head()
        await answering.send(body, split)
        if ends != "clean":
            answering.reset()

    return answer


def refuses(status: int, body: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer that is no stream."""

    async def answer(answering: Answering) -> None:
        await answering.head(status, {"Content-Type": "application/json", **(headers or {})})
        await answering.send(body)

    return answer
