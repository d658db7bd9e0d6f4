"""How the local model server answers one request: refuse it as a provider would, or play its round.

The order of the checks is a provider's: key, model, form, pairing. What is played is decided in bot/llm/script.py.
"""

import asyncio
import json
import socket
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from aiohttp import web

from bot.llm.script import (
    AtGate,
    Break,
    Fault,
    FaultCount,
    FaultKind,
    Finish,
    Pause,
    Performance,
    Script,
    Send,
    Start,
    beats,
    perform,
)
from bot.playground.gates import Gates
from bot.playground.model_dialect import Dialect, Wire
from bot.playground.model_log import Received, RequestLog
from bot.playground.openai_judge import Refusal

RESET_AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing sends RST, which no client can take for a proper end."""


@dataclass(slots=True)
class Stage:
    """What the answers of one server share."""

    script: Script
    key: str
    models: Collection[str]
    variables: Mapping[str, str]
    pace: float
    gates: Gates = field(default_factory=Gates)
    log: RequestLog = field(default_factory=RequestLog)
    faults: FaultCount = field(default_factory=FaultCount)

    async def answer(self, dialect: Dialect, request: web.Request) -> web.StreamResponse:
        """Answer one request, and log how that ended."""
        received = await self.log.arrive(dialect.name)
        left = True
        try:
            response = await self._refuse_or_play(dialect, request, received)
            left = False
        finally:
            received.end(left)
        return response

    async def _refuse_or_play(self, dialect: Dialect, request: web.Request, received: Received) -> web.StreamResponse:
        received.body = _read(await request.read())
        refused = self._refusal(dialect, request, received.body)
        if refused:
            received.status, received.broken_rule = refused[0], refused[1].rule
            return web.json_response(dialect.error_body(*refused), status=refused[0])
        performance = perform(self.script, dialect.lines(received.body), self.variables)
        received.place = performance.place
        answer = _Answer(self, dialect, request, received)
        return await answer.play(performance, self.faults.due(performance))

    def _refusal(
        self, dialect: Dialect, request: web.Request, body: Mapping[str, object]
    ) -> tuple[int, Refusal] | None:
        if request.headers.get(dialect.key_header) != dialect.key_prefix + self.key:
            return 401, Refusal("key", "the key is wrong or missing")
        if dialect.needed_header and dialect.needed_header not in request.headers:
            return 400, Refusal("header", f"{dialect.needed_header}: header is required")
        if "model" not in body:
            return 400, Refusal("body", "send a JSON object that names a `model`", "model")
        if body["model"] not in self.models:
            return 404, Refusal("model", f"The model `{body['model']}` does not exist", "model")
        if body.get("stream") is not True:
            return 400, Refusal("stream", "this server only streams: send `stream: true`", "stream")
        broken = dialect.judge(body)
        return (400, broken) if broken else None


class _Answer:
    """One answer on its way."""

    def __init__(self, stage: Stage, dialect: Dialect, request: web.Request, received: Received) -> None:
        self._stage, self._dialect, self._request, self._received = stage, dialect, request, received
        self._wire: Wire = dialect.wire(received.number, received.body)
        self._response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})

    async def play(self, performance: Performance, fault: Fault | None) -> web.StreamResponse:
        for beat in beats(performance, fault):
            match beat:
                case Pause():
                    await asyncio.sleep(beat.ms / 1000 * self._stage.pace)
                case AtGate():
                    await self._stage.gates.arrive(beat.name)
                case Start():
                    self._received.status = 200
                    await self._response.prepare(self._request)
                    await self._response.write(self._wire.start())
                case Send():
                    await self._response.write(self._wire.piece(beat))
                    self._received.chunks_sent += 1
                case Break():
                    return await self._break(beat.fault)
                case Finish():
                    await self._response.write(self._wire.finish(beat.at_limit))
        return self._response

    async def _break(self, fault: Fault) -> web.StreamResponse:
        match fault.kind:
            case FaultKind.STATUS:
                return self._refused(fault.status or 500, fault.retry_after)
            case FaultKind.HANG:
                await asyncio.Event().wait()
            case FaultKind.ERROR_IN_STREAM:
                await self._response.write(self._wire.failure())
            case FaultKind.RESET:
                _reset(self._request)
        return self._response

    def _refused(self, status: int, retry_after: float | None) -> web.Response:
        self._received.status = status
        headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
        body = self._dialect.error_body(status, Refusal("script", f"the script answers {status}"))
        return web.json_response(body, status=status, headers=headers)


def _reset(request: web.Request) -> None:
    transport = request.transport
    if transport is not None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
        transport.abort()


def _read(raw: bytes) -> Mapping[str, object]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
