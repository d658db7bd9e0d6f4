"""Puts the local Slack on a loopback port: the Web API, the sockets, the page and the tests' own controls.

It refuses every other address, and every request that a web page of somewhere else makes a browser send.
"""

import ipaddress
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

from bot.errors import SettingsError, SlackError
from bot.playground.control_api import ControlApi
from bot.playground.json_reading import JsonObject, as_object
from bot.playground.live_page import LivePage
from bot.playground.web_api import Answer

if TYPE_CHECKING:
    from bot.playground.local_slack import LocalSlack

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
# What a form says in JSON inside a string.
JSON_ARGUMENTS = ("blocks", "metadata", "view", "attachments")


class WebSocket:
    """A connection of Socket Mode over HTTP."""

    def __init__(self, name: str, response: web.WebSocketResponse) -> None:
        self.id, self._response = name, response

    async def send(self, frame: JsonObject) -> None:
        """Send one frame; a connection that is gone swallows it."""
        try:
            await self._response.send_json(frame)
        except ConnectionError:
            return

    async def close(self) -> None:
        """Close the connection."""
        await self._response.close()


class SlackServer:
    """The HTTP side of one local Slack."""

    def __init__(self, slack: "LocalSlack") -> None:
        self._slack = slack
        self._host = loopback(slack.options.host)
        app = web.Application(middlewares=[_local_callers_only])
        app.add_routes([
            web.route("*", "/api/{method}", self._call),
            web.get("/link", self._link),
            web.post("/response/{key}", self._respond),
        ])  # fmt: skip
        app.add_routes(ControlApi(slack).routes())
        app.add_routes(LivePage(slack).routes())
        # A socket or a live page never ends by itself, so waiting for it would only delay the end.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)

    async def start(self) -> str:
        """Listen; returns the address, without a slash at its end."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._slack.options.port).start()
        host, port = self._runner.addresses[0][:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def stop(self) -> None:
        """Close the port and every connection."""
        await self._slack.socket_mode.aclose()
        await self._runner.cleanup()

    async def _call(self, request: web.Request) -> web.StreamResponse:
        arguments = await _arguments(request)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        token = token if scheme == "Bearer" else str(arguments.get("token") or "")
        answer = await self._slack.web_api.call(request.match_info["method"], arguments, token)
        if answer.dropped and request.transport:
            request.transport.abort()
        return _response(answer)

    async def _link(self, request: web.Request) -> web.StreamResponse:
        if not self._slack.opening.take_ticket(request.query.get("ticket", "")):
            raise web.HTTPForbidden
        response = web.WebSocketResponse()
        await response.prepare(request)
        socket = WebSocket(self._slack.stamps.identifier("S"), response)
        if not await self._slack.socket_mode.admit(socket):
            await response.close()
        try:
            async for message in response:
                if message.type is WSMsgType.TEXT:
                    self._slack.socket_mode.take_frame(as_object(_decoded(message.data)))
        finally:
            self._slack.socket_mode.leave(socket)
        return response

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        try:
            self._slack.responses.answer(request.match_info["key"], as_object(_decoded(await request.text())))
        except SlackError as refusal:
            return web.Response(status=404, text=refusal.error)
        return web.Response(text="ok")


def loopback(host: str) -> str:
    """The address to listen on; SettingsError where it could be reached from elsewhere."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        address = ipaddress.ip_address("0.0.0.0")  # noqa: S104 - stands for "no loopback address", and is refused
    if not address.is_loopback:
        raise SettingsError("playground host", f"{host} is no loopback address", "Use 127.0.0.1.")
    return str(address)


@web.middleware
async def _local_callers_only(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """A page of somewhere else can make a browser send requests here: its Origin, or the Host, gives it away."""
    host = request.headers.get("Host", "")
    origin = request.headers.get("Origin")
    if host.rpartition(":")[0] not in LOCAL_NAMES or origin not in (None, f"http://{host}"):
        raise web.HTTPForbidden(text="The playground answers to this machine only.")
    return await handler(request)


async def _arguments(request: web.Request) -> Mapping[str, object]:
    """The arguments of a call, from the query, a form or JSON."""
    if request.content_type == "application/json":
        return {**request.query, **as_object(_decoded(await request.text()))}
    form = {**request.query, **await request.post()}
    return {key: _decoded(str(value)) if key in JSON_ARGUMENTS else value for key, value in form.items()}


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _response(answer: Answer) -> web.Response:
    headers = {} if answer.retry_after is None else {"Retry-After": str(math.ceil(answer.retry_after))}
    return web.json_response(dict(answer.body), status=answer.status, headers=headers)
