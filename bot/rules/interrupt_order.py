"""Which interrupt is looked at first, and what each does to a run.

They are probed in this order at a cut point; the first that is pending decides, the rest are not looked at.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bot.rules.markdown import table
from bot.rules.terms import InterruptKind, InterruptSource

INTERRUPT_ORDER: tuple[InterruptKind, ...] = (
    InterruptKind.STOP,
    InterruptKind.ROLLBACK,
    InterruptKind.PAUSE,
    InterruptKind.STEER,
    InterruptKind.DRAIN,
    InterruptKind.DISPATCH,
    InterruptKind.AWAIT,
)

SUSPENDS = frozenset({InterruptKind.PAUSE, InterruptKind.DRAIN})
"""These let go of the worker and keep the run; all others settle it."""

HOLDS_BACK = frozenset({InterruptKind.STOP, InterruptKind.ROLLBACK, InterruptKind.PAUSE, InterruptKind.STEER})
"""While one of these is pending nothing may be started any more (design: stopping, pausing, steering: tools)."""

OUTRANKS_AN_END = frozenset({InterruptKind.STOP, InterruptKind.ROLLBACK, InterruptKind.STEER})
"""These decide the reason even when the run has just reached an end of its own (turn_ends.decide)."""

WHAT_IT_DOES: Mapping[InterruptKind, str] = MappingProxyType({
    InterruptKind.STOP: "settles the run at once",
    InterruptKind.ROLLBACK: "settles the run at once; the next one starts from an earlier step",
    InterruptKind.PAUSE: "suspends the run at the next cut point",
    InterruptKind.STEER: "settles the run at the next cut point; the next run starts with the message",
    InterruptKind.DRAIN: "suspends the run at the next cut point; another worker goes on",
    InterruptKind.DISPATCH: "settles the run; its sub-agents work",
    InterruptKind.AWAIT: "settles the run; a question waits for its answer",
})


@dataclass(frozen=True, slots=True)
class Pending:
    """An interrupt that waits to be carried out; `id` is None for a steer, which is a waiting message."""

    kind: InterruptKind
    source: InterruptSource
    requested_by: str
    id: str | None = None


def first(pending: Iterable[Pending]) -> Pending | None:
    """The one that decides, or None; among equals the one that was recorded first."""
    return min(pending, key=lambda each: INTERRUPT_ORDER.index(each.kind), default=None)


def as_markdown() -> dict[str, str]:
    """The order as a table for the documents."""
    rows = [(str(n), kind.value, WHAT_IT_DOES[kind]) for n, kind in enumerate(INTERRUPT_ORDER, 1)]
    return {"interrupt_order": table(("order", "interrupt", "what it does"), rows)}
