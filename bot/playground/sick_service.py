"""A small checkout service that is ill, on this machine: what the demo investigates and what the tests count on.

What it shows is computed in bot/playground/sick_state.py. It logs every request, also those whose client left.

GET  /metrics /logs?limit=N /deploys /health /gateway/metrics /gateway/config
POST /gateway/config {"pool_size": N}   changes the state: with a large enough pool the service is well again
POST /admin/restart?service=checkout    heals it as well; a second request with the same Idempotency-Key does nothing
*    /slow                              takes its time, then says where the slowest checkouts spent theirs
GET  /big?bytes=N /nothing /redirect?to=URL /bytes   bodies that are hard on a client
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from aiohttp import web
from aiohttp.typedefs import Handler

from bot.playground import sick_state
from bot.playground.sick_state import Sickness

SERVICE = "checkout"
SLOW_SECONDS = 4.0
LOG_LIMIT, MOST_LOG_LINES = 20, 500
BIG_BYTES = 1024 * 1024
MOST_BYTES = 256 * 1024 * 1024
BLOCK = 64 * 1024
UNREADABLE = b"pool\x00exhausted \xff\xfe\xc3\x28 size=64\x00\n"
"""NUL bytes, which PostgreSQL text cannot hold, and bytes that are no UTF-8."""


@dataclass(slots=True)
class Visit:
    """One request: when (the loop's time, seconds), what, which ids it carried, and how it ended."""

    at: float
    method: str
    path: str
    query: str
    request_id: str | None
    idempotency_key: str | None
    status: int | None = None
    left: bool = False
    """Whether the client closed the connection before it was answered."""


class SickService:
    """The service while it runs."""

    def __init__(self, state: Sickness, clock: Callable[[], datetime], slow_seconds: float) -> None:
        self.url = ""
        self.state = state
        self.visits: list[Visit] = []
        self._restarts: dict[str, Mapping[str, object]] = {}
        self._clock, self._slow_seconds = clock, slow_seconds
        self._changed = asyncio.Condition()

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        seed: int = 0,
        slow_seconds: float = SLOW_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        port: int = 0,
    ) -> AsyncIterator["SickService"]:
        """Run the service on this machine; the deploy that made it ill was 19 to 35 minutes ago."""
        deployed_at = clock() - timedelta(minutes=19 + seed % 17, seconds=20)
        service = cls(Sickness(deployed_at, seed), clock, slow_seconds)
        runner = web.AppRunner(service.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
            service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield service
        finally:
            await runner.cleanup()

    def app(self) -> web.Application:
        """The service as an application."""
        app = web.Application(middlewares=[self._log])
        read = {
            "/metrics": lambda: web.Response(text=sick_state.metrics_text(self.state)),
            "/gateway/metrics": lambda: web.Response(text=sick_state.gateway_metrics_text(self.state)),
            "/gateway/config": lambda: web.json_response(sick_state.config(self.state)),
            "/deploys": lambda: web.json_response(sick_state.deploys(self.state, self._clock())),
            "/health": lambda: web.json_response(sick_state.health(self.state)),
            "/nothing": lambda: web.Response(body=b""),
            "/bytes": lambda: web.Response(body=UNREADABLE, content_type="text/plain"),
        }
        for path, show in read.items():
            app.router.add_get(path, _page(show))
        app.router.add_get("/logs", self._logs)
        app.router.add_get("/big", _big)
        app.router.add_get("/redirect", _redirect)
        app.router.add_post("/gateway/config", self._configure)
        app.router.add_post("/admin/restart", self._restart)
        app.router.add_route("*", "/slow", self._slow)
        return app

    def facts(self) -> list[tuple[str, str]]:
        """What is the matter, for a person who looks on: (label, value)."""
        return sick_state.facts(self.state, self._clock())

    @property
    def restarts(self) -> int:
        """How often checkout was restarted; a repeated request with the same key is no restart."""
        return self.state.restarts

    def visits_of(self, path: str) -> list[Visit]:
        """The requests of one path, in the order in which they came."""
        return [visit for visit in self.visits if visit.path == path]

    async def until(self, seen: Callable[[list[Visit]], bool]) -> None:
        """Wait until the log of requests is as it should be; asked again whenever a request comes or ends."""
        async with self._changed:
            await self._changed.wait_for(lambda: seen(self.visits))

    @web.middleware
    async def _log(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        headers, at = request.headers, asyncio.get_running_loop().time()
        ids = headers.get("X-Request-Id"), headers.get("Idempotency-Key")
        visit = Visit(at, request.method, request.path, request.query_string, *ids)
        self.visits.append(visit)
        await self._tell()
        try:
            response = await handler(request)
        except web.HTTPException as refusal:
            visit.status = refusal.status
            raise
        except (asyncio.CancelledError, ConnectionError):
            visit.left = True
            raise
        else:
            visit.status = response.status
            return response
        finally:
            await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _logs(self, request: web.Request) -> web.Response:
        limit = _number(request, "limit", LOG_LIMIT, MOST_LOG_LINES)
        return web.Response(text="\n".join(sick_state.log_lines(self.state, self._clock(), limit)) + "\n")

    async def _slow(self, _: web.Request) -> web.Response:
        await asyncio.sleep(self._slow_seconds)
        return web.Response(text=sick_state.traces_text(self.state))

    async def _configure(self, request: web.Request) -> web.Response:
        wanted = await request.json()
        size = wanted.get("pool_size") if isinstance(wanted, dict) else None
        if type(size) is not int or size < 1:
            raise web.HTTPBadRequest(text="pool_size: a whole number, 1 or more")
        self.state = replace(self.state, pool_size=size)
        return web.json_response(sick_state.config(self.state))

    async def _restart(self, request: web.Request) -> web.Response:
        service, key = request.query.get("service", ""), request.headers.get("Idempotency-Key")
        if service != SERVICE:
            raise web.HTTPNotFound(text=f"service: only {SERVICE} runs here")
        if key is not None and key in self._restarts:
            return web.json_response(self._restarts[key])
        self.state = sick_state.restarted(self.state)
        told = sick_state.restart_told(self.state, service)
        if key is not None:
            self._restarts[key] = told
        return web.json_response(told)


def _page(show: Callable[[], web.Response]) -> Handler:
    async def page(_: web.Request) -> web.StreamResponse:
        return show()

    return page


def _number(request: web.Request, name: str, default: int, most: int) -> int:
    text = request.query.get(name, str(default))
    if not text.isdecimal() or int(text) > most:
        raise web.HTTPBadRequest(text=f"{name}: a whole number, at most {most}")
    return int(text)


async def _big(request: web.Request) -> web.StreamResponse:
    left = _number(request, "bytes", BIG_BYTES, MOST_BYTES)
    response = web.StreamResponse(headers={"Content-Type": "text/plain", "Content-Length": str(left)})
    await response.prepare(request)
    while left > 0:
        await response.write(b"x" * min(left, BLOCK))
        left -= BLOCK
    return response


async def _redirect(request: web.Request) -> web.Response:
    raise web.HTTPFound(request.query.get("to", "/health"))
