"""Posting once, to a service that has no key for it: what may have been posted is looked for before a second try."""

from collections.abc import Mapping
from typing import Any

from bot.card.slack_calls import SlackCalls
from bot.errors import SlackError
from storage.threads import Place

CLOCK_SLACK_S = 60.0
"""How far Slack's clock may be behind ours when we look for what we posted."""


async def find_posted(calls: SlackCalls, place: Place, post_key: str, tried_at: float | None) -> str | None:
    """The ts of our message with this key in a thread; None where it is not there.

    Raises SlackError where Slack does not say: then nothing may be posted yet.
    """
    more: dict[str, Any] = {"include_all_metadata": True, "limit": 200}
    if tried_at is not None:
        more["oldest"] = f"{tried_at - CLOCK_SLACK_S:.6f}"
    found = await calls.replies(place.channel_id, place.thread_ts, **more)
    for message in found.get("messages") or ():
        if post_key_of(message) == post_key:
            return str(message["ts"])
    return None


def post_key_of(message: Mapping[str, Any]) -> str | None:
    """The key under which we posted a message."""
    metadata = message.get("metadata") or {}
    key = (metadata.get("event_payload") or {}).get("post_key")
    return str(key) if key is not None else None


def is_refused_form(error: SlackError) -> bool:
    """Whether Slack refused how a message looks, rather than that there is one: then a simpler form may pass."""
    return error.error.startswith("invalid_blocks") or error.error in {
        "block_mismatch",
        "invalid_arguments",
        "invalid_metadata_format",
        "metadata_too_large",
        "msg_blocks_too_long",
        "msg_too_long",
        "no_text",
    }
