"""What the model is told about a call that got no answer of its own: true, and clear about what may have happened."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bot.rules.terms import CallOutcome, Grade, InterruptKind

WHY: Mapping[InterruptKind | None, str] = MappingProxyType({
    InterruptKind.STOP: "the analysis was stopped",
    InterruptKind.ROLLBACK: "the analysis was taken back to an earlier step",
    InterruptKind.STEER: "a person wrote something new",
    InterruptKind.PAUSE: "the analysis was paused",
    InterruptKind.DRAIN: "the service was restarted",
    InterruptKind.DISPATCH: "the analysis waits for its sub-agents",
    InterruptKind.AWAIT: "the analysis waits for an answer",
    None: "the analysis ended",
})


@dataclass(frozen=True, slots=True)
class Closing:
    """The answer to a call that is still open when it may not stay open."""

    outcome: CallOutcome
    text: str


def closing(grade: Grade, *, started: bool, by: InterruptKind | None) -> Closing:
    """The true answer for an open call; total over grades, started or not, and every interrupt (None: an error)."""
    why = WHY[by]
    if not started:
        return Closing(CallOutcome.NOT_STARTED, f"not started: {why}")
    if grade is Grade.WRITE:
        text = f"outcome unknown: {why} while this was at work; check what happened before trying again"
        return Closing(CallOutcome.UNKNOWN, text)
    if by is InterruptKind.STEER:
        return Closing(CallOutcome.SUPERSEDED, "cancelled: superseded by a message; no result")
    return Closing(CallOutcome.CANCELLED, f"cancelled: {why}; no result")


_ENDED: Mapping[CallOutcome, str] = MappingProxyType({
    CallOutcome.OK: "done",
    CallOutcome.FAILED: "failed",
    CallOutcome.BLOCKED: "blocked",
})


def finished(outcome: CallOutcome, status: int | None, by: InterruptKind | None) -> Closing:
    """The answer for a write that came to its end when nobody could take its own answer in any more."""
    if outcome not in _ENDED:
        return closing(Grade.WRITE, started=True, by=by)
    answered = f" (status {status})" if status is not None else ""
    return Closing(outcome, f"{_ENDED[outcome]}{answered}: it ended while {WHY[by]}, and its own answer was not kept")
