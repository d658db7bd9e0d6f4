"""The methods that only read: auth.test, users.info, usergroups.users.list, conversations.*."""

from bot.errors import SlackError
from bot.playground.cast import STEERSMAN, TEAM, Channel
from bot.playground.json_reading import JsonObject, flag_at, text_at
from bot.playground.wire import channel_json, message_json, user_json
from bot.playground.workspace import Message, Workspace

MOST_REPLIES = 1_000


class Reading:
    """What the bot may ask."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def auth_test(self, _arguments: JsonObject) -> dict[str, object]:
        """auth.test."""
        return {
            "url": "https://playground.invalid/", "team": "Playground", "team_id": TEAM, "user": "steersman",
            "user_id": STEERSMAN.id, "bot_id": STEERSMAN.bot_id, "app_id": STEERSMAN.app_id,
            "is_enterprise_install": False,
        }  # fmt: skip

    def user(self, arguments: JsonObject) -> dict[str, object]:
        """users.info."""
        found = self._workspace.users.get(text_at(arguments, "user"))
        if found is None:
            raise SlackError("users.info", "user_not_found")
        return {"user": user_json(found)}

    def group(self, arguments: JsonObject) -> dict[str, object]:
        """usergroups.users.list."""
        found = self._workspace.groups.get(text_at(arguments, "usergroup"))
        if found is None:
            raise SlackError("usergroups.users.list", "no_such_subteam")
        return {"users": list(found.members)}

    def channel(self, arguments: JsonObject) -> dict[str, object]:
        """conversations.info."""
        return {"channel": channel_json(self._workspace, self._channel(arguments))}

    def replies(self, arguments: JsonObject) -> dict[str, object]:
        """conversations.replies: the root first, then the replies, oldest first, a page at a time."""
        channel = self._channel(arguments)
        thread = self._thread(channel, text_at(arguments, "ts"))
        wanted = [thread[0], *(found for found in thread[1:] if _within(found, arguments))]
        start = int(text_at(arguments, "cursor").removeprefix("from:") or 0)
        stop = start + _number(arguments, "limit", MOST_REPLIES)
        full = flag_at(arguments, "include_all_metadata")
        shown = [message_json(self._workspace, found, metadata=full) for found in wanted[start:stop]]
        more = stop < len(wanted)
        cursor = {"response_metadata": {"next_cursor": f"from:{stop}"}} if more else {}
        return {"messages": shown, "has_more": more, **cursor}

    def _channel(self, arguments: JsonObject) -> Channel:
        found = self._workspace.channels.get(text_at(arguments, "channel"))
        if found is None:
            raise SlackError("conversations", "channel_not_found")
        return found

    def _thread(self, channel: Channel, ts: str) -> list[Message]:
        """Asked with the time of a reply, Slack answers with that reply alone."""
        found = self._workspace.messages.get((channel.id, ts))
        return [found] if found and found.thread_ts else self._workspace.thread(channel.id, ts)


def _within(message: Message, arguments: JsonObject) -> bool:
    """Compared as numbers: a caller may leave out zeros."""
    at, inclusive = float(message.ts), flag_at(arguments, "inclusive")
    oldest, latest = _time(arguments, "oldest", 0.0), _time(arguments, "latest", float("inf"))
    return oldest < at < latest or (inclusive and at in (oldest, latest))


def _time(arguments: JsonObject, key: str, default: float) -> float:
    found = arguments.get(key)
    try:
        return default if found in (None, "") else float(str(found))
    except ValueError:
        raise SlackError("conversations.replies", f"invalid_ts_{key}") from None


def _number(arguments: JsonObject, key: str, default: int) -> int:
    found = str(arguments.get(key) or default)
    if not found.isdecimal() or not 0 < int(found) <= MOST_REPLIES:
        raise SlackError("conversations.replies", "invalid_limit")
    return int(found)
