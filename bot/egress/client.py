"""The door out: every HTTP request of a run's tools leaves through here.

Owns the order of the checks (rules, addresses, brake), the pinned connection, the deadline and the size cap. It must
never look a name up twice for one connection, follow a redirect, decode a compressed body, read proxies or
credentials from the environment, or keep a connection after its call. It speaks httpcore, the transport under httpx:
what was checked is what is sent, without a second parser of URLs in between.
"""

import asyncio
import contextlib
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import httpcore

from bot.egress.rules import EgressRules, Permit, Refusal
from bot.errors import ToolBlockedError, ToolError, ToolTimeoutError
from bot.interrupts.brake import Brake
from bot.interrupts.retries import READS, Attempts, RetryPolicy

DEFAULT_SECONDS = 15.0
MAX_SECONDS = 30.0
MAX_BYTES = 1_000_000
PER_RUN = 3
"""How many requests of one run are on their way at a time."""
LOOK_UP_SECONDS = 3.0
CONNECT_SECONDS = 5.0
"""For one address, so that a dead one leaves time for the next."""

_TRY_AGAIN = frozenset({502, 503, 504})
_T = TypeVar("_T")

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host; raises OSError where there is none."""


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Ask the resolver of this machine."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(row[4][0]) for row in found))


@dataclass(frozen=True, slots=True)
class EgressRequest:
    """One call; `seconds` is for all of it (30 at most), look-up and second try included."""

    url: str
    request_id: str
    method: str = "GET"
    seconds: float = DEFAULT_SECONDS
    max_bytes: int = MAX_BYTES


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: `url` without its query; `is_cut` where the body went on after max_bytes."""

    url: str
    status: int
    content_type: str
    location: str
    body: bytes
    is_cut: bool
    announced_bytes: int | None


@dataclass(frozen=True, slots=True)
class _Unreachable:
    reason: str


class EgressClient:
    """The door of one run; make one per run, because its places are the run's."""

    def __init__(
        self,
        rules: EgressRules,
        *,
        resolve: Resolver = system_resolver,
        tls: ssl.SSLContext | None = None,
        retry: RetryPolicy = READS,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self.rules = rules
        self._resolve, self._tls, self._retry = resolve, tls, retry
        self._network = network or httpcore.AnyIOBackend()
        self._places = asyncio.Semaphore(PER_RUN)

    async def fetch(self, request: EgressRequest, brake: Brake) -> Reply | None:
        """Make a call; None where the brake was pulled before anything left.

        Raises ToolBlockedError where a rule refuses, ToolTimeoutError past the deadline, ToolError where it fails.
        Cancelled from outside it closes its connection at once.
        """
        permit = _allowed(self.rules.judge(request.method, request.url))
        seconds = min(request.seconds, MAX_SECONDS)
        # The clock starts with the place: a call that waits behind three slow ones has not been slow itself.
        async with self._places:
            try:
                async with asyncio.timeout(seconds):
                    return await self._tried(permit, request, brake)
            except TimeoutError as error:
                problem = f"{permit.target.shown} gave no complete answer within {seconds:g} s"
                raise ToolTimeoutError(problem) from error

    async def _tried(self, permit: Permit, request: EgressRequest, brake: Brake) -> Reply | None:
        outcome: Reply | _Unreachable | None = None
        async for _attempt in Attempts(brake, self._retry):
            outcome = await self._once(permit, request)
            if isinstance(outcome, Reply) and outcome.status not in _TRY_AGAIN:
                break
        if isinstance(outcome, _Unreachable):
            raise ToolError(f"{permit.target.shown} cannot be reached: {outcome.reason}")
        return outcome

    async def _once(self, permit: Permit, request: EgressRequest) -> Reply | _Unreachable:
        found = await self._addresses(permit)
        if isinstance(found, _Unreachable):
            return found
        addresses = _allowed(permit.admit(found))
        try:
            async with self._connection(permit, addresses) as connection:
                return await _exchange(connection, permit, request)
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            return _Unreachable(str(error) or "no connection")
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            problem = str(error) or "the connection was closed"
            raise ToolError(f"the answer of {permit.target.shown} broke off: {problem}") from error

    async def _addresses(self, permit: Permit) -> Sequence[str] | _Unreachable:
        if permit.is_literal:
            return (permit.target.host,)
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                return await self._resolve(permit.target.host, permit.target.port)
        except OSError as error:
            return _Unreachable(f"the look-up of its name failed: {str(error) or 'no answer in time'}")

    @contextlib.asynccontextmanager
    async def _connection(
        self, permit: Permit, addresses: Sequence[str]
    ) -> AsyncIterator[httpcore.AsyncHTTPConnection]:
        """Open nothing yet; close on leaving whatever was opened, a half-made TLS connection included."""
        target, tls = permit.target, self._tls or _public_tls()
        pinned = _PinnedBackend(self._network, addresses)
        origin = httpcore.Origin(target.scheme.encode(), target.host.encode(), target.port)
        try:
            yield httpcore.AsyncHTTPConnection(origin, ssl_context=tls, network_backend=pinned)
        finally:
            await pinned.close_all()


class _PinnedBackend(httpcore.AsyncNetworkBackend):
    """Connects to the checked addresses only; the name stays in Host and SNI, so TLS still checks it."""

    def __init__(self, network: httpcore.AsyncNetworkBackend, addresses: Sequence[str]) -> None:
        self._network, self._addresses = network, addresses
        self._opened: list[httpcore.AsyncNetworkStream] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first checked address that answers, whatever `host` is."""
        failure: Exception = httpcore.ConnectError("no address")
        for address in self._addresses:
            try:
                stream = await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                self._opened.append(stream)
                return stream
        raise failure

    async def close_all(self) -> None:
        """Close every connection that was opened; closing twice does nothing."""
        for stream in self._opened:
            await stream.aclose()


async def _exchange(connection: httpcore.AsyncHTTPConnection, permit: Permit, request: EgressRequest) -> Reply:
    target = permit.target
    url = httpcore.URL(
        scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.resource.encode()
    )
    limits = {"timeout": {"connect": CONNECT_SECONDS}}
    async with connection.stream(request.method, url, headers=_headers(permit, request), extensions=limits) as response:
        encoding = _header(response, b"content-encoding").lower()
        if encoding not in {"", "identity"}:
            raise ToolBlockedError(
                "egress.encoding", f"the answer is compressed ({encoding[:40]}), against our request"
            )
        body, is_cut = await _read(response, request.max_bytes)
    return Reply(
        url=target.shown,
        status=response.status,
        content_type=_header(response, b"content-type"),
        location=_header(response, b"location"),
        body=body,
        is_cut=is_cut,
        announced_bytes=_length(_header(response, b"content-length")),
    )


def _headers(permit: Permit, request: EgressRequest) -> list[tuple[bytes | str, bytes | str]]:
    return [
        ("Host", permit.target.netloc),
        ("User-Agent", "steersman"),
        ("Accept", "*/*"),
        # A compressed body can grow a millionfold when it is unpacked, past every cap on what was read.
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
        ("X-Request-Id", request.request_id),
        ("Idempotency-Key", request.request_id),
    ]


async def _read(response: httpcore.Response, limit: int) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in response.aiter_stream():
        body += chunk
        if len(body) > limit:
            return bytes(body[:limit]), True
    return bytes(body), False


def _header(response: httpcore.Response, name: bytes) -> str:
    values = [value.decode("ascii", errors="replace").strip() for key, value in response.headers if key.lower() == name]
    return ", ".join(values)


def _length(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _allowed(verdict: _T | Refusal) -> _T:
    if isinstance(verdict, Refusal):
        raise ToolBlockedError(verdict.rule, verdict.message)
    return verdict


@functools.cache
def _public_tls() -> ssl.SSLContext:
    """The certificate authorities of certifi; reading them takes tens of milliseconds, so once per process."""
    return httpcore.default_ssl_context()
