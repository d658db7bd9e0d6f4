"""From the way a run ended, and what was pending then, to how it is settled.

Total: every end with every set of pending interrupts has exactly one answer. It is evaluated under the thread's
lock, with the interrupts read after the lock was taken. A cut run never has a final event.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, assert_never

from bot.rules.interrupt_order import INTERRUPT_ORDER, OUTRANKS_AN_END, SUSPENDS, Pending, first
from bot.rules.markdown import table
from bot.rules.terms import FailureClass, InterruptKind, InterruptSource, SettleReason


@dataclass(frozen=True, slots=True)
class Finished:
    """The model gave a final text, and it is stored as this event."""

    final_event_id: int


@dataclass(frozen=True, slots=True)
class Empty:
    """The model's message had neither text nor calls."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Something went wrong; `detail` is for the card: short, without secrets. `status` is the HTTP status, if any."""

    failure: FailureClass
    detail: str = ""
    status: int | None = None


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The run, or its pause, was longer than its limit."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """Worker after worker was lost without getting any further."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The run was cut at a cut point."""

    by: Pending


End: TypeAlias = Finished | Empty | Failed | TimedOut | Abandoned | Cut


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run is settled; `decided_by` is the interrupt that did, if one did."""

    reason: SettleReason
    final_event_id: int | None = None
    failure: FailureClass | None = None
    detail: str = ""
    status: int | None = None
    decided_by: Pending | None = None


CUT_REASONS: Mapping[InterruptKind, SettleReason] = MappingProxyType({
    InterruptKind.STOP: SettleReason.STOPPED,
    InterruptKind.ROLLBACK: SettleReason.ROLLED_BACK,
    InterruptKind.STEER: SettleReason.STEERED,
    InterruptKind.DISPATCH: SettleReason.DISPATCHED,
    InterruptKind.AWAIT: SettleReason.AWAITING,
})


def decide(end: End, pending: Iterable[Pending]) -> Outcome:
    """Say how the run is settled."""
    outranking = [each for each in pending if each.kind in OUTRANKS_AN_END]
    if isinstance(end, Cut):
        # The cut comes first, so that it decides among equals.
        return _cut(first([end.by, *outranking]) or end.by)
    decisive = first(outranking)
    return _cut(decisive) if decisive else _own_end(end)


def _cut(by: Pending) -> Outcome:
    """A cut has a reason and never a final event."""
    if by.kind in SUSPENDS:
        raise ValueError(f"{by.kind} suspends a run and cannot settle it")
    if by.kind is InterruptKind.STOP and by.source is InterruptSource.TIMEOUT:
        return Outcome(SettleReason.TIMED_OUT, decided_by=by)
    if by.kind is InterruptKind.STOP and by.source is InterruptSource.POLICY:
        return Outcome(SettleReason.FAILED, failure=FailureClass.BUDGET, detail=by.requested_by, decided_by=by)
    return Outcome(CUT_REASONS[by.kind], decided_by=by)


def _own_end(end: Finished | Empty | Failed | TimedOut | Abandoned) -> Outcome:
    match end:
        case Finished(final_event_id):
            return Outcome(SettleReason.COMPLETED, final_event_id)
        case Empty():
            return Outcome(SettleReason.EMPTY)
        case Failed(failure, detail, status):
            return Outcome(SettleReason.FAILED, failure=failure, detail=detail, status=status)
        case TimedOut():
            return Outcome(SettleReason.TIMED_OUT)
        case Abandoned():
            return Outcome(SettleReason.ABANDONED)
        case _:
            assert_never(end)


def as_markdown() -> dict[str, str]:
    """Ends and what is pending, as a table made by asking `decide` itself."""
    cuts: dict[str, End] = {f"cut by {kind}": Cut(_example(kind)) for kind in CUT_REASONS}
    ends: dict[str, End] = {
        "a final text": Finished(1),
        "no text, no calls": Empty(),
        "an error": Failed(FailureClass.INTERNAL),
        "out of time": TimedOut(),
        "lost too often": Abandoned(),
        **cuts,
    }
    rows = [(name, *(_cell(end, kind) for kind in (None, *INTERRUPT_ORDER))) for name, end in ends.items()]
    header = ("how it ended", "nothing pending", *(f"{kind} pending" for kind in INTERRUPT_ORDER))
    return {"turn_ends": table(header, rows)}


def _example(kind: InterruptKind) -> Pending:
    return Pending(kind, InterruptSource.BUTTON, "")


def _cell(end: End, kind: InterruptKind | None) -> str:
    outcome = decide(end, [_example(kind)] if kind else [])
    return f"{outcome.reason}, its event" if outcome.final_event_id is not None else outcome.reason.value
