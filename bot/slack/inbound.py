"""Slack's payloads, read into what the rules and the storage understand.

Pure, and it never raises: whatever JSON comes in, something of bot.rules.inbound_message comes out. It reads and never
decides; in particular it drops no message because of who wrote it, so that the policy can say which row refused it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bot.rules.inbound_message import (
    AuthorFacts,
    Deletion,
    Edit,
    Inbound,
    Message,
    NativeStop,
    Nothing,
    OurIds,
    OwnEcho,
    Press,
    is_ts,
    message_key,
)
from bot.rules.terms import PersonClass
from bot.slack.wording import Json, as_object, as_objects, as_text, file_names, mentions, words_of

_NOBODY: Mapping[str, str] = MappingProxyType({})
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_KEY = re.compile(r"[A-Za-z0-9_.:/+=-]{1,255}")
_VALUE = re.compile(r"(?:(?P<choice>[a-z]{1,20}):)?v1:(?P<run>[A-Za-z0-9_-]{1,64})(?::(?P<ref>[A-Za-z0-9_.+-]{1,64}))?")
_LINK = re.compile(r"https?://[!-~]{1,2000}")
_KIND_BY_LETTER: Mapping[str, str] = MappingProxyType({"D": "im", "G": "group"})
_SPOKEN = frozenset({"bot_message", "file_share", "me_message", "reply_broadcast", "thread_broadcast"})
"""The subtypes that somebody wrote; every other one is Slack's own doing."""


@dataclass(frozen=True, slots=True)
class _Delivery:
    """One event_callback, taken apart."""

    event: Json
    event_id: str | None
    team_id: str
    is_ext_shared: bool
    our: OurIds
    names: Mapping[str, str]

    def nothing(self, why: str) -> Nothing:
        return Nothing(why, self.key)

    @property
    def key(self) -> str | None:
        return f"ev:{self.event_id}" if self.event_id else None

    @property
    def channel_type(self) -> str:
        """An app_mention does not say it; the first letter of the channel does."""
        kind = _id(self.event.get("channel_type"))
        return kind or _KIND_BY_LETTER.get(as_text(self.event.get("channel"))[:1], "channel")


def parse(body: object, our: OurIds, names: Mapping[str, str] = _NOBODY) -> Inbound:
    """Read the body of an event_callback; `names` maps user ids to names for the model's text."""
    payload = as_object(body)
    event = as_object(payload.get("event"))
    kind = _id(event.get("type")) or "unknown"
    grants = as_objects(payload.get("authorizations"))
    # In a shared channel the outer team may be the author's; a thread must not be split by who writes in it.
    teams = (*(grant.get("team_id") for grant in grants[:1]), payload.get("context_team_id"), payload.get("team_id"))
    delivery = _Delivery(
        event=event,
        event_id=_id(payload.get("event_id")),
        team_id=next((team for team in map(_id, teams) if team), our.team_id),
        is_ext_shared=payload.get("is_ext_shared_channel") is True,
        our=our,
        names=names,
    )
    read = _READERS.get(kind)
    return read(delivery) if read else delivery.nothing(f"nobody listens to {kind}")


def _read_message_event(delivery: _Delivery) -> Inbound:
    subtype = delivery.event.get("subtype")
    read = _BY_SUBTYPE.get(subtype) if isinstance(subtype, str) else None
    return (read or _read_message)(delivery)


def _read_mention(delivery: _Delivery) -> Inbound:
    # Slack sends an app_mention again when a message that mentions us is edited. Taken for a second copy of the
    # message it would add the mention flag, and an edit may only lower a verdict.
    if as_object(delivery.event.get("edited")):
        return _edit(delivery, delivery.event, previous=None)
    return _read_message(delivery)


def _read_message(delivery: _Delivery) -> Inbound:
    event = delivery.event
    channel, ts = _id(event.get("channel")), _ts(event.get("ts"))
    if channel is None or ts is None:
        return delivery.nothing("a message without channel or time")
    author = _author(event, delivery)
    post_key = _post_key(event)
    if author.is_self and post_key:
        return OwnEcho(delivery.team_id, channel, ts, post_key)
    return Message(
        team_id=delivery.team_id,
        channel_id=channel,
        channel_type=delivery.channel_type,
        ts=ts,
        thread_ts=_ts(event.get("thread_ts")) or ts,
        author=author,
        text=words_of(_without_call(event, delivery.our), delivery.names, with_attachments=author.is_app),
        raw_text=as_text(event.get("text")),
        mentions_bot=mentions(event, delivery.our.bot_user_id),
        dedupe_key=message_key(delivery.team_id, channel, ts),
        client_msg_id=_id(event.get("client_msg_id")),
        files=file_names(event),
        is_ext_shared=delivery.is_ext_shared,
    )


def _read_change(delivery: _Delivery) -> Inbound:
    message = as_object(delivery.event.get("message"))
    if message.get("subtype") == "tombstone":
        # A deleted root that has replies is announced as a change, not as a deletion.
        return _deletion(delivery, _ts(message.get("ts")))
    previous = delivery.event.get("previous_message")
    return _edit(delivery, message, as_object(previous) if previous else None)


def _edit(delivery: _Delivery, message: Json, previous: Json | None) -> Inbound:
    channel, ts = _id(delivery.event.get("channel")), _ts(message.get("ts"))
    if channel is None or ts is None:
        return delivery.nothing("an edit without channel or time")
    author = _author(message, delivery)
    if author.is_self:
        post_key = _post_key(message)
        return OwnEcho(delivery.team_id, channel, ts, post_key) if post_key else delivery.nothing("our own edit")
    mark = as_object(message.get("edited"))
    editor, edited_ts = _id(mark.get("user")), _ts(mark.get("ts"))
    is_human = edited_ts is not None and editor is not None and not author.is_app and not author.is_system
    changed = is_human and (previous is None or as_text(previous.get("text")) != as_text(message.get("text")))
    own_key = delivery.key or f"ev:{channel}:{ts}"
    return Edit(
        team_id=delivery.team_id,
        channel_id=channel,
        channel_type=delivery.channel_type,
        message_ts=ts,
        thread_ts=_ts(message.get("thread_ts")) or ts,
        edited_ts=edited_ts or _ts(delivery.event.get("event_ts")) or ts,
        editor_id=editor,
        author=author,
        text=words_of(_without_call(message, delivery.our), delivery.names, with_attachments=author.is_app),
        raw_text=as_text(message.get("text")),
        mentions_bot=mentions(message, delivery.our.bot_user_id),
        changed=changed,
        dedupe_key=f"e:{channel}:{ts}:{edited_ts}" if changed else own_key,
    )


def _read_deletion(delivery: _Delivery) -> Inbound:
    return _deletion(delivery, _ts(delivery.event.get("deleted_ts")))


def _deletion(delivery: _Delivery, deleted_ts: str | None) -> Inbound:
    channel = _id(delivery.event.get("channel"))
    if channel is None or deleted_ts is None:
        return delivery.nothing("a deletion without channel or time")
    previous = as_object(delivery.event.get("previous_message"))
    if _author(previous, delivery).is_self:
        return delivery.nothing("our own message was deleted")
    thread_ts = _ts(previous.get("thread_ts")) or (deleted_ts if previous else None)
    key = f"d:{channel}:{deleted_ts}"
    return Deletion(delivery.team_id, channel, deleted_ts, thread_ts, _id(previous.get("user")), key)


def _read_native_stop(delivery: _Delivery) -> Inbound:
    event = delivery.event
    channel, user = _id(event.get("channel")), _id(event.get("user"))
    thread_ts, event_ts = _ts(event.get("thread_ts")), _ts(event.get("event_ts"))
    if channel is None or user is None or thread_ts is None or event_ts is None:
        return delivery.nothing("a native stop without its thread")
    key = f"s:{channel}:{thread_ts}:{event_ts}"
    return NativeStop(delivery.team_id, channel, thread_ts, user, event_ts, key)


def _read_noise(delivery: _Delivery) -> Inbound:
    return delivery.nothing("a thread's own bookkeeping")


_READERS: Mapping[str, Callable[[_Delivery], Inbound]] = MappingProxyType({
    "message": _read_message_event,
    "app_mention": _read_mention,
    "agent_session_stopped": _read_native_stop,
})

_BY_SUBTYPE: Mapping[str, Callable[[_Delivery], Inbound]] = MappingProxyType({
    "message_changed": _read_change,
    "message_deleted": _read_deletion,
    "message_replied": _read_noise,
})


def parse_action(body: object) -> Press | Nothing:
    """Read the body of a block_actions payload; a value that is not of our making gives Nothing."""
    payload = as_object(body)
    action = next(iter(as_objects(payload.get("actions"))), {})
    value = action.get("value") or as_object(action.get("selected_option")).get("value")
    ours = _VALUE.fullmatch(as_text(value))
    if payload.get("type") != "block_actions" or ours is None:
        return Nothing("no button of ours")
    user, container = as_object(payload.get("user")), as_object(payload.get("container"))
    channel = _id(container.get("channel_id")) or _id(as_object(payload.get("channel")).get("id"))
    message_ts, action_ts = _ts(container.get("message_ts")), _ts(action.get("action_ts"))
    action_id, user_id = _key(action.get("action_id")), _id(user.get("id"))
    if channel is None or message_ts is None or action_ts is None or action_id is None or user_id is None:
        return Nothing("a button without its message or its user")
    thread_ts = _ts(container.get("thread_ts")) or _ts(as_object(payload.get("message")).get("thread_ts"))
    response_url = as_text(payload.get("response_url"))
    return Press(
        team_id=_id(as_object(payload.get("team")).get("id")),
        action_id=action_id,
        run_id=ours["run"],
        ref=ours["ref"],
        channel_id=channel,
        message_ts=message_ts,
        thread_ts=thread_ts or message_ts,
        user_id=user_id,
        user_team_id=_id(user.get("team_id")),
        action_ts=action_ts,
        response_url=response_url if _LINK.fullmatch(response_url) else None,
        dedupe_key=f"a:{message_ts}:{action_id}:{action_ts}:{user_id}",
        choice=ours["choice"],
        trigger_id=_key(payload.get("trigger_id")),
    )


def person_class(user: object, our: OurIds) -> PersonClass:
    """What the `user` of a users.info answer is; UNKNOWN where it does not say of which team."""
    person = as_object(user)
    team = _id(person.get("team_id"))
    if person.get("is_stranger") is True or (team is not None and team != our.team_id):
        return PersonClass.EXTERNAL
    if person.get("is_restricted") is True or person.get("is_ultra_restricted") is True:
        return PersonClass.GUEST
    return PersonClass.UNKNOWN if team is None else PersonClass.MEMBER


def _without_call(message: Json, our: OurIds) -> Json:
    """The message without the mention that it begins with, if that calls us: it is no part of what is asked."""
    text = as_text(message.get("text"))
    called = re.sub(rf"^\s*<@{re.escape(our.bot_user_id)}(?:\|[^<>]*)?>[\s,:]*", "", text)
    return {**message, "text": called}


def _author(message: Json, delivery: _Delivery) -> AuthorFacts:
    profile = as_object(message.get("bot_profile"))
    user_id, bot_id = _id(message.get("user")), _id(message.get("bot_id"))
    app_id = _id(message.get("app_id")) or _id(profile.get("app_id"))
    our = delivery.our
    is_self = (user_id == our.bot_user_id) or bool({bot_id, app_id} & {our.bot_id, our.app_id} - {None})
    subtype = message.get("subtype")
    is_spoken = subtype is None or (isinstance(subtype, str) and subtype in _SPOKEN)
    named = (_id(message.get(key)) for key in ("user_team", "source_team", "team"))
    team_id = next((team for team in named if team), None if delivery.is_ext_shared else delivery.team_id)
    return AuthorFacts(user_id, bot_id, app_id, team_id, is_self, not is_spoken or user_id == "USLACKBOT")


def _post_key(message: Json) -> str | None:
    payload = as_object(as_object(message.get("metadata")).get("event_payload"))
    return _key(payload.get("post_key"))


def _id(value: object) -> str | None:
    """An id as Slack makes them. Keys are stored as they are, so nothing that PostgreSQL refuses may pass."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def _key(value: object) -> str | None:
    return value if isinstance(value, str) and _KEY.fullmatch(value) else None


def _ts(value: object) -> str | None:
    return value if isinstance(value, str) and is_ts(value) else None
