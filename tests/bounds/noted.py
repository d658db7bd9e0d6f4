"""A bot whose door notes each request that it writes, and two tools that let go of nothing."""

import asyncio
import contextlib
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpcore

from bot.app.assembly import App
from bot.app.services import egress_rules
from bot.egress.client import EgressClient
from bot.rules.messages import ToolSchema
from bot.rules.terms import Grade
from bot.tools.gate import ToolGate
from bot.tools.http_get import HttpGet
from bot.tools.tool import CallLabel, ToolAnswer

REQUEST_ID = re.compile(rb"X-Request-Id: ([^\r\n]+)", re.IGNORECASE)


class Written(httpcore.AsyncNetworkStream):
    """A connection that notes when a request is written to it."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, notes: list[tuple[float, str]]) -> None:
        self._stream, self._notes = stream, notes

    async def read(self, max_bytes, timeout=None):  # noqa: ASYNC109 - the signature is httpcore's
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer, timeout=None):  # noqa: ASYNC109
        if found := REQUEST_ID.search(buffer):
            self._notes.append((asyncio.get_running_loop().time(), found[1].decode()))
        await self._stream.write(buffer, timeout)

    async def aclose(self):
        await self._stream.aclose()

    async def start_tls(self, ssl_context, server_hostname=None, timeout=None):  # noqa: ASYNC109
        return await self._stream.start_tls(ssl_context, server_hostname, timeout)

    def get_extra_info(self, info):
        return self._stream.get_extra_info(info)


class NotingNetwork(httpcore.AnyIOBackend):
    """The real network; `written` holds the time and the request id of each request that left through the door."""

    def __init__(self) -> None:
        self.written: list[tuple[float, str]] = []

    async def connect_tcp(self, *args, **kwargs):
        return Written(await super().connect_tcp(*args, **kwargs), self.written)


class Letting:
    """Lets the stuck tools go at last: threads and coroutines. The threads are of a pool of their own.

    In the loop's own few they would keep everything else waiting that needs one.
    """

    def __init__(self) -> None:
        self.threads, self.coroutines = threading.Event(), asyncio.Event()
        self.pool = ThreadPoolExecutor(250)

    def go(self) -> None:
        self.threads.set()
        self.coroutines.set()
        self.pool.shutdown(wait=False)


class Stuck:
    """A tool that goes on whatever is asked of it: a coroutine that swallows its cancellation, or a blocking thread."""

    def __init__(self, let_go: Letting, *, in_thread: bool) -> None:
        name = "stuck_thread" if in_thread else "stuck_coroutine"
        self.schema = ToolSchema(name, "Hangs.", {"type": "object", "properties": {}}, Grade.READ)
        self._let_go, self._in_thread = let_go, in_thread

    def label(self, arguments):
        return CallLabel("Hang", "nowhere")

    async def run(self, arguments, context):
        if self._in_thread:
            await asyncio.get_running_loop().run_in_executor(self._let_go.pool, self._let_go.threads.wait)
        while not self._let_go.coroutines.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self._let_go.coroutines.wait()
        return ToolAnswer("late")


class NotedApp(App):
    """The bot as it is built in service, but for what stands at the end of its gate."""

    network: NotingNetwork
    let_go: Letting

    def _gate(self, *_args):
        means = replace(self.egress, network=self.network)
        client = EgressClient(egress_rules(self.settings), means, record=self.attempts.note)
        tools = (HttpGet(client), Stuck(self.let_go, in_thread=True), Stuck(self.let_go, in_thread=False))
        return ToolGate({each.schema.name: each for each in tools}, self.database, self.scrubber)
