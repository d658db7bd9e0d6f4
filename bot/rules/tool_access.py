"""Which tools a channel and a class of requester have.

Pure and total. Without a rule everybody has every tool; where rules fit, the one that names most counts, and of two
that name one thing each the one for the channel. Whom nobody knows gets only what everybody there has.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol

from bot.rules.markdown import table


class RequesterClass(StrEnum):
    """What asked for a run: a person as Slack knows them, or an alert."""

    MEMBER = "member"
    GUEST = "guest"
    EXTERNAL = "external"
    ALERT = "alert"
    UNKNOWN = "unknown"


KNOWN = tuple(each for each in RequesterClass if each is not RequesterClass.UNKNOWN)


class ToolRule(Protocol):
    """A rule; None stands for any channel, any requester."""

    @property
    def channel(self) -> str | None:
        """The channel's id."""
        ...

    @property
    def requester(self) -> RequesterClass | None:
        """The class of requester."""
        ...

    @property
    def allow(self) -> frozenset[str]:
        """The names of the tools."""
        ...


def tools_for(rules: Iterable[ToolRule], channel: str, requester: RequesterClass) -> frozenset[str] | None:
    """The tools of a channel and a requester; None for all of them."""
    rules = tuple(rules)
    if requester is RequesterClass.UNKNOWN:
        return _of_everybody([tools_for(rules, channel, each) for each in KNOWN] + [_decisive(rules, channel, None)])
    return _decisive(rules, channel, requester)


def as_markdown() -> dict[str, str]:
    """Which rule counts, for the documents."""
    return {
        "tool_access": table(
            ("a rule that names", "counts before"),
            [
                ("channel and requester", "all others"),
                ("the channel", "one that names the requester"),
                ("the requester", "one that names neither"),
                ("neither", "no rule: then every tool is there"),
            ],
        )
    }


def _decisive(rules: tuple[ToolRule, ...], channel: str, requester: RequesterClass | None) -> frozenset[str] | None:
    fitting = [
        rule for rule in rules if rule.channel in {None, channel} and (rule.requester in {None, requester})
    ]  # fmt: skip
    return max(fitting, key=_rank).allow if fitting else None


def _rank(rule: ToolRule) -> tuple[bool, bool]:
    return rule.channel is not None, rule.requester is not None


def _of_everybody(each: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    limited = [names for names in each if names is not None]
    return frozenset.intersection(*limited) if limited else None
