"""The tests' own controls over HTTP, under /_playground: the people's gestures, faults on order, and what has happened.

Every POST takes a JSON object; a gesture that is not possible is answered 400 with Slack's word for it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from aiohttp import web

from bot.errors import SlackError
from bot.playground.faults import Fault
from bot.playground.json_reading import JsonObject, as_object, flag_at, object_at, text_at
from bot.playground.wire import ephemeral_json, message_json, session_json

if TYPE_CHECKING:
    from bot.playground.local_slack import LocalSlack
    from bot.playground.socket_mode import Envelope

Control = Callable[[JsonObject], Awaitable[JsonObject]]
LONGEST_WAIT_S = 60.0


class ControlApi:
    """The controls of one local Slack."""

    def __init__(self, slack: "LocalSlack") -> None:
        self._slack = slack

    def routes(self) -> list[web.RouteDef]:
        """Where each control is."""
        orders: dict[str, Control] = {
            "say": self._say, "edit": self._edit, "delete": self._delete, "click": self._click,
            "native_stop": self._native_stop, "submit_view": self._submit_view, "close_view": self._close_view,
            "fail": self._fail, "pause": self._pause, "resume": self._resume, "release": self._release,
            "repeat": self._repeat, "repeat_next": self._repeat_next, "refresh": self._refresh, "event": self._event,
        }  # fmt: skip
        posts = [web.post(f"/_playground/{name}", _answering(control)) for name, control in orders.items()]
        return [*posts, web.get("/_playground/state", self._state), web.get("/_playground/wait", self._wait)]

    async def _say(self, body: JsonObject) -> JsonObject:
        message = await self._slack.say(
            text_at(body, "user"), text_at(body, "channel"), text_at(body, "text"),
            text_at(body, "thread_ts") or None, flag_at(body, "broadcast"),
        )  # fmt: skip
        return {"channel": message.channel, "ts": message.ts}

    async def _edit(self, body: JsonObject) -> JsonObject:
        await self._slack.edit(*_texts(body, "user", "channel", "ts", "text"))
        return {}

    async def _delete(self, body: JsonObject) -> JsonObject:
        await self._slack.delete(*_texts(body, "user", "channel", "ts"))
        return {}

    async def _click(self, body: JsonObject) -> JsonObject:
        value = text_at(body, "value") if "value" in body else None
        user, channel, ts, action_id = _texts(body, "user", "channel", "ts", "action_id")
        envelope = await self._slack.click(user, channel, ts, action_id, value)
        return {"envelope_id": envelope.id, "acked": await envelope.acked(self._slack.options.ack_timeout)}

    async def _native_stop(self, body: JsonObject) -> JsonObject:
        envelope = await self._slack.native_stop(*_texts(body, "user", "channel", "thread_ts"))
        return {"envelope_id": envelope.id}

    async def _submit_view(self, body: JsonObject) -> JsonObject:
        user, view_id = _texts(body, "user", "view_id")
        envelope = await self._slack.submit_view(user, view_id, object_at(body, "values"))
        return {"envelope_id": envelope.id, "acked": envelope.acked_at is not None}

    async def _close_view(self, body: JsonObject) -> JsonObject:
        await self._slack.close_view(text_at(body, "view_id"))
        return {}

    async def _fail(self, body: JsonObject) -> JsonObject:
        self._slack.fail(Fault.from_json(body))
        return {}

    async def _pause(self, _body: JsonObject) -> JsonObject:
        self._slack.pause_delivery()
        return {}

    async def _resume(self, _body: JsonObject) -> JsonObject:
        self._slack.resume_delivery()
        return {}

    async def _release(self, body: JsonObject) -> JsonObject:
        self._slack.socket_mode.release(self._envelope(body).id)
        return {}

    async def _repeat(self, body: JsonObject) -> JsonObject:
        return {"envelope_id": self._slack.repeat(self._envelope(body)).id}

    async def _repeat_next(self, body: JsonObject) -> JsonObject:
        times = body.get("times", 1)
        self._slack.repeat_next(times if isinstance(times, int) else 1)
        return {}

    async def _refresh(self, body: JsonObject) -> JsonObject:
        await self._slack.refresh(text_at(body, "socket") or None)
        return {}

    async def _event(self, body: JsonObject) -> JsonObject:
        return {"envelope_id": self._slack.publish(object_at(body, "event")).id}

    async def _state(self, _request: web.Request) -> web.Response:
        """Everything that is stored, and everything that went over the wire."""
        slack, workspace = self._slack, self._slack.workspace
        messages = [
            {**message_json(workspace, found), "channel": found.channel}
            for found in sorted(workspace.messages.values(), key=lambda found: found.ts)
        ]
        views = [{"id": view.id, "user": view.user, "state": view.state, "view": view.view}
                 for view in workspace.views.values()]  # fmt: skip
        return web.json_response({
            "changes": slack.changes.count, "messages": messages, "views": views,
            "ephemerals": [ephemeral_json(found) for found in workspace.ephemerals],
            "sessions": [session_json(found) for found in workspace.sessions.values()],
            "calls": [call.to_json() for call in slack.calls()],
            "deliveries": [envelope.to_json() for envelope in slack.deliveries()],
            "sockets": [socket.id for socket in slack.socket_mode.sockets],
        })  # fmt: skip

    async def _wait(self, request: web.Request) -> web.Response:
        """Answer as soon as there have been more than `after` changes, or after `timeout` seconds."""
        after = int(request.query.get("after", self._slack.changes.count))
        try:
            async with asyncio.timeout(min(float(request.query.get("timeout", LONGEST_WAIT_S)), LONGEST_WAIT_S)):
                await self._slack.changes.after(after)
        except TimeoutError:
            pass
        return web.json_response({"changes": self._slack.changes.count})

    def _envelope(self, body: JsonObject) -> "Envelope":
        envelope = self._slack.socket_mode.envelopes.get(text_at(body, "envelope_id"))
        if envelope is None:
            raise SlackError("deliveries", "envelope_not_found")
        return envelope


def _texts(body: JsonObject, *keys: str) -> list[str]:
    return [text_at(body, key) for key in keys]


def _answering(control: Control) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        try:
            done = await control(as_object(await request.json()))
        except SlackError as refusal:
            return web.json_response({"ok": False, "error": refusal.error}, status=400)
        except ValueError:
            return web.json_response({"ok": False, "error": "invalid_json"}, status=400)
        return web.json_response({"ok": True, **done})

    return answer
