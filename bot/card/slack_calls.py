"""Slack's Web API, as few calls as we need, with one meaning for each way in which a call can fail.

Nothing is repeated here: the client's own handlers would post a card twice when a connection drops (measured), and
sleep inside a call when Slack asks to wait. Slack's limits are per method, so a method that Slack has asked to rest is
refused right here until its time is over, and no other method with it.

Everything that we show passes through here, and is scrubbed of secrets on its way.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.errors import SlackError, SlackPermanentError, SlackRateLimitedError, SlackUnansweredError
from bot.rules.redaction import Scrubber

POST = "chat.postMessage"

PERMANENT = frozenset({
    "access_denied",
    "account_inactive",
    "cant_update_message",
    "channel_not_found",
    "edit_window_closed",
    "ekm_access_denied",
    "invalid_auth",
    "invalid_thread_ts",
    "is_archived",
    "is_inactive",
    "message_not_found",
    "missing_scope",
    "no_permission",
    "not_authed",
    "not_in_channel",
    "restricted_action",
    "restricted_action_non_threadable_channel",
    "restricted_action_read_only_channel",
    "restricted_action_thread_locked",
    "team_access_not_granted",
    "thread_not_found",
    "token_expired",
    "token_revoked",
})
"""What repeating cannot mend (Slack's own pages of chat.postMessage and chat.update)."""
UNCERTAIN = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
"""Answers after which some of the work may have been done all the same (the same pages)."""
RATE_LIMITED = frozenset({"rate_limited", "ratelimited"})
LONGEST_REST_S = 3600.0
"""The longest wait that is believed; the standard one is taken for anything else."""
STANDARD_REST_S = 30.0
NO_JSON_OBJECT = "an answer that is no JSON object"


class SlackCalls:
    """The calls of one workspace."""

    def __init__(self, client: AsyncWebClient, scrubber: Scrubber | None = None) -> None:
        self._client, self._scrubber = client, scrubber or Scrubber()
        self._resting: dict[str, float] = {}

    def scrubbing(self, scrubber: Scrubber) -> "SlackCalls":
        """The same calls, with the secrets that this scrubber knows."""
        return SlackCalls(self._client, scrubber)

    async def whoami(self) -> Mapping[str, Any]:
        """Who our token is."""
        return await self._call("auth.test", self._client.auth_test)

    async def post(self, channel: str, thread_ts: str, message: Mapping[str, Any]) -> str:
        """Post into a thread; returns the message's ts."""
        more = {"unfurl_links": False, "unfurl_media": False, **self._shown(message)}
        answer = await self._call(POST, self._client.chat_postMessage, channel=channel, thread_ts=thread_ts, **more)
        return str(_part(POST, answer, "ts", str))

    async def update(self, channel: str, ts: str, message: Mapping[str, Any]) -> None:
        """Replace a message of ours."""
        await self._call("chat.update", self._client.chat_update, channel=channel, ts=ts, **self._shown(message))

    async def whisper(self, channel: str, user: str, text: str, thread_ts: str | None) -> None:
        """Say something to one person alone."""
        whisper, said = self._client.chat_postEphemeral, self._scrubber.text(text)
        await self._call("chat.postEphemeral", whisper, channel=channel, user=user, text=said, thread_ts=thread_ts)

    async def open_view(self, trigger_id: str, view: Mapping[str, Any]) -> None:
        """Open a modal for who pressed, within 3 seconds of the press."""
        await self._call("views.open", self._client.views_open, trigger_id=trigger_id, view=self._shown(view))

    async def replies(self, channel: str, thread_ts: str, **more: Any) -> Mapping[str, Any]:
        """One page of a thread: its messages, oldest first, and where the next page begins."""
        read = self._client.conversations_replies
        return await self._call("conversations.replies", read, channel=channel, ts=thread_ts, **more)

    async def permalink(self, channel: str, ts: str) -> str:
        """The link to a message."""
        method = "chat.getPermalink"
        answer = await self._call(method, self._client.chat_getPermalink, channel=channel, message_ts=ts)
        return str(_part(method, answer, "permalink", str))

    async def person(self, user: str) -> Mapping[str, Any]:
        """What Slack knows of a person."""
        answer = await self._call("users.info", self._client.users_info, user=user)
        found: Mapping[str, Any] = _part("users.info", answer, "user", dict)
        return found

    async def members(self, group: str) -> list[str]:
        """Who is in a user group."""
        method = "usergroups.users.list"
        answer = await self._call(method, self._client.usergroups_users_list, usergroup=group)
        return [str(each) for each in _part(method, answer, "users", list)]

    async def session(self, channel: str, thread_ts: str, status: str) -> None:
        """Tell Slack what the agent of a thread is doing, so that it shows or hides its own Stop."""
        tell = self._client.agents_sessions_setStatus
        await self._call("agents.sessions.setStatus", tell, channel_id=channel, thread_ts=thread_ts, status=status)

    def _shown(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """A message as it may be shown. Most hold no secret: one look at all of it costs less than one at each text."""
        written = json.dumps(message, ensure_ascii=False)
        if self._scrubber.text(written) == written:
            return message
        scrubbed = self._scrubber.value(message)
        return scrubbed if isinstance(scrubbed, Mapping) else {}

    async def _call(
        self, method: str, send: Callable[..., Awaitable[AsyncSlackResponse]], **arguments: Any
    ) -> Mapping[str, Any]:
        loop = asyncio.get_running_loop()
        rest = self._resting.get(method, 0.0) - loop.time()
        if rest > 0:
            raise SlackRateLimitedError(method, rest)
        try:
            answer = (await send(**arguments)).data
        except SlackApiError as refused:
            error = _error(method, refused.response)
            if isinstance(error, SlackRateLimitedError):
                self._resting[method] = loop.time() + error.retry_after
            raise error from refused
        except (aiohttp.ClientError, TimeoutError, OSError) as silent:
            raise SlackUnansweredError(method, type(silent).__name__) from silent
        except (AttributeError, ValueError) as garbled:
            # The page of a proxy, in the middle of an outage: the client reads it as if it were an object.
            raise SlackUnansweredError(method, NO_JSON_OBJECT) from garbled
        if not isinstance(answer, Mapping):
            raise SlackUnansweredError(method, NO_JSON_OBJECT)
        return answer


def _error(method: str, response: object) -> SlackError:
    if not isinstance(response, AsyncSlackResponse) or not isinstance(response.data, Mapping):
        return SlackUnansweredError(method, NO_JSON_OBJECT)
    error = str(response.data.get("error") or "")
    if error in RATE_LIMITED or response.status_code == 429:
        headers = {key.lower(): value for key, value in response.headers.items()}
        return SlackRateLimitedError(method, _rest(headers.get("retry-after"), response.data.get("retry_after")))
    if error in PERMANENT:
        return SlackPermanentError(method, error)
    if not error or error in UNCERTAIN or response.status_code >= 500:
        return SlackUnansweredError(method, error or f"HTTP {response.status_code}")
    return SlackError(method, error)


def _rest(*given: object) -> float:
    """Seconds to wait; Slack says it in a header, and some answers in the body."""
    for each in given:
        try:
            seconds = float(str(each))
        except ValueError:
            continue
        if 0 <= seconds <= LONGEST_REST_S:
            return seconds
    return STANDARD_REST_S


def _part(method: str, answer: Mapping[str, Any], name: str, kind: type) -> Any:
    """A part of an answer; where it is missing, nobody knows what Slack has done."""
    part = answer.get(name)
    if not isinstance(part, kind):
        raise SlackUnansweredError(method, f"an answer without {name}")
    return part
