"""How an interrupt moves: only forward, and what it came to is kept beside it.

triggered: somebody asked. cancelling: the run is being ended for it, and nothing may start any more. done: it was
carried out. moot: something else came first, or it was taken back.
"""

from collections.abc import Mapping
from types import MappingProxyType

from bot.rules.card_states import Listing
from bot.rules.markdown import table
from bot.rules.terms import CallOutcome, InterruptState

INTERRUPT_MOVES: Mapping[InterruptState, frozenset[InterruptState]] = MappingProxyType({
    InterruptState.TRIGGERED: frozenset({InterruptState.CANCELLING, InterruptState.DONE, InterruptState.MOOT}),
    InterruptState.CANCELLING: frozenset({InterruptState.DONE, InterruptState.MOOT}),
    InterruptState.DONE: frozenset(),
    InterruptState.MOOT: frozenset(),
})

OPEN = tuple(state for state, moves in INTERRUPT_MOVES.items() if moves)
"""The states of what is still to be carried out."""

OUTCOMES_LISTED: Mapping[Listing, frozenset[CallOutcome]] = MappingProxyType({
    Listing.FINISHED: frozenset({CallOutcome.OK}),
    Listing.NOT_STARTED: frozenset({CallOutcome.NOT_STARTED}),
    Listing.DROPPED: frozenset({CallOutcome.CANCELLED, CallOutcome.SUPERSEDED}),
    Listing.UNCERTAIN: frozenset({CallOutcome.UNKNOWN}),
})
"""Which calls stand in which line of a stopped card, and in which list of the interrupt that ended the run."""


def listing_of(outcome: CallOutcome) -> Listing | None:
    """The list that a call with this outcome stands in; None for one that failed by itself or was refused."""
    return next((listing for listing, outcomes in OUTCOMES_LISTED.items() if outcome in outcomes), None)


def as_markdown() -> dict[str, str]:
    """The moves of an interrupt, and the lists of calls, as tables for the documents."""
    moves = [
        (state.value, ", ".join(to.value for to in InterruptState if to in INTERRUPT_MOVES[state]) or "(none)")
        for state in InterruptState
    ]
    lists = [
        (listing.value, ", ".join(each.value for each in CallOutcome if each in outcomes))
        for listing, outcomes in OUTCOMES_LISTED.items()
    ]
    return {
        "interrupt_states": table(("state", "may become"), moves),
        "step_lists": table(("line", "calls whose outcome is"), lists),
    }
