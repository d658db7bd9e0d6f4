"""The local Slack in one piece: the store, the Web API, Socket Mode and the people's gestures, joined.

It works in process without HTTP; bot/playground/slack_server.py puts it on a loopback port. It judges the bot, so it
knows nothing of it.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

from bot.playground import delivery
from bot.playground.block_rules import BlockRules
from bot.playground.changes import Changes, Seen
from bot.playground.direct_socket import DirectSocket
from bot.playground.faults import Fault
from bot.playground.gestures import Gestures
from bot.playground.json_reading import JsonObject, text_at
from bot.playground.opening import Opening, Triggers
from bot.playground.posting import Posting
from bot.playground.reading import Reading
from bot.playground.responses import Responses
from bot.playground.slack_server import SlackServer
from bot.playground.socket_mode import Envelope, SocketMode
from bot.playground.stamps import Stamps
from bot.playground.web_api import Access, Answer, Call, Method, WebApi
from bot.playground.workspace import Ephemeral, Message, Session, Workspace

Facts = Callable[[], list[tuple[str, str]]]
INTERACTION_S = 3.0


@dataclass(frozen=True, slots=True)
class SlackOptions:
    """How strict and how fast the local Slack is; times in seconds, `limits` in calls a minute by method.

    `facts` gives lines for the page's sidebar, as (name, value). The clock counts seconds since the epoch.
    """

    bot_token: str = "xoxb-playground"  # noqa: S105 - no secret: it opens nothing but this playground
    app_token: str = "xapp-playground"  # noqa: S105
    host: str = "127.0.0.1"
    port: int = 0
    ack_timeout: float = 3.0
    retry_delays: tuple[float, ...] = (0.0, 60.0, 300.0)
    plan_supported: bool = True
    agent_view: bool = True
    mention_first: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)
    clock: Callable[[], float] = time.time
    facts: Facts | None = None


class LocalSlack:
    """A workspace with people in it, and everything that Slack puts between them and the bot."""

    def __init__(self, options: SlackOptions | None = None) -> None:
        self.options = options or SlackOptions()
        self.url = "http://127.0.0.1"
        self.changes = Changes()
        self.stamps = Stamps(self.options.clock)
        self.workspace = Workspace(self.stamps, self.changes.notify)
        self.socket_mode = SocketMode(self.stamps, self.changes, self.options.ack_timeout, self.options.retry_delays)
        self.responses = Responses(self.workspace, self.publish)
        self._triggers = Triggers(self.stamps)
        self._rules = BlockRules(plan_supported=self.options.plan_supported)
        self.opening = Opening(self.workspace, self._rules, self._triggers, lambda: self.url)
        self.opening.agent_view = self.options.agent_view
        access = Access(self.options.bot_token, self.options.app_token, self.options.limits)
        self.web_api = WebApi(self._methods(), access, self.stamps, self.changes)
        self._people = Gestures(self.workspace, self.publish, self._send, self._triggers, self.responses)
        self._people.mention_first = self.options.mention_first
        self._repeats = 0

    @classmethod
    @asynccontextmanager
    async def running(cls, options: SlackOptions | None = None) -> AsyncIterator[Self]:
        """A local Slack that listens on its port until the block is left; `url` says where."""
        slack = cls(options)
        server = SlackServer(slack)
        slack.url = await server.start()
        try:
            yield slack
        finally:
            await server.stop()
            await slack.aclose()

    async def aclose(self) -> None:
        """End every delivery."""
        await self.socket_mode.aclose()

    async def say(
        self, user: str, channel: str, text: str, thread_ts: str | None = None, broadcast: bool = False
    ) -> Message:
        """Write a message or a reply as a person or an app; `@Steersman` in it mentions the bot."""
        return self._people.say(user, channel, text, thread_ts, broadcast)

    async def edit(self, user: str, channel: str, ts: str, text: str) -> Message:
        """Change one's own message."""
        return self._people.edit(user, channel, ts, text)

    async def delete(self, user: str, channel: str, ts: str) -> None:
        """Delete one's own message."""
        self._people.delete(user, channel, ts)

    async def click(self, user: str, channel: str, ts: str, action_id: str, value: str | None = None) -> Envelope:
        """Press a button or choose an option; the envelope says whether the bot acknowledged it."""
        return self._people.click(user, channel, ts, action_id, value)

    async def native_stop(self, user: str, channel: str, thread_ts: str) -> Envelope:
        """Press Slack's own Stop in a thread."""
        return self._people.native_stop(user, channel, thread_ts)

    async def submit_view(self, user: str, view_id: str, values: JsonObject) -> Envelope:
        """Submit an open modal and close it, unless the bot answers with errors."""
        envelope = self._people.submit_view(user, view_id, values)
        if await envelope.acked(INTERACTION_S):
            self._people.settle_view(view_id, envelope.answer)
        return envelope

    async def close_view(self, view_id: str) -> None:
        """Close a modal."""
        self._people.close_view(view_id)

    async def call(self, method: str, arguments: JsonObject, token: str | None = None) -> Answer:
        """Call the Web API in process, as the bot where no token is named."""
        return await self.web_api.call(method, arguments, self.options.bot_token if token is None else token)

    async def connect(self, receive: Callable[[JsonObject], Awaitable[bool]]) -> DirectSocket:
        """Open a socket in process: `receive` gets each envelope and says whether it acknowledges it."""
        socket = DirectSocket(self.stamps.identifier("S"), receive, self.socket_mode)
        await self.socket_mode.admit(socket)
        return socket

    def publish(self, event: JsonObject) -> Envelope:
        """Send the bot an event, whatever it is; it gets an event id of its own."""
        return self._send("events_api", delivery.event_callback(self.workspace, event))

    def repeat_next(self, times: int = 1) -> None:
        """Deliver each of the next `times` events and clicks twice, an event with two ids."""
        self._repeats += times

    def repeat(self, envelope: Envelope) -> Envelope:
        """Deliver the same gesture once more: an event under a new id, a click as it was."""
        return self.publish(envelope.event) if envelope.event else self._offer(envelope.kind, envelope.payload)

    def fail(self, fault: Fault) -> None:
        """Order a fault for the next calls of a method."""
        self.web_api.faults.order(fault)

    def pause_delivery(self) -> None:
        """Hold every envelope from here on."""
        self.socket_mode.paused = True

    def resume_delivery(self) -> None:
        """Let the held envelopes go."""
        self.socket_mode.resume()

    async def refresh(self, socket_id: str | None = None) -> None:
        """Close one socket as Slack does every few hours."""
        await self.socket_mode.refresh(socket_id)

    async def wait_for(self, look: Callable[[], Seen], timeout: float = 5.0) -> Seen:  # noqa: ASYNC109
        """Return what `look` sees as soon as it is true; it looks again after each change."""
        return await self.changes.wait_for(look, timeout)

    def messages(self, channel: str) -> list[Message]:
        """Every message of a channel, replies too, oldest first."""
        place = self.workspace.channel(channel).id
        return sorted((found for found in self.workspace.messages.values() if found.channel == place), key=_ts)

    def thread(self, channel: str, thread_ts: str) -> list[Message]:
        """A thread, its root first."""
        return self.workspace.thread(self.workspace.channel(channel).id, thread_ts)

    def ephemerals(self, user: str) -> list[Ephemeral]:
        """What only this person saw, oldest first."""
        reader = self.workspace.user(user).id
        return [found for found in self.workspace.ephemerals if found.user == reader]

    def session(self, channel: str, thread_ts: str) -> Session | None:
        """What the bot last said about its session in a thread."""
        return self.workspace.sessions.get((self.workspace.channel(channel).id, thread_ts))

    def calls(self, method: str | None = None) -> list[Call]:
        """The log of the Web API, of one method or of all, oldest first."""
        return [call for call in self.web_api.log if method in (None, call.method)]

    def deliveries(self) -> list[Envelope]:
        """Every envelope that was ever made, oldest first."""
        return list(self.socket_mode.envelopes.values())

    def _send(self, kind: str, payload: JsonObject) -> Envelope:
        if kind == "interactive" and "response_url" in payload:
            payload = {**payload, "response_url": f"{self.url}/response/{text_at(payload, 'response_url')}"}
        envelope = self._offer(kind, payload)
        if self._repeats > 0:
            self._repeats -= 1
            again = delivery.event_callback(self.workspace, envelope.event) if envelope.event else payload
            self._offer(kind, again)
        return envelope

    def _offer(self, kind: str, payload: JsonObject) -> Envelope:
        return self.socket_mode.offer(kind, payload)

    def _methods(self) -> dict[str, Method]:
        posting = Posting(self.workspace, self._rules, self.publish, lambda: self.url)
        reading, opening = Reading(self.workspace), self.opening
        return {
            "auth.test": reading.auth_test,
            "users.info": reading.user,
            "usergroups.users.list": reading.group,
            "conversations.info": reading.channel,
            "conversations.replies": reading.replies,
            "chat.postMessage": posting.post_message,
            "chat.update": posting.update,
            "chat.postEphemeral": posting.post_ephemeral,
            "chat.getPermalink": posting.permalink,
            "views.open": opening.view,
            "agents.sessions.setStatus": opening.session_status,
            "apps.connections.open": opening.connection,
        }


def _ts(message: Message) -> str:
    return message.ts
