"""How far one run may go, and how many may be live at once: what was reached, in words for the record and the card.

A limit that is None is off. One run's limits end it; the limits of live runs only make a new one wait.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one run may spend; minutes of work, pauses not counted, tokens in and out, US dollars."""

    minutes: float | None = None
    tokens: int | None = None
    cost_usd: Decimal | None = None

    @property
    def of_spending(self) -> bool:
        """Whether anything is limited that a look at the usage must find out."""
        return self.tokens is not None or self.cost_usd is not None


class LiveLimit(StrEnum):
    """What has as many live runs as it may; the values stand in the rows of runs that wait."""

    PERSON = "person"
    CHANNEL = "channel"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class LiveLimits:
    """How many runs may be at work at once, for one person, one channel, one workspace."""

    person: int | None = None
    channel: int | None = None
    workspace: int | None = None

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return (self.person, self.channel, self.workspace) != (None, None, None)


NO_RUN_LIMITS = RunLimits()
NO_LIVE_LIMITS = LiveLimits()

HELD_WORDS: Mapping[LiveLimit, str] = MappingProxyType({
    LiveLimit.PERSON: "One person may have no more analyses at work",
    LiveLimit.CHANNEL: "This channel may have no more analyses at work",
    LiveLimit.WORKSPACE: "This workspace may have no more analyses at work",
})
"""Why a run waits though a worker may be free."""


def overspent(limits: RunLimits, tokens: int, cost: Decimal) -> str | None:
    """The limit that this spending has reached; None while it may go on. What has no price costs nothing here."""
    if limits.tokens is not None and tokens >= limits.tokens:
        return f"the limit of {limits.tokens} tokens"
    if limits.cost_usd is not None and cost >= limits.cost_usd:
        return f"the limit of {limits.cost_usd} USD"
    return None


def out_of_time(minutes: float) -> str:
    """What ended a run that worked for longer than it may."""
    return f"the limit of {minutes:g} minutes"


def held_words(held_by: str | None) -> str:
    """Why a queued run is not begun; empty where only a worker is missing. An unknown word says nothing."""
    return next((words for limit, words in HELD_WORDS.items() if limit.value == held_by), "")
