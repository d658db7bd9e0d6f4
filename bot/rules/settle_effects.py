"""What follows from the reason with which a run is settled. A cut run causes no rerun, no alarm and no record."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from bot.rules.markdown import table
from bot.rules.terms import SettleReason


class Rerun(StrEnum):
    """Whether the same question is asked once more without anybody asking for it."""

    NO = "no"
    BY_POLICY = "by the rerun policy"
    IF_TRANSIENT = "if transient"


class AutomationRecord(StrEnum):
    """How an analysis that started by itself is booked."""

    NONE = "none"
    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Effects:
    """What each downstream record does."""

    card: str
    rerun: Rerun
    no_reply_alarm: bool
    automation: AutomationRecord


_CUT = Effects("says who and links on", Rerun.NO, no_reply_alarm=False, automation=AutomationRecord.NONE)
_WAITS = Effects("waiting", Rerun.NO, no_reply_alarm=False, automation=AutomationRecord.NONE)

EFFECTS: Mapping[SettleReason, Effects] = MappingProxyType({
    SettleReason.COMPLETED: Effects("done", Rerun.NO, no_reply_alarm=False, automation=AutomationRecord.SUCCESS),
    SettleReason.EMPTY: Effects("no answer", Rerun.BY_POLICY, no_reply_alarm=True, automation=AutomationRecord.FAILURE),
    SettleReason.FAILED: Effects(
        "failed", Rerun.IF_TRANSIENT, no_reply_alarm=False, automation=AutomationRecord.FAILURE
    ),
    SettleReason.TIMED_OUT: Effects("failed", Rerun.NO, no_reply_alarm=False, automation=AutomationRecord.FAILURE),
    SettleReason.ABANDONED: Effects("failed", Rerun.NO, no_reply_alarm=False, automation=AutomationRecord.FAILURE),
    SettleReason.STEERED: _CUT,
    SettleReason.STOPPED: _CUT,
    SettleReason.ROLLED_BACK: _CUT,
    SettleReason.DISPATCHED: _WAITS,
    SettleReason.AWAITING: _WAITS,
})


def as_markdown() -> dict[str, str]:
    """The effects as a table for the documents."""
    rows = [
        (reason.value, effects.card, effects.rerun.value, "yes" if effects.no_reply_alarm else "no", effects.automation)
        for reason, effects in EFFECTS.items()
    ]
    return {"settle_effects": table(("reason", "card", "rerun", '"no final reply" alarm', "automation record"), rows)}
