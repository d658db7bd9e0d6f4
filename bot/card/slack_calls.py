"""Slack's Web API, as few calls as we need, with one meaning for each way in which a call can fail.

Nothing is repeated here: the client's own handlers would post a card twice when a connection drops (measured), and
sleep inside a call when Slack asks to wait.
"""

from collections.abc import Awaitable, Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.errors import SlackError, SlackPermanentError, SlackRateLimitedError, SlackUnansweredError

PERMANENT = frozenset({
    "account_inactive",
    "cant_update_message",
    "channel_not_found",
    "edit_window_closed",
    "invalid_auth",
    "is_archived",
    "is_inactive",
    "message_not_found",
    "missing_scope",
    "not_authed",
    "not_in_channel",
    "restricted_action",
    "thread_not_found",
    "token_revoked",
})
"""What repeating cannot mend (Slack's own pages of chat.postMessage and chat.update)."""


class SlackCalls:
    """The calls of one workspace."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def whoami(self) -> Mapping[str, Any]:
        """Who our token is."""
        return await self._call("auth.test", self._client.auth_test())

    async def post(self, channel: str, thread_ts: str, message: Mapping[str, Any]) -> str:
        """Post into a thread; returns the message's ts."""
        call = self._client.chat_postMessage(
            channel=channel, thread_ts=thread_ts, unfurl_links=False, unfurl_media=False, **message
        )
        return str((await self._call("chat.postMessage", call))["ts"])

    async def update(self, channel: str, ts: str, message: Mapping[str, Any]) -> None:
        """Replace a message of ours."""
        await self._call("chat.update", self._client.chat_update(channel=channel, ts=ts, **message))

    async def whisper(self, channel: str, user: str, text: str, thread_ts: str | None) -> None:
        """Say something to one person alone."""
        call = self._client.chat_postEphemeral(channel=channel, user=user, text=text, thread_ts=thread_ts)
        await self._call("chat.postEphemeral", call)

    async def replies(self, channel: str, thread_ts: str, **more: Any) -> Mapping[str, Any]:
        """One page of a thread: its messages, oldest first, and where the next page begins."""
        call = self._client.conversations_replies(channel=channel, ts=thread_ts, **more)
        return await self._call("conversations.replies", call)

    async def permalink(self, channel: str, ts: str) -> str:
        """The link to a message."""
        call = self._client.chat_getPermalink(channel=channel, message_ts=ts)
        return str((await self._call("chat.getPermalink", call))["permalink"])

    async def person(self, user: str) -> Mapping[str, Any]:
        """What Slack knows of a person."""
        found: Mapping[str, Any] = (await self._call("users.info", self._client.users_info(user=user)))["user"]
        return found

    async def session(self, channel: str, thread_ts: str, status: str) -> None:
        """Tell Slack what the agent of a thread is doing, so that it shows or hides its own Stop."""
        call = self._client.agents_sessions_setStatus(channel_id=channel, thread_ts=thread_ts, status=status)
        await self._call("agents.sessions.setStatus", call)

    async def _call(self, method: str, call: Awaitable[AsyncSlackResponse]) -> Mapping[str, Any]:
        try:
            answer = (await call).data
        except SlackApiError as refused:
            raise _error(method, refused) from refused
        except (aiohttp.ClientError, TimeoutError, OSError) as silent:
            raise SlackUnansweredError(method, type(silent).__name__) from silent
        if not isinstance(answer, Mapping):
            raise SlackUnansweredError(method, "an answer that is no JSON object")
        return answer


def _error(method: str, refused: SlackApiError) -> SlackError:
    response = refused.response
    error = str(response.get("error") or "unknown_error")
    status = getattr(response, "status_code", 200)
    if error in {"ratelimited", "rate_limited"} or status == 429:
        headers = {key.lower(): value for key, value in (getattr(response, "headers", None) or {}).items()}
        return SlackRateLimitedError(method, _retry_after(headers.get("retry-after"), response.get("retry_after")))
    if error in PERMANENT:
        return SlackPermanentError(method, error)
    return SlackUnansweredError(method, error) if status >= 500 else SlackError(method, error)


def _retry_after(*given: object) -> float:
    """Seconds to wait; Slack says it in a header, and some answers in the body."""
    for each in given:
        try:
            return max(float(str(each)), 0.0)
        except ValueError:
            continue
    return 30.0
