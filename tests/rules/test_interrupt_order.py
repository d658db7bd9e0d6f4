"""Which interrupt decides; the order is written out here a second time, by hand."""

import itertools

import pytest

from bot.rules.interrupt_order import (
    INTERRUPT_ORDER,
    OUTRANKS_AN_END,
    SUSPENDS,
    WHAT_IT_DOES,
    Pending,
    as_markdown,
    first,
)
from bot.rules.terms import InterruptKind, InterruptSource

BY_HAND = ["stop", "rollback", "pause", "steer", "drain", "dispatch", "await"]


def pending(kind, who="ana"):
    return Pending(InterruptKind(kind), InterruptSource.MESSAGE, who)


def test_the_order_is_the_one_of_the_design_and_names_each_interrupt_once():
    assert [kind.value for kind in INTERRUPT_ORDER] == BY_HAND
    assert set(INTERRUPT_ORDER) == set(InterruptKind)


def test_nothing_pending_decides_nothing():
    assert first([]) is None


@pytest.mark.parametrize(("earlier", "later"), list(itertools.combinations(BY_HAND, 2)))
def test_of_two_the_earlier_in_the_order_decides_whichever_was_recorded_first(earlier, later):
    both = [pending(earlier), pending(later)]

    assert first(both).kind.value == first(both[::-1]).kind.value == earlier


def test_among_equals_the_one_that_was_recorded_first_decides():
    assert first([pending("stop", "ana"), pending("stop", "bob")]).requested_by == "ana"


def test_only_pause_and_drain_keep_the_run():
    assert {kind.value for kind in SUSPENDS} == {"pause", "drain"}


def test_only_stop_rollback_and_steer_outrank_an_end_of_the_runs_own():
    assert {kind.value for kind in OUTRANKS_AN_END} == {"stop", "rollback", "steer"}
    assert not OUTRANKS_AN_END & SUSPENDS


def test_the_table_for_the_documents_has_a_row_for_each_interrupt_in_order():
    rows = as_markdown()["interrupt_order"].splitlines()[2:]

    assert [row.split("|")[2].strip() for row in rows] == BY_HAND
    assert set(WHAT_IT_DOES) == set(InterruptKind)
