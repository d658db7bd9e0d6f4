"""From how a run ended, and what was pending, to how it is settled; the table is written out here by hand."""

import itertools

import pytest

from bot.rules.interrupt_order import INTERRUPT_ORDER, OUTRANKS_AN_END, SUSPENDS, Pending
from bot.rules.terms import FailureClass, InterruptKind, InterruptSource, SettleReason
from bot.rules.turn_ends import (
    CUT_REASONS,
    Abandoned,
    Cut,
    Empty,
    Failed,
    Finished,
    TimedOut,
    as_markdown,
    decide,
)

OWN_ENDS = {
    Finished(7): "completed",
    Empty(): "empty",
    Failed(FailureClass.HISTORY, "no", 400): "failed",
    TimedOut(): "timed_out",
    Abandoned(): "abandoned",
}
REASONS = {
    "stop": "stopped",
    "rollback": "rolled_back",
    "steer": "steered",
    "dispatch": "dispatched",
    "await": "awaiting",
}


def pending(kind, source=InterruptSource.MESSAGE, who="ana"):
    return Pending(InterruptKind(kind), source, who)


@pytest.mark.parametrize(("end", "reason"), list(OWN_ENDS.items()))
def test_with_nothing_pending_an_end_is_what_it_is(end, reason):
    outcome = decide(end, [])

    assert outcome.reason.value == reason
    assert (outcome.final_event_id is not None) is (reason == "completed")
    assert outcome.decided_by is None


@pytest.mark.parametrize(("end", "kind"), list(itertools.product(OWN_ENDS, ["stop", "rollback", "steer"])))
def test_a_stop_a_rollback_and_a_steer_outrank_every_end_and_leave_no_final_event(end, kind):
    outcome = decide(end, [pending(kind)])

    assert (outcome.reason.value, outcome.final_event_id) == (REASONS[kind], None)
    assert outcome.decided_by == pending(kind)


@pytest.mark.parametrize(("end", "kind"), list(itertools.product(OWN_ENDS, ["pause", "drain", "dispatch", "await"])))
def test_everything_else_that_is_pending_is_moot_at_an_end(end, kind):
    assert decide(end, [pending(kind)]) == decide(end, [])


@pytest.mark.parametrize("kind", list(CUT_REASONS))
def test_a_cut_has_its_own_reason_and_never_a_final_event(kind):
    outcome = decide(Cut(pending(kind)), [])

    assert (outcome.reason.value, outcome.final_event_id) == (REASONS[kind.value], None)


@pytest.mark.parametrize(("cut", "other"), list(itertools.product(CUT_REASONS, InterruptKind)))
def test_a_cut_gives_way_only_to_an_earlier_stop_rollback_or_steer(cut, other):
    outcome = decide(Cut(pending(cut)), [pending(other)])

    is_earlier = INTERRUPT_ORDER.index(other) < INTERRUPT_ORDER.index(cut)
    expected = other if is_earlier and other in OUTRANKS_AN_END else cut
    assert outcome.reason.value == REASONS[expected.value]


def test_the_stamped_cut_decides_among_equals():
    outcome = decide(Cut(pending("stop", who="ana")), [pending("stop", who="bob")])

    assert outcome.decided_by.requested_by == "ana"


@pytest.mark.parametrize(
    ("source", "reason", "failure"),
    [
        (InterruptSource.BUTTON, "stopped", None),
        (InterruptSource.NATIVE_STOP, "stopped", None),
        (InterruptSource.MESSAGE, "stopped", None),
        (InterruptSource.API, "stopped", None),
        (InterruptSource.SIGTERM, "stopped", None),
        (InterruptSource.TIMEOUT, "timed_out", None),
        (InterruptSource.POLICY, "failed", "budget"),
    ],
)
def test_a_stop_is_told_by_its_source(source, reason, failure):
    outcome = decide(Cut(pending("stop", source)), [])

    assert (outcome.reason, outcome.failure) == (reason, failure)


@pytest.mark.parametrize("kind", sorted(SUSPENDS))
def test_what_suspends_a_run_cannot_settle_it(kind):
    with pytest.raises(ValueError, match="suspends a run"):
        decide(Cut(pending(kind)), [])


def test_a_failure_keeps_what_is_said_of_it():
    outcome = decide(Failed(FailureClass.MODEL_AUTH, "key refused", 401), [])

    assert (outcome.failure, outcome.detail, outcome.status) == (FailureClass.MODEL_AUTH, "key refused", 401)


@pytest.mark.parametrize("count", [1, 2])
def test_every_end_with_every_set_of_pending_interrupts_has_one_answer(count):
    ends = [*OWN_ENDS, *(Cut(pending(kind)) for kind in CUT_REASONS)]
    sets = itertools.product(ends, itertools.combinations(InterruptKind, count))

    outcomes = [decide(end, [pending(kind) for kind in kinds]) for end, kinds in sets]

    assert all(isinstance(outcome.reason, SettleReason) for outcome in outcomes)
    assert all((outcome.final_event_id is None) or outcome.reason == "completed" for outcome in outcomes)


def test_the_table_for_the_documents_has_a_column_for_each_interrupt():
    lines = as_markdown()["turn_ends"].splitlines()

    assert len(lines) == 2 + 5 + len(CUT_REASONS)
    assert lines[0].count("pending") == 1 + len(InterruptKind)
