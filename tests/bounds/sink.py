"""What the runs of the seeded stops read: a server that is quick, busy or never answers, and an address that hangs."""

import asyncio
import contextlib
import socket
from dataclasses import dataclass

from aiohttp import web


@dataclass(frozen=True)
class Arrival:
    """A request as the server saw it; the time is the event loop's."""

    at: float
    request_id: str


class Sink:
    """A server on this machine: /quick answers, /busy is overloaded, /never waits until its client leaves."""

    def __init__(self) -> None:
        self.url = ""
        self.arrivals: list[Arrival] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls):
        """Run on a free port."""
        sink, app = cls(), web.Application()
        app.router.add_get("/{kind}", sink._answer)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            sink.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield sink
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        now = asyncio.get_running_loop().time()
        self.arrivals.append(Arrival(now, request.headers.get("X-Request-Id", "")))
        if request.match_info["kind"] == "never":
            await asyncio.Event().wait()
        return web.Response(status=503 if request.match_info["kind"] == "busy" else 200, text="fine")


@contextlib.contextmanager
def jammed():
    """An address of this machine that takes no connection and refuses none: its queue is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        host, port = listener.getsockname()
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex((host, port))
        yield f"http://{host}:{port}"
