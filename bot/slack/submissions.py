"""Modals that were submitted, read into what the storage understands.

Pure like inbound.py, and it never raises: a payload that is not of our making gives Nothing. What a modal carries of
its card is written and read here, and gives no right.
"""

import json
import re

from bot.card.back_modal import ACTION_ID, BLOCK_ID, CALLBACK_ID
from bot.rules.inbound_message import GoBack, Nothing, Press, is_ts
from bot.slack.wording import Json, as_object, as_text

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NUMBER = re.compile(r"[0-9]{1,18}")


def card_of(press: Press) -> str:
    """What a modal has to carry to be understood when it is submitted: the card that it was opened from."""
    card = {"v": 1, "run": press.run_id, "channel": press.channel_id, "ts": press.message_ts, "thread": press.thread_ts}
    return json.dumps(card)


def parse_go_back(body: object) -> GoBack | Nothing:
    """Read the body of a view_submission of the modal that goes back to a step."""
    payload = as_object(body)
    view, user = as_object(payload.get("view")), as_object(payload.get("user"))
    if payload.get("type") != "view_submission" or view.get("callback_id") != CALLBACK_ID:
        return Nothing("no modal of ours")
    card, view_id, user_id = _card(view), _id(view.get("id")), _id(user.get("id"))
    run_id, channel = _id(card.get("run")), _id(card.get("channel"))
    message_ts, thread_ts = as_text(card.get("ts")), as_text(card.get("thread"))
    chosen = _chosen(view)
    if view_id is None or user_id is None or run_id is None or channel is None or chosen is None:
        return Nothing("a modal without its card, its user or a choice")
    if not (is_ts(message_ts) and is_ts(thread_ts)):
        return Nothing("a modal without its message")
    return GoBack(
        run_id=run_id,
        checkpoint=chosen,
        channel_id=channel,
        message_ts=message_ts,
        thread_ts=thread_ts,
        user_id=user_id,
        user_team_id=_id(user.get("team_id")),
        dedupe_key=f"v:{view_id}:{chosen}:{user_id}",
    )


def _card(view: Json) -> Json:
    try:
        return as_object(json.loads(as_text(view.get("private_metadata"))))
    except (ValueError, RecursionError):
        return {}


def _chosen(view: Json) -> int | None:
    values = as_object(as_object(view.get("state")).get("values"))
    answer = as_object(as_object(values.get(BLOCK_ID)).get(ACTION_ID))
    value = as_text(as_object(answer.get("selected_option")).get("value"))
    return int(value) if _NUMBER.fullmatch(value) else None


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and _ID.fullmatch(value) else None
