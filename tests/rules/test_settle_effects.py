"""What follows from a reason; the table is written out here a second time, by hand."""

import pytest

from bot.rules.settle_effects import EFFECTS, AutomationRecord, Rerun, as_markdown
from bot.rules.terms import SettleReason

BY_HAND = {
    # reason: rerun, alarm, automation record
    "completed": ("no", False, "success"),
    "empty": ("by the rerun policy", True, "failure"),
    "failed": ("if transient", False, "failure"),
    "timed_out": ("no", False, "failure"),
    "abandoned": ("no", False, "failure"),
    "steered": ("no", False, "none"),
    "stopped": ("no", False, "none"),
    "rolled_back": ("no", False, "none"),
    "dispatched": ("no", False, "none"),
    "awaiting": ("no", False, "none"),
}


@pytest.mark.parametrize(("reason", "effects"), list(BY_HAND.items()))
def test_a_reason_has_the_effects_of_the_design(reason, effects):
    found = EFFECTS[SettleReason(reason)]

    assert (found.rerun.value, found.no_reply_alarm, found.automation.value) == effects


def test_every_reason_has_its_effects():
    assert set(EFFECTS) == set(SettleReason)
    assert {reason.value for reason in EFFECTS} == set(BY_HAND)


@pytest.mark.parametrize("reason", [SettleReason.STEERED, SettleReason.STOPPED, SettleReason.ROLLED_BACK])
def test_a_run_that_was_cut_by_a_person_is_run_again_by_nobody_and_alarms_nobody(reason):
    effects = EFFECTS[reason]

    assert (effects.rerun, effects.no_reply_alarm, effects.automation) == (Rerun.NO, False, AutomationRecord.NONE)
    assert effects.card == "says who and links on"


def test_only_a_run_without_an_answer_raises_the_alarm_for_it():
    assert [reason for reason, effects in EFFECTS.items() if effects.no_reply_alarm] == [SettleReason.EMPTY]


def test_the_table_for_the_documents_has_a_row_for_each_reason():
    rows = as_markdown()["settle_effects"].splitlines()[2:]

    assert [row.split("|")[1].strip() for row in rows] == list(BY_HAND)
