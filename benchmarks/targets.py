"""What the calls of the benchmarks read: a server that answers at once or after a while, and notes every arrival.

/now/NAME          answers at once
/after/MS/NAME     answers after so many milliseconds
/again/MS/NAME     answers 503 the first time, and then as /after does
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

BODY = "p95 of checkout is 2.4 s\n" * 40


class Targets:
    """A running server; `arrived` holds each request's path and when it came, on the event loop's clock."""

    def __init__(self) -> None:
        self.url = ""
        self.arrived: list[tuple[str, float]] = []

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator["Targets"]:
        """Run on a free port of this machine."""
        targets = cls()
        app = web.Application()
        app.router.add_get("/now/{name}", targets._now)
        app.router.add_get("/after/{ms}/{name}", targets._after)
        app.router.add_get("/again/{ms}/{name}", targets._again)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            targets.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield targets
        finally:
            await runner.cleanup()

    async def _now(self, request: web.Request) -> web.Response:
        self._note(request)
        return web.Response(text=BODY)

    async def _after(self, request: web.Request) -> web.Response:
        self._note(request)
        await asyncio.sleep(int(request.match_info["ms"]) / 1000)
        return web.Response(text=BODY)

    async def _again(self, request: web.Request) -> web.Response:
        is_first = all(path != request.path for path, _ in self.arrived)
        if is_first:
            self._note(request)
            return web.Response(status=503)
        return await self._after(request)

    def _note(self, request: web.Request) -> None:
        self.arrived.append((request.path, asyncio.get_running_loop().time()))
