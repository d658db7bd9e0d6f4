"""Which events a gesture makes, and how each is wrapped.

A mention makes two events of one message, a post of the bot comes back to it, an edit tells before and after.
It makes the JSON; sending and repeating it is for bot/playground/socket_mode.py.
"""

from bot.playground.cast import STEERSMAN, TEAM, Standing
from bot.playground.json_reading import JsonObject, text_at
from bot.playground.texts import mentions
from bot.playground.wire import message_json
from bot.playground.workspace import Message, Workspace

CONTENT = ("client_msg_id", "user", "text", "ts", "team", "blocks", "bot_id", "app_id", "bot_profile", "metadata")


def said(workspace: Workspace, message: Message) -> list[JsonObject]:
    """The events of a new message: `message`, and `app_mention` as well where it mentions the bot in a channel."""
    channel = workspace.channels[message.channel]
    event = message_json(workspace, message) | _where(workspace, message, message.ts)
    event |= _sender(workspace, message)
    if message.broadcast and message.thread_ts:
        root = workspace.messages.get((message.channel, message.thread_ts))
        event |= {"root": message_json(workspace, root)} if root else {}
    mentioned = STEERSMAN.id in mentions(message.text) and message.user != STEERSMAN.id
    if channel.direct or not mentioned:
        return [event]
    kept = {key: event[key] for key in (*CONTENT, "thread_ts", "parent_user_id", "channel", "event_ts") if key in event}
    return [event, {**kept, "type": "app_mention"}]


def changed(workspace: Workspace, before: Message, after: Message) -> JsonObject:
    """The event of an edit, of an update by the bot, and of a deletion that leaves a tombstone."""
    ts = workspace.stamps.ts()
    return {
        "type": "message", "subtype": "message_changed", "hidden": True, "ts": ts,
        "message": message_json(workspace, after) | _sender(workspace, after),
        "previous_message": message_json(workspace, before),
        **_where(workspace, after, ts),
    }  # fmt: skip


def deleted(workspace: Workspace, before: Message) -> JsonObject:
    """The event of a deletion that leaves nothing."""
    ts = workspace.stamps.ts()
    return {
        "type": "message", "subtype": "message_deleted", "hidden": True, "ts": ts, "deleted_ts": before.ts,
        "previous_message": message_json(workspace, before), **_where(workspace, before, ts),
    }  # fmt: skip


def session_stopped(workspace: Workspace, channel: str, thread_ts: str, user: str) -> JsonObject:
    """The event of Slack's own Stop button."""
    return {
        "type": "agent_session_stopped", "channel": channel, "thread_ts": thread_ts, "user": user,
        "streaming_message_ts": [], "event_ts": workspace.stamps.ts(),
    }  # fmt: skip


def event_callback(workspace: Workspace, event: JsonObject) -> dict[str, object]:
    """The outer payload of an event, with an event id of its own."""
    channel = workspace.channels.get(text_at(event, "channel"))
    return {
        "token": "playground", "team_id": TEAM, "context_team_id": TEAM, "context_enterprise_id": None,
        "api_app_id": STEERSMAN.app_id, "event": event, "type": "event_callback",
        "event_id": workspace.stamps.identifier("Ev"), "event_time": int(workspace.stamps.now()),
        "authorizations": [{
            "enterprise_id": None, "team_id": TEAM, "user_id": STEERSMAN.id, "is_bot": True,
            "is_enterprise_install": False,
        }],
        "is_ext_shared_channel": bool(channel and workspace.is_shared(channel)),
        "event_context": workspace.stamps.identifier("4-"),
    }  # fmt: skip


def _where(workspace: Workspace, message: Message, event_ts: str) -> dict[str, object]:
    channel = workspace.channels[message.channel]
    return {"channel": channel.id, "channel_type": channel.kind, "event_ts": event_ts}


def _sender(workspace: Workspace, message: Message) -> dict[str, object]:
    """Slack Connect names the sender's own company in three keys."""
    user = workspace.users.get(message.user)
    if user is None or user.standing is not Standing.EXTERNAL:
        return {}
    return {"team": user.team, "user_team": user.team, "source_team": user.team}
