"""A call of the Web API from end to end: faults on order, rate limit, token, method, log.

It knows no method: what each does is in bot/playground/posting.py, reading.py and opening.py. It knows no HTTP either.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bot.errors import SlackError
from bot.playground.changes import Changes
from bot.playground.faults import Fault, Faults
from bot.playground.json_reading import JsonObject
from bot.playground.stamps import Stamps

Method = Callable[[JsonObject], dict[str, object]]
LONGEST_LOG = 20_000
MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the caller gets; `dropped` means that the connection is closed without a word."""

    status: int = 200
    body: JsonObject = field(default_factory=dict)
    retry_after: float | None = None
    dropped: bool = False

    @property
    def error(self) -> str:
        """Slack's word for what was wrong; empty where the call went well."""
        return str(self.body.get("error", ""))


@dataclass(frozen=True, slots=True)
class Call:
    """An entry of the log: `at` and `answered_at` are seconds since the epoch; tokens are never kept."""

    method: str
    arguments: JsonObject
    at: float
    answered_at: float
    answer: Answer

    @property
    def error(self) -> str:
        """Slack's word for what was wrong; empty where the call went well."""
        return self.answer.error

    def to_json(self) -> JsonObject:
        """The entry, for the tests."""
        answer = {"status": self.answer.status, "body": self.answer.body, "dropped": self.answer.dropped}
        times = {"at": self.at, "answered_at": self.answered_at}
        return {"method": self.method, "arguments": self.arguments, "answer": answer, **times}


@dataclass(frozen=True, slots=True)
class Access:
    """The two tokens that are right, and how many calls a minute a method allows where that is limited at all."""

    bot_token: str
    app_token: str
    limits: Mapping[str, int] = field(default_factory=dict)


class WebApi:
    """The methods, behind everything that may go wrong before one is reached."""

    def __init__(self, methods: Mapping[str, Method], access: Access, stamps: Stamps, changes: Changes) -> None:
        self.faults = Faults()
        self.log: deque[Call] = deque(maxlen=LONGEST_LOG)
        self._methods, self._access = methods, access
        self._stamps, self._changes = stamps, changes
        self._recent: dict[str, deque[float]] = {}

    async def call(self, method: str, arguments: JsonObject, token: str) -> Answer:
        """Carry out one call, with the faults that were ordered for it."""
        at = self._stamps.now()
        fault = self.faults.take(method) or Fault(method)
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        answer = _ordered(fault) or self._over_limit(method) or self._apply(method, arguments, token)
        if fault.answer_delay_s:
            await asyncio.sleep(fault.answer_delay_s)
        if fault.drop:
            answer = Answer(answer.status, answer.body, dropped=True)
        kept = {key: value for key, value in arguments.items() if key != "token"}
        self.log.append(Call(method, kept, at, self._stamps.now(), answer))
        self._changes.notify()
        return answer

    def _over_limit(self, method: str) -> Answer | None:
        limit = self._access.limits.get(method)
        if limit is None:
            return None
        now = asyncio.get_running_loop().time()
        recent = self._recent.setdefault(method, deque())
        while recent and recent[0] <= now - MINUTE_S:
            recent.popleft()
        if len(recent) >= limit:
            return _ratelimited(recent[0] + MINUTE_S - now)
        recent.append(now)
        return None

    def _apply(self, method: str, arguments: JsonObject, token: str) -> Answer:
        perform = self._methods.get(method)
        if perform is None:
            return _refused("unknown_method")
        if error := self._token_error(method, token):
            return _refused(error)
        try:
            return Answer(body={"ok": True, **perform(arguments)})
        except SlackError as refusal:
            return _refused(refusal.error, details=refusal.args)

    def _token_error(self, method: str, token: str) -> str:
        if not token:
            return "not_authed"
        if token not in (self._access.bot_token, self._access.app_token):
            return "invalid_auth"
        wanted = self._access.app_token if method == "apps.connections.open" else self._access.bot_token
        return "" if token == wanted else "not_allowed_token_type"


def _ordered(fault: Fault) -> Answer | None:
    if fault.lose:
        return Answer(dropped=True)
    if fault.retry_after is not None:
        return _ratelimited(fault.retry_after)
    if fault.status is not None:
        return Answer(fault.status, {"ok": False, "error": "internal_error"})
    return _refused(fault.error) if fault.error else None


def _ratelimited(retry_after: float) -> Answer:
    return Answer(429, {"ok": False, "error": "ratelimited"}, retry_after=retry_after)


def _refused(error: str, details: tuple[object, ...] = ()) -> Answer:
    body: dict[str, object] = {"ok": False, "error": error}
    if details:
        body["response_metadata"] = {"messages": [f"[ERROR] {detail}" for detail in details]}
    return Answer(body=body)
