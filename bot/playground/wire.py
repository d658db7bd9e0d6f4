"""The store's rows as the JSON that Slack sends.

Pure: it shows what is stored and decides nothing. Shapes: Slack's reference of message, user and conversation objects.
"""

from bot.playground.cast import TEAM, Channel, Standing, User
from bot.playground.workspace import Ephemeral, Message, Session, Workspace


def message_json(workspace: Workspace, message: Message, *, metadata: bool = True) -> dict[str, object]:
    """A message; without `metadata` only the type of its metadata is told, as conversations.replies does."""
    shown: dict[str, object] = {"type": "message", "user": message.user, "ts": message.ts, "text": message.text}
    shown |= _author(workspace.users.get(message.user))
    if message.blocks:
        shown["blocks"] = list(message.blocks)
    if message.client_msg_id:
        shown["client_msg_id"] = message.client_msg_id
    if message.metadata:
        shown["metadata"] = message.metadata if metadata else {"event_type": message.metadata.get("event_type")}
    if message.edited_ts:
        shown["edited"] = {"user": message.edited_by, "ts": message.edited_ts}
    return shown | _place(workspace, message)


def user_json(user: User) -> dict[str, object]:
    """A user as users.info tells it."""
    profile: dict[str, object] = {"display_name": user.name, "real_name": user.name, "team": user.team}
    if user.app_id:
        profile |= {"api_app_id": user.app_id, "bot_id": user.bot_id}
    return {
        "id": user.id, "team_id": user.team, "name": user.name.lower(), "real_name": user.name, "deleted": False,
        "tz": "Etc/UTC", "tz_offset": 0, "profile": profile, "is_admin": False, "is_owner": False,
        "is_bot": user.standing is Standing.APP, "is_app_user": False,
        "is_restricted": user.standing is Standing.GUEST, "is_ultra_restricted": False,
        **({"is_stranger": True} if user.standing is Standing.EXTERNAL else {}),
    }  # fmt: skip


def channel_json(workspace: Workspace, channel: Channel) -> dict[str, object]:
    """A conversation as conversations.info tells it."""
    shared = workspace.is_shared(channel)
    if channel.direct:
        return {"id": channel.id, "is_im": True, "user": channel.members[0], "is_ext_shared": shared, "created": 0}
    return {
        "id": channel.id, "name": channel.name, "is_channel": True, "is_im": False, "is_private": False,
        "is_archived": False, "is_member": True, "is_ext_shared": shared, "is_shared": shared, "created": 0,
        "context_team_id": TEAM,
    }  # fmt: skip


def ephemeral_json(ephemeral: Ephemeral) -> dict[str, object]:
    """An ephemeral, for the tests: Slack itself never tells it."""
    return {
        "channel": ephemeral.channel, "ts": ephemeral.ts, "user": ephemeral.user, "text": ephemeral.text,
        "blocks": list(ephemeral.blocks), "thread_ts": ephemeral.thread_ts,
    }  # fmt: skip


def session_json(session: Session) -> dict[str, object]:
    """A session, for the tests."""
    return {
        "channel": session.channel, "thread_ts": session.thread_ts, "status": session.status, "title": session.title
    }  # fmt: skip


def bot_profile(app: User) -> dict[str, object]:
    """What a message says about the app that posted it."""
    return {"id": app.bot_id, "app_id": app.app_id, "name": app.name, "team_id": app.team, "deleted": False}


def _author(user: User | None) -> dict[str, object]:
    if user is None:
        return {}
    if user.standing is Standing.APP:
        return {"team": user.team, "bot_id": user.bot_id, "app_id": user.app_id, "bot_profile": bot_profile(user)}
    return {"team": user.team}


def _place(workspace: Workspace, message: Message) -> dict[str, object]:
    if message.thread_ts:
        root = workspace.messages.get((message.channel, message.thread_ts))
        subtype = {"subtype": "thread_broadcast"} if message.broadcast else {}
        return {"thread_ts": message.thread_ts, "parent_user_id": root.user if root else "USLACKBOT", **subtype}
    replies = workspace.replies(message.channel, message.ts)
    if not replies:
        return {}
    summary: dict[str, object] = {
        "thread_ts": message.ts, "reply_count": len(replies), "latest_reply": replies[-1].ts,
        "reply_users": sorted({reply.user for reply in replies}),
    }  # fmt: skip
    return {**summary, **({"subtype": "tombstone", "hidden": True} if message.tombstone else {})}
