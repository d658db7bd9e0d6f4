"""One HTTP request and its answer, on a connection of its own.

Owns what is sent in the headers, the size cap and the refusal of compressed answers. It must never follow a redirect,
decode a body, keep a connection after its answer, or write a byte when the brake holds the run back. It speaks
httpcore, the transport under httpx: what was checked is what is sent, without a second parser of URLs in between.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import httpcore

from bot.egress.calls import Reply
from bot.egress.decisions import Admitted
from bot.egress.pinned import PinnedBackend, public_tls
from bot.errors import ToolBlockedError
from bot.interrupts.brake import Brake
from bot.interrupts.retries import is_held_back
from bot.rules.retry_after import retry_after

CONNECT_SECONDS = 5.0
"""For one address, so that a dead one leaves time for the next."""


class HeldBackError(Exception):
    """The brake came between the decision and the first byte."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is sent, with every header it carries."""

    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    max_bytes: int


@dataclass(slots=True)
class Wire:
    """What is known of one request while it is under way; `written` is on the loop's clock."""

    brake: Brake
    peer: str = ""
    written: float | None = None
    status: int | None = None
    received_bytes: int = 0

    async def on_step(self, step: str, _facts: Mapping[str, object]) -> None:
        """Is called by httpcore before each step of an exchange."""
        if step != "http11.send_request_headers.started":
            return
        # Connecting takes time, and a request that leaves after the brake is what nobody can explain afterwards.
        if is_held_back(self.brake):
            raise HeldBackError
        self.written = asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class Ways:
    """How connections are made: over which network, and with which certificates (None: the public ones)."""

    network: httpcore.AsyncNetworkBackend
    tls: ssl.SSLContext | None


async def exchange(ways: Ways, admitted: Admitted, outgoing: Outgoing, wire: Wire) -> Reply:
    """Send a request to the checked addresses and read its answer up to the cap.

    Raises ToolBlockedError for an answer that may not be read, HeldBackError, and httpcore's errors as they are.
    """
    target = admitted.permit.target
    url = httpcore.URL(
        scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.resource.encode()
    )
    extensions = {"timeout": {"connect": CONNECT_SECONDS}, "trace": wire.on_step}
    headers: list[tuple[bytes | str, bytes | str]] = [*outgoing.headers]
    async with _connection(ways, admitted, wire) as connection:
        answering = connection.stream(
            outgoing.method, url, headers=headers, content=outgoing.body, extensions=extensions
        )
        async with answering as response:
            return await _reply(response, admitted, outgoing, wire)


@contextlib.asynccontextmanager
async def _connection(ways: Ways, admitted: Admitted, wire: Wire) -> AsyncIterator[httpcore.AsyncHTTPConnection]:
    """Open nothing yet; close on leaving whatever was opened, a half-made TLS connection included."""
    target = admitted.permit.target
    pinned = PinnedBackend(ways.network, admitted.addresses)
    origin = httpcore.Origin(target.scheme.encode(), target.host.encode(), target.port)
    try:
        yield httpcore.AsyncHTTPConnection(origin, ssl_context=ways.tls or public_tls(), network_backend=pinned)
    finally:
        wire.peer = pinned.peer
        await pinned.close_all()


async def _reply(response: httpcore.Response, admitted: Admitted, outgoing: Outgoing, wire: Wire) -> Reply:
    wire.status = response.status
    headers = _named(response)
    announced = _length(headers.get("content-length", ""))
    has_body = outgoing.method != "HEAD"
    if has_body:
        _check_head(headers.get("content-encoding", "").lower(), announced, outgoing.max_bytes)
    body, is_cut = await _read(response, outgoing.max_bytes, wire)
    return Reply(
        url=admitted.permit.target.shown,
        status=response.status,
        content_type=headers.get("content-type", ""),
        location=headers.get("location", ""),
        body=body,
        is_cut=is_cut,
        announced_bytes=announced,
        peer=_peer(response),
        retry_after=retry_after(headers),
    )


def _check_head(encoding: str, announced: int | None, max_bytes: int) -> None:
    if encoding not in {"", "identity"}:
        problem = f"the answer is compressed ({encoding[:40]}), against our request"
        raise ToolBlockedError("egress.encoding", problem, sent=True)
    if announced is not None and announced > max_bytes:
        problem = f"the answer has {announced:,} bytes, and {max_bytes:,} are read at most; ask for less of it"
        raise ToolBlockedError("egress.size", problem, sent=True)


async def _read(response: httpcore.Response, limit: int, wire: Wire) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in response.aiter_stream():
        body += chunk
        wire.received_bytes = min(len(body), limit)
        if len(body) > limit:
            return bytes(body[:limit]), True
    return bytes(body), False


def _named(response: httpcore.Response) -> dict[str, str]:
    """The headers by lower-case name; values of one name are joined, as a list would be."""
    named: dict[str, str] = {}
    for key, value in response.headers:
        name, text = key.decode("ascii", "replace").lower(), value.decode("ascii", "replace").strip()
        named[name] = f"{named[name]}, {text}" if name in named else text
    return named


def _peer(response: httpcore.Response) -> str:
    stream = response.extensions["network_stream"]
    return str(stream.get_extra_info("server_addr")[0])


def _length(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
