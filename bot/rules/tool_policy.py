"""What a call of a tool may do: run, wait for a person's yes, or not at all; and what a yes is bound to.

Owns the words that the model is told of a write that was not run. Nothing here decides who somebody is, and nothing
that is not said to be allowed is: an empty list of approvers means nobody, a tool that is not known is a write.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from bot.rules.closing_words import Closing
from bot.rules.markdown import table
from bot.rules.messages import JsonObject
from bot.rules.terms import ApprovalState, CallOutcome, Grade


class Permission(StrEnum):
    """What a call of a grade may do."""

    RUNS = "runs"
    NEEDS_APPROVAL = "needs an approval"


PERMISSION: Mapping[Grade, Permission] = MappingProxyType({
    Grade.READ: Permission.RUNS,
    Grade.WRITE: Permission.NEEDS_APPROVAL,
})


class Vote(StrEnum):
    """What an approver says."""

    YES = "yes"
    NO = "no"


@dataclass(frozen=True, slots=True)
class ApprovalTerms:
    """Who may approve a write, and for how long the question stands.

    approvers: ids of users and of user groups; empty means nobody. needed: how many of them must say yes.
    not_requester: who asked for the analysis may not approve it. expires_s: seconds.
    """

    approvers: tuple[str, ...] = ()
    needed: int = 1
    not_requester: bool = False
    expires_s: float = 1800.0


class WriteRefusal(StrEnum):
    """Why a write is refused before anybody is asked; the value is what the audit and the card call it."""

    UNKNOWN_TOOL = "unknown tool"
    NOBODY = "no approvers configured"
    TOO_FEW = "fewer approvers than needed"
    TOO_LARGE = "too large to review"
    SECRET = "contains a secret"  # noqa: S105 - a reason, not a secret
    NOT_STORABLE = "cannot be stored as it is"


LONGEST_SHOWN = 2_500
"""Characters of a call in full; a block of a Slack card holds 3,000, and an approval that is cut short is none."""

WHY_REFUSED: Mapping[WriteRefusal, str] = MappingProxyType({
    WriteRefusal.UNKNOWN_TOOL: "There is no such tool.",
    WriteRefusal.NOBODY: "This tool changes something, which needs a person's approval, and nobody is named who may "
    "approve. Go on without it, and say in your answer that it was not done.",
    WriteRefusal.TOO_FEW: "This tool needs the approval of more people than are named as approvers. Go on without it.",
    WriteRefusal.TOO_LARGE: f"The call is longer than the {LONGEST_SHOWN:,} characters that people can review on a "
    "card. Make it smaller, or split it.",
    WriteRefusal.SECRET: "The arguments contain a secret, or something that has the shape of one, and people would "
    "be shown it. Leave it out.",
    WriteRefusal.NOT_STORABLE: "The arguments contain characters or numbers that cannot be stored as they are. "
    "Leave them out.",
})
"""What the model is told of a refused write: why, and what would work."""


@dataclass(frozen=True, slots=True)
class ReviewedCall:
    """What of a write is looked at before anybody is asked.

    has_secret: the scrubber would change it. is_storable: it would come back from the database as it is.
    """

    terms: ApprovalTerms
    shown: str
    has_secret: bool = False
    is_storable: bool = True


def refusal(call: ReviewedCall) -> WriteRefusal | None:
    """Why people are not even asked about this write; None when they are."""
    terms = call.terms
    if not terms.approvers:
        return WriteRefusal.NOBODY
    if terms.needed > len(set(terms.approvers)) and not any(map(is_group, terms.approvers)):
        return WriteRefusal.TOO_FEW
    if len(call.shown) > LONGEST_SHOWN:
        return WriteRefusal.TOO_LARGE
    if call.has_secret:
        return WriteRefusal.SECRET
    return None if call.is_storable else WriteRefusal.NOT_STORABLE


def is_group(approver: str) -> bool:
    """Whether this names a user group; Slack's ids of those begin with S."""
    return approver.startswith("S")


def members(approvers: tuple[str, ...], groups: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The users who are named, alone or by a group; a group that is not known has none."""
    alone = frozenset(each for each in approvers if not is_group(each))
    return alone.union(*(groups.get(each, frozenset()) for each in approvers if is_group(each)))


@dataclass(frozen=True, slots=True)
class BoundCall:
    """What a yes is bound to: this call of this run and no other."""

    run_id: str
    call_id: str
    tool: str
    target: str
    shown: str
    arguments: JsonObject


def fingerprint(call: BoundCall) -> str:
    """The SHA-256 of a call, in hexadecimal; equal JSON gives the same, anything else another one.

    What people are shown is part of it: a template that was changed meanwhile sends something else by the same
    arguments.
    """
    parts = [call.run_id, call.call_id, call.tool, call.target, call.shown, _canonical(call.arguments)]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: object) -> object:
    # The database gives 1e22 back as a whole number: the same value may not have two fingerprints.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _canonical(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(each) for each in value]
    return value


DENIED_BY, EXPIRED_BY = "a person said no", "nobody said yes in time"

_TOLD: Mapping[ApprovalState, Closing] = MappingProxyType({
    ApprovalState.DENIED: Closing(
        CallOutcome.BLOCKED, "not started: a person was asked and said no. Do not ask for the same thing again."
    ),
    ApprovalState.EXPIRED: Closing(CallOutcome.BLOCKED, "not started: people were asked, and nobody said yes in time."),
    ApprovalState.SUPERSEDED: Closing(
        CallOutcome.NOT_STARTED,
        "not started: what it rests on has changed since people were asked, so the question was taken back. "
        "Ask for it again if it is still wanted.",
    ),
    ApprovalState.USED: Closing(
        CallOutcome.UNKNOWN,
        "outcome unknown: it was approved and begun, and no answer was kept; check what happened before trying again",
    ),
})

BLOCKED_BY: Mapping[ApprovalState, str] = MappingProxyType({
    ApprovalState.DENIED: DENIED_BY,
    ApprovalState.EXPIRED: EXPIRED_BY,
})
"""What the card and the audit call the reason."""


def told(state: ApprovalState) -> Closing | None:
    """What the model is told of a write whose approval stands so; None while it may still run."""
    return _TOLD.get(state)


MOVES: Mapping[ApprovalState, frozenset[ApprovalState]] = MappingProxyType({
    ApprovalState.WAITING: frozenset({
        ApprovalState.APPROVED,
        ApprovalState.DENIED,
        ApprovalState.EXPIRED,
        ApprovalState.SUPERSEDED,
    }),
    ApprovalState.APPROVED: frozenset({ApprovalState.USED, ApprovalState.EXPIRED, ApprovalState.SUPERSEDED}),
    ApprovalState.DENIED: frozenset(),
    ApprovalState.EXPIRED: frozenset(),
    ApprovalState.SUPERSEDED: frozenset(),
    ApprovalState.USED: frozenset(),
})
"""How an approval moves; what has ended never comes back."""

IS_OPEN = frozenset(state for state, after in MOVES.items() if after)
"""The states in which a write may still be run."""


def as_markdown() -> dict[str, str]:
    """The tables for the documents."""
    grades = [(grade.value, PERMISSION[grade].value) for grade in Grade]
    grades.append(("not known", f"{PERMISSION[Grade.WRITE].value}; the call is refused as {WriteRefusal.UNKNOWN_TOOL}"))
    states = [(state.value, _names(MOVES[state]), _words(state)) for state in ApprovalState]
    return {
        "tool_grades": table(("grade", "a call of it"), grades),
        "write_refusals": table(
            ("refused as", "what the model is told"), [(w.value, WHY_REFUSED[w]) for w in WHY_REFUSED]
        ),
        "approval_states": table(("state", "may become", "what the model is told"), states),
    }


def _names(states: frozenset[ApprovalState]) -> str:
    return ", ".join(state.value for state in ApprovalState if state in states) or "(none)"


def _words(state: ApprovalState) -> str:
    closing = _TOLD.get(state)
    return closing.text if closing else "-"
