"""What the people of the playground do: say, edit, delete, click, stop, submit.

Each gesture changes the store as Slack would and sends the bot what Slack would send. SlackError says why one of them
is not possible.
"""

from collections.abc import Callable
from dataclasses import replace

from bot.errors import SlackError
from bot.playground import clicks, delivery
from bot.playground.cast import Channel, Standing, User
from bot.playground.json_reading import JsonObject, object_at, text_at
from bot.playground.opening import Triggers
from bot.playground.responses import Responses
from bot.playground.socket_mode import Envelope
from bot.playground.texts import posted_text, rich_text, typed_text
from bot.playground.wire import ephemeral_json, message_json
from bot.playground.workspace import Ephemeral, Message, Workspace

LONGEST_TYPED = 12_000


class Gestures:
    """The hands of the people. `send` takes a kind and a payload, `publish` an event."""

    def __init__(
        self,
        workspace: Workspace,
        publish: Callable[[JsonObject], Envelope],
        send: Callable[[str, JsonObject], Envelope],
        triggers: Triggers,
        responses: Responses,
    ) -> None:
        self._workspace, self._publish, self._send = workspace, publish, send
        self._triggers, self._responses = triggers, responses
        self.mention_first = False

    def say(self, user: str, channel: str, text: str, thread_ts: str | None = None, broadcast: bool = False) -> Message:
        """Write a message, or a reply; an app's text is taken as it is, a person's as typed."""
        author, place = self._author_in(user, channel)
        if not 0 < len(text) <= LONGEST_TYPED:
            raise SlackError("say", "msg_too_long" if text else "no_text")
        root = self._workspace.thread(place.id, thread_ts)[0].ts if thread_ts else None
        message = self._written(author, Message(place.id, self._workspace.stamps.ts(), author.id, text, (), root))
        self._workspace.add(replace(message, broadcast=broadcast and root is not None))
        events = delivery.said(self._workspace, self._workspace.message(place.id, message.ts))
        for event in reversed(events) if self.mention_first else events:
            self._publish(event)
        return self._workspace.message(place.id, message.ts)

    def edit(self, user: str, channel: str, ts: str, text: str) -> Message:
        """Change one's own message."""
        author, before = self._own(user, channel, ts)
        if not text:
            raise SlackError("edit", "no_text")
        after = self._written(author, replace(before, text=text, blocks=()))
        after = replace(after, edited_by=author.id, edited_ts=self._workspace.stamps.ts())
        self._workspace.add(after)
        self._publish(delivery.changed(self._workspace, before, after))
        return after

    def delete(self, user: str, channel: str, ts: str) -> None:
        """Delete one's own message; a root with replies leaves a tombstone, and is told as a change."""
        _author, before = self._own(user, channel, ts)
        tombstone = self._workspace.remove(before)
        workspace = self._workspace
        left = delivery.changed(workspace, before, tombstone) if tombstone else delivery.deleted(workspace, before)
        self._publish(left)

    def click(self, user: str, channel: str, ts: str, action_id: str, value: str | None = None) -> Envelope:
        """Press a button, or choose the option of a menu that has the value."""
        author, place = self._author_in(user, channel)
        message = self._seen_by(author, place, ts)
        past = message.past_blocks if isinstance(message, Message) else ()
        press = clicks.find_press((message.blocks, *reversed(past)), action_id, value)
        pressed = clicks.Pressed(author, place, self._shown(message), isinstance(message, Ephemeral))
        action = press.to_json(self._workspace.stamps.ts())
        response = self._responses.give(author.id, message)
        return self._send(
            "interactive", clicks.block_actions(pressed, action, self._triggers.give(author.id), response)
        )

    def native_stop(self, user: str, channel: str, thread_ts: str) -> Envelope:
        """Press Slack's own Stop, which is there while the session of the thread is processing."""
        author, place = self._author_in(user, channel)
        session = self._workspace.sessions.get((place.id, thread_ts))
        if session is None or session.status != "processing":
            raise SlackError("native_stop", "not_processing")
        return self._publish(delivery.session_stopped(self._workspace, place.id, thread_ts, author.id))

    def submit_view(self, user: str, view_id: str, values: JsonObject) -> Envelope:
        """Submit an open modal; `values` is block id -> action id -> {type, value}."""
        author = self._workspace.user(user)
        view = self._workspace.views.get(view_id)
        if view is None or view.state != "open" or view.user != author.id:
            raise SlackError("submit_view", "not_found")
        return self._send("interactive", clicks.view_submission(author, view.id, view.view, values))

    def settle_view(self, view_id: str, answer: JsonObject) -> None:
        """Close a submitted modal, or keep it open with the errors that the bot answered."""
        view = self._workspace.views[view_id]
        if text_at(answer, "response_action") == "errors":
            self._workspace.set_view(replace(view, errors=object_at(answer, "errors")))
        else:
            self._workspace.set_view(replace(view, state="submitted"))

    def close_view(self, view_id: str) -> None:
        """Close a modal without submitting it."""
        if view_id not in self._workspace.views:
            raise SlackError("close_view", "not_found")
        self._workspace.set_view(replace(self._workspace.views[view_id], state="closed"))

    def _author_in(self, user: str, channel: str) -> tuple[User, Channel]:
        author = self._workspace.user(user)
        place = self._workspace.channel(channel, author)
        if author.id not in place.members:
            raise SlackError("gesture", "not_in_channel")
        return author, place

    def _own(self, user: str, channel: str, ts: str) -> tuple[User, Message]:
        author, place = self._author_in(user, channel)
        message = self._workspace.message(place.id, ts)
        if message.user != author.id:
            raise SlackError("gesture", "cant_update_message")
        return author, message

    def _written(self, author: User, message: Message) -> Message:
        if author.standing is Standing.APP:
            return replace(message, text=posted_text(message.text))
        text = typed_text(message.text, self._workspace.names())
        blocks = (rich_text(text, self._workspace.stamps.identifier("b")),)
        msg_id = message.client_msg_id or self._workspace.stamps.unique()
        return replace(message, text=text, blocks=blocks, client_msg_id=msg_id)

    def _seen_by(self, user: User, channel: Channel, ts: str) -> Message | Ephemeral:
        found = self._workspace.messages.get((channel.id, ts))
        if found and not found.tombstone:
            return found
        ephemeral = self._workspace.whispered(ts)
        if ephemeral.user != user.id:
            raise SlackError("click", "message_not_found")
        return ephemeral

    def _shown(self, message: Message | Ephemeral) -> JsonObject:
        return ephemeral_json(message) if isinstance(message, Ephemeral) else message_json(self._workspace, message)
