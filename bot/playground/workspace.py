"""The store of the local Slack: channels, messages, ephemerals, sessions and views.

It keeps what it is told and refuses what does not exist. It sends nothing and knows nothing of HTTP.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from bot.errors import SlackError
from bot.playground.cast import CHANNELS, GROUPS, PEOPLE, USERS, Channel, User
from bot.playground.json_reading import JsonObject
from bot.playground.stamps import Stamps

Blocks = tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it stands now; `past_blocks` are the blocks it had before, which somebody may still see.

    `thread_ts` is None for a message that is no reply. `tombstone`: deleted, but kept because it has replies.
    """

    channel: str
    ts: str
    user: str
    text: str
    blocks: Blocks = ()
    thread_ts: str | None = None
    broadcast: bool = False
    client_msg_id: str | None = None
    metadata: JsonObject | None = None
    edited_by: str | None = None
    edited_ts: str | None = None
    past_blocks: tuple[Blocks, ...] = ()
    tombstone: bool = False

    @property
    def root_ts(self) -> str:
        """The ts of the thread that the message belongs to or would open."""
        return self.thread_ts or self.ts


@dataclass(frozen=True, slots=True)
class Ephemeral:
    """A message that only `user` sees."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: Blocks = ()
    thread_ts: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What the bot last said about its session in a thread; status is active, processing, suspended or closed."""

    channel: str
    thread_ts: str
    status: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A modal that the bot opened for a user."""

    id: str
    user: str
    view: JsonObject
    state: Literal["open", "submitted", "closed"] = "open"
    errors: JsonObject = field(default_factory=dict)


class Workspace:
    """Everything that the people and the bot have written."""

    def __init__(self, stamps: Stamps, changed: Callable[[], None]) -> None:
        self.stamps = stamps
        self.users = {user.id: user for user in USERS}
        self.channels = {channel.id: channel for channel in CHANNELS}
        self.groups = {group.id: group for group in GROUPS}
        self.messages: dict[tuple[str, str], Message] = {}
        self.ephemerals: list[Ephemeral] = []
        self.sessions: dict[tuple[str, str], Session] = {}
        self.views: dict[str, View] = {}
        self._changed = changed
        self._replies: dict[tuple[str, str], set[str]] = {}

    def user(self, name: str) -> User:
        """A person or app by id, name or bot id; SlackError user_not_found."""
        for user in self.users.values():
            if name in (user.id, user.bot_id) or name.lower() == user.name.lower():
                return user
        raise SlackError("users", "user_not_found")

    def channel(self, name: str, user: User | None = None) -> Channel:
        """A channel by id or name; `dm` is the user's own with the bot. SlackError channel_not_found."""
        for channel in self.channels.values():
            if name == channel.id or (not channel.direct and name.removeprefix("#") == channel.name):
                return channel
            if name == "dm" and user and channel.direct and user.id in channel.members:
                return channel
        raise SlackError("channels", "channel_not_found")

    def names(self) -> dict[str, str]:
        """The id of every user by lower-case name."""
        return {user.name.lower(): user.id for user in self.users.values()}

    def is_shared(self, channel: Channel) -> bool:
        """Whether somebody of another company is in a channel."""
        strangers = {person.id for person in PEOPLE if person.team != self.users["UBOT"].team}
        return bool(strangers & set(channel.members))

    def message(self, channel: str, ts: str) -> Message:
        """A message; SlackError message_not_found where there is none or only its tombstone."""
        found = self.messages.get((channel, ts))
        if found is None or found.tombstone:
            raise SlackError("messages", "message_not_found")
        return found

    def history(self, channel: str) -> list[Message]:
        """What a channel shows: everything that is no reply, and broadcast replies; oldest first."""
        shown = [found for found in self.messages.values() if found.channel == channel]
        return sorted((found for found in shown if not found.thread_ts or found.broadcast), key=lambda found: found.ts)

    def replies(self, channel: str, root_ts: str) -> list[Message]:
        """The replies of a thread, oldest first."""
        return [self.messages[channel, ts] for ts in sorted(self._replies.get((channel, root_ts), ()))]

    def thread(self, channel: str, root_ts: str) -> list[Message]:
        """A thread: its root (or the tombstone of it), then its replies; SlackError thread_not_found."""
        root = self.messages.get((channel, root_ts))
        if root is None or root.thread_ts:
            raise SlackError("threads", "thread_not_found")
        return [root, *self.replies(channel, root_ts)]

    def add(self, message: Message) -> Message:
        """Store a message or what it has become."""
        self.messages[message.channel, message.ts] = message
        if message.thread_ts:
            self._replies.setdefault((message.channel, message.thread_ts), set()).add(message.ts)
        self._changed()
        return message

    def remove(self, message: Message) -> Message | None:
        """Delete a message; a root with replies leaves a tombstone, which is returned."""
        del self.messages[message.channel, message.ts]
        self._replies.get((message.channel, message.root_ts), set()).discard(message.ts)
        self._changed()
        if not self.replies(message.channel, message.ts):
            return None
        tombstone = replace(message, text="This message was deleted.", user="USLACKBOT", blocks=(), tombstone=True)
        return self.add(replace(tombstone, metadata=None, client_msg_id=None))

    def whisper(self, ephemeral: Ephemeral) -> None:
        """Store a message that one user sees."""
        self.ephemerals.append(ephemeral)
        self._changed()

    def whispered(self, ts: str) -> Ephemeral:
        """An ephemeral by its time; SlackError message_not_found."""
        for ephemeral in self.ephemerals:
            if ephemeral.ts == ts:
                return ephemeral
        raise SlackError("ephemerals", "message_not_found")

    def drop_whisper(self, ts: str) -> None:
        """Take an ephemeral away; nothing happens where there is none."""
        self.ephemerals = [ephemeral for ephemeral in self.ephemerals if ephemeral.ts != ts]
        self._changed()

    def set_session(self, session: Session) -> None:
        """Store what the bot says about its session in a thread."""
        self.sessions[session.channel, session.thread_ts] = session
        self._changed()

    def set_view(self, view: View) -> View:
        """Store a modal or what has become of it."""
        self.views[view.id] = view
        self._changed()
        return view

    def open_view(self, user: str) -> View | None:
        """The modal that a user sees, the newest first."""
        mine = [view for view in self.views.values() if view.user == user and view.state == "open"]
        return mine[-1] if mine else None
