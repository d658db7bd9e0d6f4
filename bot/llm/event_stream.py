"""One request to a model service and the events of its answer.

It owns the connection: a fresh client per call (a pooled one leaks its slots when a task is cancelled twice,
encode/httpx#3782), no retry, no redirect, no proxy from the environment, a limit on silence and on size. It must never
let a connection outlive its context, and never put the key or a header into an error.
"""

import functools
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, cast

import httpx
from httpx_sse import EventSource, ServerSentEvent

from bot.egress.model_door import ModelTransport, model_permit
from bot.errors import ModelStreamError, ModelUnreachableError, SettingsError
from bot.llm import refusals
from bot.llm.provider import ModelReply

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""Bytes of one answer on the wire. A token costs 200 to 400 of them in either dialect."""
MAX_REFUSAL_BYTES = 16 * 1024
"""Bytes that are read of an answer that is no stream."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds of silence (any byte counts as life, comments and pings too) and seconds to connect."""

    idle: float = 60.0
    connect: float = 10.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go, what they carry, and the key in it that no error may show."""

    url: str
    headers: Mapping[str, str]
    secret: str
    timeouts: Timeouts


class Assembly(Protocol):
    """Makes a message of the events of one dialect; pure."""

    def feed(self, event: str, text: str) -> bool:
        """Take one event; True when nothing after it is needed. Raises the ModelError that it reports."""
        ...

    def reply(self) -> ModelReply:
        """Give the finished message; raises ModelStreamError where its proper end has not come."""
        ...


class EventReply:
    """One message on its way, of any dialect."""

    def __init__(self, events: AsyncIterator[ServerSentEvent], assembly: Assembly) -> None:
        self._events, self._assembly = events, assembly

    async def reply(self) -> ModelReply:
        """Read to the proper end; raises a ModelError that names what went wrong."""
        async for event in self._events:
            if event.data.strip() and self._assembly.feed(event.event, event.data):
                break
        return self._assembly.reply()


def checked_key(key: str) -> str:
    """Give the key without blanks around it; SettingsError where it cannot stand in a header.

    The HTTP library would name such a key in full in its own error.
    """
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise SettingsError("the model's API key", "holds characters that no key has", "Copy it again.")
    return key


@asynccontextmanager
async def posted(endpoint: Endpoint, body: Mapping[str, object]) -> AsyncIterator[AsyncGenerator[ServerSentEvent]]:
    """Send a request and give the events of its answer; leaving closes the connection at whatever point it is."""
    async with _client(endpoint) as client, _response(client, endpoint, body) as response:
        if response.status_code != httpx.codes.OK or not _is_event_stream(response):
            raise await _refusal(response, endpoint.secret)
        async with aclosing(_events(response)) as events:
            yield events


@functools.cache
def _certificates() -> ssl.SSLContext:
    # Read once: a client that reads them for itself stands in the way of every other run for tens of milliseconds.
    return httpx.create_ssl_context(trust_env=False)


def _client(endpoint: Endpoint) -> httpx.AsyncClient:
    limits = httpx.Timeout(endpoint.timeouts.idle, connect=endpoint.timeouts.connect)
    transport = ModelTransport(model_permit(endpoint.url), _certificates())
    return httpx.AsyncClient(timeout=limits, transport=transport, trust_env=False, follow_redirects=False)


@asynccontextmanager
async def _response(
    client: httpx.AsyncClient, endpoint: Endpoint, body: Mapping[str, object]
) -> AsyncIterator[httpx.Response]:
    # Compressed bytes could hold a thousand times more than the limit on size counts.
    fixed = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Content-Type": "application/json"}
    headers = {**endpoint.headers, **fixed}
    content = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    try:
        request = client.build_request("POST", endpoint.url, headers=headers, content=content)
        response = await client.send(request, stream=True)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise ModelUnreachableError(f"no answer from the model service ({type(error).__name__})") from error
    try:
        yield response
    finally:
        await response.aclose()


def _is_event_stream(response: httpx.Response) -> bool:
    plain = response.headers.get("content-encoding", "identity").lower() in {"", "identity"}
    return plain and response.headers.get("content-type", "").partition(";")[0].strip() == "text/event-stream"


async def _refusal(response: httpx.Response, secret: str) -> Exception:
    text = await _start_of(response)
    if response.status_code != httpx.codes.OK:
        return refusals.of_status(response.status_code, text, response.headers, secret)
    try:
        reported = refusals.error_of(json.loads(text))
    except (ValueError, RecursionError):
        reported = None
    if reported is not None:
        return refusals.of_error(reported, secret)
    kind = response.headers.get("content-type", "no type")[:80]
    return ModelStreamError(f"the answer is {kind}, not text/event-stream", status=httpx.codes.OK)


async def _start_of(response: httpx.Response) -> str:
    read = bytearray()
    try:
        async with aclosing(_raw(response)) as parts:
            async for part in parts:
                read += part
                if len(read) > MAX_REFUSAL_BYTES:
                    break
    except httpx.TransportError:
        # The status is known and says enough; the words that were to come with it are lost.
        pass
    return read[:MAX_REFUSAL_BYTES].decode("utf-8", "replace")


async def _raw(response: httpx.Response) -> AsyncGenerator[bytes]:
    async for part in response.aiter_raw():
        yield part


async def _events(response: httpx.Response) -> AsyncGenerator[ServerSentEvent]:
    response.stream = _Limited(cast("httpx.AsyncByteStream", response.stream))
    # The event stream format is UTF-8 whatever the header says, and may start with a byte order mark.
    response.encoding = "utf-8-sig"
    try:
        async with aclosing(EventSource(response).aiter_sse()) as events:
            async for event in events:
                yield event
    except httpx.ReadTimeout as error:
        raise ModelUnreachableError("the model service fell silent in the middle of a message") from error
    except httpx.TransportError as error:
        raise ModelStreamError(f"the connection broke off ({type(error).__name__})") from error


class _Limited(httpx.AsyncByteStream):
    """A stream of bytes that ends with an error where it is longer than a message may be."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_MESSAGE_BYTES
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise ModelStreamError(f"the message is longer than {MAX_MESSAGE_BYTES} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
