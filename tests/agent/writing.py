"""A tool that changes something: each call is a POST to a server that counts, and keeps what it was sent."""

import asyncio
import contextlib

import httpx
from aiohttp import web

from bot.errors import ToolArgumentsError, ToolTimeoutError
from bot.llm.script import Call, Round
from bot.llm.scripted import Gates
from bot.rules.messages import ToolSchema
from bot.rules.terms import Grade
from bot.rules.tool_policy import ApprovalTerms
from bot.tools.tool import CallLabel, ToolAnswer

BOSS, CHIEF = "boss", "chief"
TERMS = ApprovalTerms((BOSS, CHIEF))


class Target:
    """What writes go to. A path that begins with /gate/ waits at the gate of that name before it answers."""

    def __init__(self) -> None:
        self.url = ""
        self.received: list[str] = []
        self.keys: list[str] = []
        self.gates = Gates()

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls):
        """Run on a free port of this machine."""
        target = cls()
        app = web.Application()
        app.router.add_post("/{path:.*}", target._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            target.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield target
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.received.append(request.path.removeprefix("/"))
        self.keys.append(request.headers.get("Idempotency-Key", ""))
        if request.path.startswith("/gate/"):
            await self.gates.arrive(request.path.removeprefix("/gate/"))
        return web.Response(text="restarted")


class Writing:
    """The tool `restart`: it POSTs to the service that it is told."""

    def __init__(self, target: Target, terms: ApprovalTerms = TERMS, deadline_s: float = 20.0) -> None:
        parameters = {"type": "object", "properties": {"service": {"type": "string"}}}
        self.schema = ToolSchema("restart", "Restart a service.", parameters, Grade.WRITE)
        self.approval, self.target = terms, f"POST {target.url}"
        self._server, self._deadline_s = target, deadline_s

    def label(self, arguments):
        return CallLabel(f"Restart {arguments.get('service')}", "site")

    def shown(self, arguments):
        service = arguments.get("service")
        if not isinstance(service, str):
            raise ToolArgumentsError("service is missing")
        more = "".join(f"\n{name}: {value}" for name, value in arguments.items() if name != "service")
        return f"POST {self._server.url}/{service}{more}"

    async def run(self, arguments, context):
        headers = {"Idempotency-Key": context.request_id}
        try:
            async with (
                asyncio.timeout(self._deadline_s),
                httpx.AsyncClient(trust_env=False, verify=False, timeout=None) as client,
            ):
                answer = await client.post(f"{self._server.url}/{arguments['service']}", headers=headers)
        except TimeoutError:
            raise ToolTimeoutError("no answer in time") from None
        return ToolAnswer(answer.text, url=str(answer.url), method="POST", status=answer.status_code)


def restarts(*services: str, say: str = "I restart.", also: tuple[Call, ...] = ()) -> Round:
    """A round that asks for writes, once for each, after the calls of `also`."""
    return Round(say=say, calls=(*also, *(Call("restart", {"service": each}) for each in services)))
