"""Serves the page, and keeps it true while it is open: whatever changes is sent to it part by part.

Everything it serves is in this package; its policy lets a browser load nothing from anywhere else.
"""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from aiohttp import web

from bot.playground.markup import Html, tag
from bot.playground.page import Page, Visit, channel_name

if TYPE_CHECKING:
    from bot.playground.local_slack import LocalSlack

HERE = Path(__file__).parent
TICK_S = 2.0
# A gesture makes several changes at once: they are gathered, so that they are painted once.
GATHER_S = 0.05
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


class LivePage:
    """The page of one local Slack."""

    def __init__(self, slack: "LocalSlack") -> None:
        self._slack = slack
        self._page = Page(slack.workspace, lambda: slack.url, slack.options.facts)
        self._frame = Template((HERE / "templates" / "page.html").read_text(encoding="utf-8"))

    def routes(self) -> list[web.AbstractRouteDef]:
        """Where the page and its files are."""
        return [
            web.get("/", self._show),
            web.get("/live", self._live),
            web.get("/archives/{channel}/{point}", self._permalink),
            web.static("/static", HERE / "static"),
        ]

    async def _show(self, request: web.Request) -> web.Response:
        visit = self._visit(request.query)
        words = {name.replace("-", "_"): part for name, part in self._page.parts(visit).items()}
        body = self._frame.substitute(
            words,
            channel=visit.channel.id,
            thread=visit.thread or "",
            user=visit.user.name,
            layout="with-thread" if visit.thread else "",
            placeholder=_attribute(f"Message {channel_name(visit.channel)} as {visit.user.name}"),
        )
        return web.Response(text=body, content_type="text/html", headers={"Content-Security-Policy": POLICY})

    async def _live(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: at first every part, then those that have changed."""
        visit = self._visit(request.query)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        try:
            await self._follow(visit, response)
        except ConnectionError:
            return response
        return response

    async def _follow(self, visit: Visit, response: web.StreamResponse) -> None:
        shown: Mapping[str, Html] = {}
        while True:
            count = self._slack.changes.count
            parts = self._page.parts(visit)
            fresh = {name: part for name, part in parts.items() if shown.get(name) != part}
            # A line that says nothing shows at last that nobody listens any more.
            await response.write(f"data: {json.dumps(fresh)}\n\n".encode() if fresh else b": nothing new\n\n")
            shown = parts
            await self._next_look(count)

    async def _next_look(self, count: int) -> None:
        try:
            async with asyncio.timeout(TICK_S):
                await self._slack.changes.after(count)
        except TimeoutError:
            return
        await asyncio.sleep(GATHER_S)

    async def _permalink(self, request: web.Request) -> web.Response:
        """From the address that chat.getPermalink gives to the page that shows the message."""
        channel, point = request.match_info["channel"], request.match_info["point"].removeprefix("p")
        ts = f"{point[:-6]}.{point[-6:]}"
        found = self._slack.workspace.messages.get((channel, ts))
        if found is None:
            raise web.HTTPNotFound(text="There is no such message here.")
        visit = self._visit({"as": request.query.get("as", ""), "channel": channel, "thread": found.root_ts})
        raise web.HTTPFound(f"{visit.address()}#thread-{ts}")

    def _visit(self, query: Mapping[str, str]) -> Visit:
        names = (query.get("as", ""), query.get("channel", ""), query.get("thread", ""))
        return Visit.of(self._slack.workspace, *names)


def _attribute(words: str) -> str:
    """Words inside an attribute of the frame."""
    return tag("i", title=words).removeprefix('<i title="').removesuffix('"></i>')
