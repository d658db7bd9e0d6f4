"""A public host on this machine: what is dialled at its address comes out at a local server, with the peer it says.

The network backend stands where the internet would be; everything above it is the real door.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import httpcore

from bot.egress.client import EgressClient, EgressMeans, EgressRequest, Reply
from bot.egress.rules import EgressRules
from bot.interrupts.brake import Brake
from bot.interrupts.retries import ONCE
from tests.egress.site import Answer, Resolver, serving

HOST = "api.example.com"


class _Claimed:
    """A socket that says it is connected to this address."""

    def __init__(self, address: str) -> None:
        self._address = address

    def getpeername(self) -> tuple[str, int]:
        return self._address, 80


class _Stream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: httpcore.AsyncNetworkStream, peer: str) -> None:
        self._stream, self._peer = stream, peer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return {"socket": _Claimed(self._peer), "server_addr": (self._peer, 80)}.get(info)


class Elsewhere(httpcore.AsyncNetworkBackend):
    """Leads every address to one port of this machine; `says_peer` is whom the socket claims to be with."""

    def __init__(self, port: int, says_peer: str | None = None) -> None:
        self._port, self._says_peer = port, says_peer
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._network.connect_tcp("127.0.0.1", self._port, timeout)
        return _Stream(stream, self._says_peer or host)


class Street:
    """A public host that this machine plays."""

    def __init__(self, site, resolver: Resolver, robots, pace) -> None:
        self._site, self.resolver, self._robots, self._pace = site, resolver, robots, pace
        self.host, self.answers = HOST, site.answers

    @classmethod
    @asynccontextmanager
    async def open(cls, resolver: Resolver, robots, pace) -> AsyncIterator["Street"]:
        async with serving() as site:
            yield cls(site, resolver, robots, pace)

    @property
    def seen(self) -> list:
        return self._site.seen

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.seen]

    def client(self, rules: EgressRules | None = None, *, record=None, says_peer: str | None = None) -> EgressClient:
        means = EgressMeans(
            resolve=self.resolver,
            network=Elsewhere(self._site.port, says_peer),
            robots=self._robots,
            pace=self._pace,
            user_agent="steersman/1 (+mailto:sre@example.com)",
        )
        return EgressClient(rules or EgressRules.parse([f"http://{HOST}"], []), means, retry=ONCE, record=record)

    async def fetch(self, client: EgressClient, path: str, brake: Brake | None = None, **limits: float) -> Reply:
        answer: Answer | None = self.answers.get(path)
        assert answer is not None or path, path
        reply = await client.fetch(EgressRequest(f"http://{HOST}{path}", "req000001", **limits), brake or Brake())
        assert reply is not None
        return reply
