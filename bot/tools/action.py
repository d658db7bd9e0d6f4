"""The tool that one declared action is: a single HTTP call, its arguments checked, its words for people.

Owns what the model is told of the outcome: of a write whose answer did not come it says that nobody knows. It must
never change an argument, and never send anything but the call that was shown.
"""

import asyncio
from collections import deque

from bot.egress.client import DEFAULT_SECONDS, EgressClient, EgressRequest, Reply
from bot.egress.rules import Refusal, SecretUse, parse_url
from bot.errors import ToolArgumentsError, ToolBlockedError, ToolError, ToolTimeoutError
from bot.rules.http_actions import HttpAction, HttpCall, call_of
from bot.rules.messages import JsonObject
from bot.rules.terms import CallOutcome, Grade
from bot.rules.tool_policy import ApprovalTerms
from bot.tools.http_get import told
from bot.tools.tool import CallLabel, ToolAnswer, ToolContext

MINUTE_S = 60.0
_FAILED_FROM = 400
_NOBODY_KNOWS = frozenset({502, 504})
"""A gateway says that it has no answer of the service: the service may have done it."""
_UNKNOWN = "outcome unknown: {}; check what happened before trying again"


class ActionRates:
    """How often each action has run in the last minute, in this process."""

    def __init__(self) -> None:
        self._runs: dict[str, deque[float]] = {}

    def take(self, action: HttpAction) -> None:
        """Count a run of an action; raises ToolBlockedError where it has run as often as it may."""
        now = asyncio.get_running_loop().time()
        recent = self._runs.setdefault(action.name, deque())
        while recent and recent[0] <= now - MINUTE_S:
            recent.popleft()
        if len(recent) >= action.per_minute:
            wait = round(recent[0] + MINUTE_S - now) + 1
            problem = f"{action.name} may run {action.per_minute} times a minute. Try again in {wait} s"
            raise ToolBlockedError("action.rate", problem)
        recent.append(now)


class ActionTool:
    """One action as a tool; `seconds` for a call. A write carries the terms of its approval."""

    def __init__(
        self, action: HttpAction, client: EgressClient, rates: ActionRates, *, seconds: float = DEFAULT_SECONDS
    ) -> None:
        self.schema = action.schema()
        self.approval = ApprovalTerms(action.approvers, action.needed, action.not_requester, action.expires_s)
        self.target = f"{action.method} {action.url}"
        self._action, self._client, self._rates, self._seconds = action, client, rates, seconds

    def label(self, arguments: JsonObject) -> CallLabel:
        """Name this call for the card, such as "restart checkout"."""
        try:
            call = call_of(self._action, arguments)
        except ToolArgumentsError:
            return CallLabel(self._action.name.replace("_", " "), "arguments that do not fit")
        target = parse_url(call.url)
        shown = "a URL that is not valid" if isinstance(target, Refusal) else f"{target.netloc}{target.path}"
        return CallLabel(call.title, shown)

    def shown(self, arguments: JsonObject) -> str:
        """The complete call in plain text; raises ToolArgumentsError where the arguments do not fit."""
        return call_of(self._action, arguments).shown

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolAnswer:
        """Make the call, once."""
        call = call_of(self._action, arguments)
        self._rates.take(self._action)
        try:
            reply = await self._client.fetch(self._request(call, context.request_id), context.brake)
        except ToolBlockedError as blocked:
            if not blocked.sent or self._action.grade is Grade.READ:
                raise
            return self._without_answer(blocked)
        except ToolError as error:
            return self._without_answer(error)
        if reply is None:
            text = "not started: the run was interrupted"
            return ToolAnswer(text, CallOutcome.NOT_STARTED, method=self._action.method)
        return ToolAnswer(
            told(reply, call.url), self._outcome(reply), url=reply.url, method=self._action.method, status=reply.status
        )

    def _request(self, call: HttpCall, request_id: str) -> EgressRequest:
        action = self._action
        return EgressRequest(
            call.url,
            request_id,
            action.method,
            self._seconds,
            headers=(("Content-Type", "application/json"),) if call.body is not None else (),
            body=None if call.body is None else call.body.encode(),
            grade=action.grade,
            idempotent=action.idempotent,
            lend=SecretUse(action.secret) if action.secret else None,
        )

    def _outcome(self, reply: Reply) -> CallOutcome:
        """An error status of a read is what was looked for; that of a write says that it did not work."""
        if self._action.grade is Grade.READ or reply.status < _FAILED_FROM:
            return CallOutcome.OK
        return CallOutcome.UNKNOWN if reply.status in _NOBODY_KNOWS else CallOutcome.FAILED

    def _without_answer(self, error: ToolError) -> ToolAnswer:
        if self._action.grade is Grade.WRITE and error.sent:
            text = _UNKNOWN.format(error)
            return ToolAnswer(text, CallOutcome.UNKNOWN, method=self._action.method)
        outcome = CallOutcome.TIMED_OUT if isinstance(error, ToolTimeoutError) else CallOutcome.FAILED
        return ToolAnswer(str(error), outcome, method=self._action.method)
