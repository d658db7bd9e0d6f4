"""Posting once, to a service that has no key for it: what may have been posted is looked for before a second try."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from bot.card.pace import Pace
from bot.card.slack_calls import POST, SlackCalls
from bot.errors import SlackError, SlackPermanentError, SlackUnansweredError
from bot.telemetry import log
from storage.threads import Place

Sent = TypeVar("Sent")

NOT_SEEN = "not seen yet"
REFUSED_FORMS = frozenset({
    "block_mismatch",
    "invalid_arguments",
    "invalid_metadata_format",
    "metadata_too_large",
    "msg_blocks_too_long",
    "msg_too_long",
    "no_text",
})


async def find_posted(calls: SlackCalls, place: Place, post_key: str) -> str | None:
    """The ts of our message with this key in a thread; None where it is not there, or where we may never look.

    Raises SlackError where Slack does not say: then nothing may be posted yet. Anybody can copy a key from our own
    message, but a copy stands behind it, and the first is taken. The whole thread is read: no clock of ours says how
    late it was in Slack, and a look that begins too late finds nothing, and posts a second time.
    """
    more: dict[str, Any] = {"include_all_metadata": True, "limit": 200}
    cursor = ""
    while True:
        try:
            page = await calls.replies(place.channel_id, place.thread_ts, cursor=cursor, **more)
        except SlackPermanentError as error:
            log.warning("post.cannot_be_looked_for", error=error.error)
            return None
        for message in page.get("messages") or ():
            if post_key_of(message) == post_key:
                return str(message["ts"])
        cursor = next_page(page)
        if not cursor:
            return None


def next_page(page: Mapping[str, Any]) -> str:
    """Where the next page of an answer begins; empty where this was the last."""
    return str((page.get("response_metadata") or {}).get("next_cursor") or "")


def post_key_of(message: Mapping[str, Any]) -> str | None:
    """The key under which we posted a message."""
    metadata = message.get("metadata") or {}
    key = (metadata.get("event_payload") or {}).get("post_key")
    return str(key) if key is not None else None


def not_seen() -> SlackError:
    """What was begun is not there: Slack may still be about to show it, so posting now could make a second one."""
    return SlackUnansweredError(POST, NOT_SEEN)


def wait_for_sight(error: SlackError, tried_s: float | None, pace: Pace) -> float | None:
    """Seconds until the next look for what is not seen yet: always twice as long after the try as the last look.

    None where this is another error. Zero when it was waited for long enough: then it was never posted.
    `tried_s`: seconds since the try, by the one clock that wrote it down.
    """
    if error.error != NOT_SEEN:
        return None
    waited = max(tried_s or 0.0, 0.0)
    left = pace.look_again_s - waited
    return min(max(waited, pace.retry_s), max(left, pace.retry_s)) if left > 0 else 0.0


def was_not_posted(error: SlackError) -> bool:
    """Whether Slack has said, to a post itself, that it did not happen."""
    return error.method == POST and not isinstance(error, SlackUnansweredError)


async def in_some_form(
    send: Callable[[Mapping[str, Any]], Awaitable[Sent]], forms: Sequence[Mapping[str, Any]]
) -> tuple[Sent, list[SlackError]]:
    """Send the first form that Slack takes; returns the answer, and why the forms before it were refused."""
    refusals: list[SlackError] = []
    for form in forms[:-1]:
        try:
            return await send(form), refusals
        except SlackError as error:
            if not is_refused_form(error):
                raise
            refusals.append(error)
            log.warning("post.form_refused", error=error.error)
    return await send(forms[-1]), refusals


def is_refused_form(error: SlackError) -> bool:
    """Whether Slack refused how a message looks, rather than that there is one: then a simpler form may pass."""
    return error.error.startswith("invalid_blocks") or error.error in REFUSED_FORMS
