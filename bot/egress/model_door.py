"""The door to the model service: a class of its own.

Owns the connections of the model's httpx client. Only the configured host and port may be reached, on this machine
and in private networks too; the address is looked up once, checked, connected to and compared with the peer. There is
no robots.txt, no place among a run's three, and no deadline but the run's own: silence is ended by the client's idle
timeout. It must never retry, follow a redirect, or read a proxy from the environment.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from urllib.parse import urlsplit

import httpcore
import httpx

from bot.egress.decisions import LOOK_UP_SECONDS, Resolver, system_resolver
from bot.egress.permits import ModelPermit
from bot.egress.pinned import PinnedBackend
from bot.egress.rules import Refusal
from bot.errors import ToolBlockedError

CALLS_AT_ONCE = 1
"""Connections of one transport: a client is made for one call."""


_BROKEN = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)


def model_permit(url: str) -> ModelPermit:
    """The permit for the configured address of the model service."""
    parts = urlsplit(url)
    return ModelPermit.of(parts.scheme, parts.hostname or "", parts.port)


class ModelTransport(httpx.AsyncBaseTransport):
    """What an httpx client of the model service sends through."""

    def __init__(
        self,
        permit: ModelPermit,
        tls: ssl.SSLContext,
        resolve: Resolver = system_resolver,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        backend = _CheckingBackend(permit, resolve, network or httpcore.AnyIOBackend())
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls, max_connections=CALLS_AT_ONCE, network_backend=backend
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; raises httpx's transport errors."""
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        asked = httpcore.Request(
            request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        try:
            answer = await self._pool.handle_async_request(asked)
        except _BROKEN as error:
            raise _told(error) from error
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer), extensions=answer.extensions)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    """The body of an answer, with httpx's errors in the place of httpcore's."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._answer.aiter_stream():
                yield part
        except _BROKEN as error:
            raise _told(error) from error

    async def aclose(self) -> None:
        await self._answer.aclose()


class _CheckingBackend(httpcore.AsyncNetworkBackend):
    """Looks the model's host up once for each connection, and connects to what was checked."""

    def __init__(self, permit: ModelPermit, resolve: Resolver, network: httpcore.AsyncNetworkBackend) -> None:
        self._permit, self._resolve, self._network = permit, resolve, network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the model service."""
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                found = await self._resolve(host, port)
        except OSError as error:
            raise httpcore.ConnectError(f"the look-up of {host} failed") from error
        admitted = self._permit.admit(host, port, found)
        if isinstance(admitted, Refusal):
            raise httpcore.ConnectError(f"{admitted.rule}: {admitted.message}")
        pinned = PinnedBackend(self._network, admitted)
        try:
            return await pinned.connect_tcp(host, port, timeout, local_address, socket_options)
        except ToolBlockedError as elsewhere:
            raise httpcore.ConnectError(str(elsewhere)) from elsewhere


def _told(error: Exception) -> httpx.TransportError:
    """The error of httpx that has the name of httpcore's."""
    kind = getattr(httpx, type(error).__name__, httpx.NetworkError)
    told: httpx.TransportError = kind(str(error))
    return told
