"""How fast the publisher goes, and what it is lent.

Slack takes 50 updates a minute of a whole workspace (Tier 3). So the cards that are live share that number: the more
of them there are, the more seldom each shows progress, while a change of state is always painted at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.card.slack_calls import SlackCalls
from bot.errors import SlackError, SlackRateLimitedError
from storage.engine import Database

AT_FULL_PACE = 2
"""Cards that may be painted every `interval_s`: of 3 s they take 40 of the 50, and leave 10 to changes of state."""
MOST_REMEMBERED = 1000
FORGOTTEN_AFTER_S = 600.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. A card that works is painted again every `heartbeat_s`: else it would say "3 s" for a minute."""

    interval_s: float = 3.0
    heartbeat_s: float = 15.0
    lease_s: float = 20.0
    repaint_s: float = 30.0
    retry_s: float = 1.0
    longest_retry_s: float = 30.0
    look_again_s: float = 30.0
    poll_s: float = 1.0

    @property
    def call_s(self) -> float:
        """How long the calls under one lease may take: a call that outlives it would be a second one in flight."""
        return self.lease_s * 0.75


@dataclass(frozen=True, slots=True)
class Promises:
    """What cards say of the settings: which one holds the key of the model, and for how many seconds things wait."""

    key_setting: str | None = None
    write_grace_s: float = 3.0
    patience_s: float | None = 5.0


@dataclass(frozen=True, slots=True)
class PublisherMeans:
    """What a publisher is lent: `now` in seconds since the epoch, and what cards say of the settings."""

    database: Database
    calls: SlackCalls
    now: Callable[[], float]
    mint_id: Callable[[], str]
    promises: Promises = field(default_factory=Promises)


class LiveCards:
    """The cards that this publisher has seen at work, to share Slack's limit among them."""

    def __init__(self, pace: Pace, now: Callable[[], float]) -> None:
        self._pace, self._now = pace, now
        self._seen_at: dict[str, float] = {}

    def saw(self, run_id: str, *, is_over: bool) -> None:
        """Note a card that was painted."""
        self._seen_at.pop(run_id, None)
        if not is_over:
            self._seen_at[run_id] = self._now()

    def spaced(self, seconds: float) -> float:
        """At least these seconds, and as many as it takes that all live cards keep within the limit."""
        oldest = self._now() - FORGOTTEN_AFTER_S
        for run_id in [run_id for run_id, at in self._seen_at.items() if at < oldest]:
            del self._seen_at[run_id]
        return max(seconds, self._pace.interval_s * len(self._seen_at) / AT_FULL_PACE)


class Retries:
    """How long to wait before something that failed is tried again: longer each time, by its key."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._failures: dict[str, int] = {}

    def after(self, key: str, error: SlackError) -> float:
        """Seconds to wait after this failure."""
        failures = self._failures.pop(key, 0)
        self._failures[key] = failures + 1
        if len(self._failures) > MOST_REMEMBERED:
            del self._failures[next(iter(self._failures))]
        if isinstance(error, SlackRateLimitedError):
            return max(error.retry_after, self._pace.retry_s)
        return min(self._pace.retry_s * 2.0 ** min(failures, 10), self._pace.longest_retry_s)

    def forget(self, key: str) -> None:
        """It went well."""
        self._failures.pop(key, None)
