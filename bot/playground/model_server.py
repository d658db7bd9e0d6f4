"""A model service on this machine that follows a script: real HTTP, both dialects, and as strict as a provider.

It imports nothing of what it judges, and decides nothing: it serves, logs and waits at gates.

POST /v1/chat/completions, POST /v1/messages   the two dialects, streamed
GET  /_control/requests                        the log
GET  /_control/gates                           the gates named so far
GET  /_control/gates/NAME/reached?times=N      answers when messages have come to this gate N times
POST /_control/gates/NAME/open                 opens it
"""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from types import MappingProxyType

from aiohttp import web

from bot.llm.script import Script
from bot.playground.anthropic_wire import ANTHROPIC
from bot.playground.model_log import Received
from bot.playground.model_stage import Stage
from bot.playground.openai_wire import OPENAI

MODEL = "scripted"
LARGEST_REQUEST = 32 * 1024 * 1024
CLOSING_SECONDS = 0.1
"""How long answers on their way may take when the server is closed; a hang would hold it for ever."""


class ModelServer:
    """A model service that is running."""

    def __init__(self, stage: Stage, url: str) -> None:
        self.url = url
        self._stage = stage

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        script: Script,
        key: str,
        models: Collection[str] = (MODEL,),
        variables: Mapping[str, str] = MappingProxyType({}),
        pace: float = 1.0,
    ) -> AsyncIterator["ModelServer"]:
        """Run a server on a free port of this machine; `pace` stretches the script's delays, 0 leaves them out."""
        stage = Stage(script, key, tuple(models), variables, pace)
        # Without cancellation a client that leaves is noticed only at the next write, and never at a gate.
        runner = web.AppRunner(
            _app(stage), access_log=None, handler_cancellation=True, shutdown_timeout=CLOSING_SECONDS
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield cls(stage, f"http://127.0.0.1:{runner.addresses[0][1]}")
        finally:
            await runner.cleanup()

    @property
    def requests(self) -> list[Received]:
        """Every request so far, in the order in which they came."""
        return self._stage.log.requests

    async def received(self, count: int) -> Received:
        """Wait until so many requests have come in all; gives the last of these."""
        return await self._stage.log.received(count)

    async def gate_reached(self, name: str, times: int = 1) -> None:
        """Wait until messages have come to a gate so many times in all."""
        await self._stage.gates.reached(name, times)

    def open_gate(self, name: str) -> None:
        """Let messages through a gate, now and from now on."""
        self._stage.gates.open(name)

    def follow(self, script: Script) -> None:
        """Follow another script from the next request on."""
        self._stage.script = script


def _app(stage: Stage) -> web.Application:
    app = web.Application(client_max_size=LARGEST_REQUEST)
    for dialect in (OPENAI, ANTHROPIC):
        app.router.add_post(dialect.path, partial(stage.answer, dialect))
    control = _Control(stage)
    app.router.add_get("/_control/requests", control.list_requests)
    app.router.add_get("/_control/gates", control.list_gates)
    app.router.add_get("/_control/gates/{name}/reached", control.await_gate)
    app.router.add_post("/_control/gates/{name}/open", control.open_gate)
    return app


class _Control:
    """What another process may ask of this server."""

    def __init__(self, stage: Stage) -> None:
        self._log, self._gates = stage.log, stage.gates

    async def list_requests(self, _: web.Request) -> web.Response:
        return web.json_response([received.listing() for received in self._log.requests])

    async def list_gates(self, _: web.Request) -> web.Response:
        return web.json_response(self._gates.listing())

    async def await_gate(self, request: web.Request) -> web.Response:
        times = request.query.get("times", "1")
        await self._gates.reached(request.match_info["name"], int(times) if times.isdecimal() else 1)
        return web.json_response(self._gates.listing())

    async def open_gate(self, request: web.Request) -> web.Response:
        self._gates.open(request.match_info["name"])
        return web.json_response(self._gates.listing())
