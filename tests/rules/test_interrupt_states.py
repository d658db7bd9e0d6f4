"""An interrupt moves forward only; which calls stand in which list is written out here by hand."""

import itertools

from bot.rules.card_states import Listing
from bot.rules.interrupt_states import INTERRUPT_MOVES, OPEN, OUTCOMES_LISTED, as_markdown, listing_of
from bot.rules.terms import CallOutcome, InterruptState

ORDER = [InterruptState.TRIGGERED, InterruptState.CANCELLING, InterruptState.DONE]


def test_every_state_has_its_moves():
    assert set(INTERRUPT_MOVES) == set(InterruptState)


def test_no_move_leads_back():
    for before, after in itertools.combinations(ORDER, 2):
        assert before not in INTERRUPT_MOVES[after]
        assert after in INTERRUPT_MOVES[before]


def test_what_is_done_or_moot_stays_so():
    assert INTERRUPT_MOVES[InterruptState.DONE] == INTERRUPT_MOVES[InterruptState.MOOT] == frozenset()
    assert OPEN == (InterruptState.TRIGGERED, InterruptState.CANCELLING)


def test_every_outcome_of_a_call_stands_in_one_list_at_most():
    listed = {outcome: listing_of(outcome) for outcome in CallOutcome}

    assert listed == {
        CallOutcome.OK: Listing.FINISHED,
        CallOutcome.FAILED: None,
        CallOutcome.BLOCKED: None,
        CallOutcome.TIMED_OUT: None,
        CallOutcome.CANCELLED: Listing.DROPPED,
        CallOutcome.SUPERSEDED: Listing.DROPPED,
        CallOutcome.NOT_STARTED: Listing.NOT_STARTED,
        CallOutcome.UNKNOWN: Listing.UNCERTAIN,
    }
    assert sum(map(len, OUTCOMES_LISTED.values())) == len(set().union(*OUTCOMES_LISTED.values()))


def test_the_page_shows_the_moves_and_the_lists():
    printed = as_markdown()

    assert "| triggered | cancelling, done, moot |" in printed["interrupt_states"]
    assert "| done | (none) |" in printed["interrupt_states"]
    assert "| Dropped | cancelled, superseded |" in printed["step_lists"]
