"""What a card says of a thread that was taken back: in its title if it was cut for that, in a line if it was over."""

import pytest

from bot.card.spans import plain
from bot.card.view import view
from bot.rules.card_facts import StepFacts, StepState
from bot.rules.terms import Grade, SettleReason
from tests.card.samples import NOW, ended


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ({"rolled_back_to": 3, "round": 6}, "Taken back to step 3 by @U0BEN. Steps 4 to 6 are set aside."),
        ({"rolled_back_to": 5, "round": 6}, "Taken back to step 5 by @U0BEN. Step 6 is set aside."),
        ({"rolled_back_to": 0, "round": 2}, "Taken back to the start by @U0BEN. Steps 1 to 2 are set aside."),
        ({"rolled_back_to": None, "round": 2}, "Taken back by @U0BEN. All its steps are set aside."),
    ],
)
@pytest.mark.parametrize("reason", [SettleReason.COMPLETED, SettleReason.STOPPED, SettleReason.STEERED])
def test_the_card_of_a_run_that_was_over_says_first_how_far_it_was_taken_back_since(reason, parts, line):
    shown = view(ended(reason, rolled_back_by="U0BEN", **parts), NOW)

    assert plain(shown.lines[0]) == line


def test_a_card_that_was_cut_to_be_taken_back_says_so_once():
    shown = view(ended(SettleReason.ROLLED_BACK, acted_by="U0ANA", rolled_back_by="U0ANA", rolled_back_to=3), NOW)

    assert plain(shown.badge) == "taken back to step 3 by @U0ANA"
    assert not any("Taken back" in plain(line) for line in shown.lines)


def test_the_card_names_the_writes_of_set_aside_steps_that_are_not_undone_each_once():
    begun = {"grade": Grade.WRITE, "started_at": 1.0}
    steps = (
        StepFacts("a", "Scale out", "checkout", StepState.OK, round=1, **begun),
        StepFacts("b", "Restart", "checkout", StepState.OK, round=2, **begun),
        StepFacts("c", "Drain", "checkout", StepState.UNKNOWN, round=2, **begun),
        StepFacts("d", "Delete", "checkout", StepState.NOT_STARTED, Grade.WRITE, round=2),
        StepFacts("e", "Read /log", "checkout", StepState.OK, Grade.READ, 200, started_at=1.0, round=2),
        StepFacts("f", "Purge", "cache", StepState.TIMED_OUT, round=3, **begun),
    )

    shown = view(ended(SettleReason.STOPPED, rolled_back_by="U0BEN", rolled_back_to=1, round=3, steps=steps), NOW)

    lines = [plain(line) for line in shown.lines]
    assert lines[1] == "Not undone: Restart (checkout), Purge (cache)"
    assert sum("Drain" in line for line in lines) == 1


def test_without_a_rollback_nothing_is_called_not_undone():
    step = StepFacts("a", "Restart", "checkout", StepState.OK, Grade.WRITE, started_at=1.0, round=2)

    shown = view(ended(SettleReason.STOPPED, steps=(step,), round=2), NOW)

    assert not any("Not undone" in plain(line) for line in shown.lines)
