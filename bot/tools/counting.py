"""What the gate tells the metrics. It counts and decides nothing."""

from bot import metrics
from bot.rules.measures import ALREADY_OUT_S
from bot.rules.terms import CallOutcome, Grade


def ended(grade: Grade, outcome: CallOutcome) -> None:
    """A call that had started has ended, by itself or by a message that superseded it."""
    if grade is Grade.READ:
        metrics.current().read_ended(outcome)


def came_late() -> None:
    """A result came when nobody waited for it any more."""
    metrics.current().late_results.inc()


def refused(rule: str) -> None:
    """A rule refused a request."""
    metrics.current().refused(rule)


def prevented() -> None:
    """A brake kept a request from leaving."""
    metrics.current().requests_prevented.inc()


def was_under_way(elapsed_ms: int) -> None:
    """A hard brake found a call under way; one that had only just left counts as already out."""
    if elapsed_ms <= ALREADY_OUT_S * 1000:
        metrics.current().requests_already_out.inc()
