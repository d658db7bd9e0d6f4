"""What the tests of the door call: a real HTTP server on a free loopback port, and a note of who dialled what."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpcore
from aiohttp import web

from bot.egress.client import EgressClient, EgressMeans, EgressRequest, Recorder, Reply
from bot.egress.rules import EgressRules
from bot.interrupts.brake import Brake
from bot.interrupts.retries import READS, RetryPolicy

LIMIT = 10.0
"""Seconds; the outer limit of every wait for a condition."""

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Site:
    """A server that answers by path and keeps the requests it has seen."""

    answers: dict[str, Answer]
    port: int = 0
    seen: list[web.Request] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def pair(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.pair}{path}"

    def rules(self) -> EgressRules:
        """Rules that allow this site and nothing else."""
        return EgressRules.parse([f"http://{self.pair}"], [self.pair])

    def named(self, host: str) -> EgressRules:
        """Rules that allow this site under a name of this machine."""
        return EgressRules.parse([f"http://{host}:{self.port}"], [f"{host}:{self.port}"])

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        self.asked.set()
        try:
            return await self.answers[request.path](request)
        except (asyncio.CancelledError, ConnectionError):
            # The caller has closed its connection while the answer was under way.
            self.left.set()
            raise


@asynccontextmanager
async def serving(**answers: Answer) -> AsyncIterator[Site]:
    """Serve each answer under the path of its name."""
    site = Site({f"/{name}": answer for name, answer in answers.items()})
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


def client_of(
    rules: EgressRules, *, retry: RetryPolicy = READS, record: Recorder | None = None, robots=None, **means
) -> EgressClient:
    """A door of these means, which asks no robots.txt unless it is given a book to note them in."""
    return EgressClient(rules, EgressMeans(robots=robots, **means), retry=retry, record=record)


async def fetch(client: EgressClient, url: str, method: str = "GET", **limits: float) -> Reply:
    request = EgressRequest(url, "req000001", method, **limits)  # type: ignore[arg-type]
    async with asyncio.timeout(LIMIT):
        reply = await client.fetch(request, Brake())
    assert reply is not None
    return reply


@asynccontextmanager
async def listening(talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]) -> AsyncIterator[int]:
    """A server below HTTP, on a free loopback port."""
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def says(text: str | bytes = "", status: int = 200, **headers: str) -> Answer:
    """The same answer every time; `_` in a header's name stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = text.encode() if isinstance(text, str) else text

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers={"Content-Type": "text/plain", **named})

    return answer


def in_pieces(piece: bytes, times: int) -> Answer:
    """A body whose length is not announced."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        for _ in range(times):
            await response.write(piece)
        return response

    return answer


def in_turn(*answers: Answer) -> Answer:
    """One answer after the other, the last one for ever."""
    waiting = list(answers)

    async def answer(request: web.Request) -> web.StreamResponse:
        return await (waiting.pop(0) if len(waiting) > 1 else waiting[0])(request)

    return answer


async def hangs(_request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def drips(request: web.Request) -> web.StreamResponse:
    """One byte every 20 ms, for ever: no single read is slow."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b".")
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.02)


async def pours(request: web.Request) -> web.StreamResponse:
    """A body without an end."""
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(request)
    while True:
        await response.write(b"x" * 65_536)


class Resolver:
    """Gives the answers it was made with, one after the other, and keeps the questions."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.questions: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.questions.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Dial(httpcore.AsyncNetworkBackend):
    """Notes which addresses are dialled and reaches none of them: no test leaves this machine."""

    def __init__(self) -> None:
        self.dialled: list[tuple[str, int]] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.dialled.append((host, port))
        raise httpcore.ConnectError("nobody is there")
