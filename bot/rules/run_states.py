"""How a run moves from state to state, and which phase of its thread a message meets.

A run only moves forward, except that a parked one may run again. No state leads out of settled.
"""

from collections.abc import Mapping
from types import MappingProxyType

from bot.rules.markdown import table
from bot.rules.terms import ParkedFor, Phase, RunState

MOVES: Mapping[RunState, frozenset[RunState]] = MappingProxyType({
    RunState.QUEUED: frozenset({RunState.RUNNING, RunState.PARKED, RunState.SETTLED}),
    RunState.RUNNING: frozenset({RunState.CANCELLING, RunState.PARKED, RunState.SETTLED}),
    RunState.CANCELLING: frozenset({RunState.SETTLED}),
    # A run that was paused before its first claim goes back to the queue: it has not started.
    RunState.PARKED: frozenset({RunState.RUNNING, RunState.QUEUED, RunState.SETTLED}),
    RunState.SETTLED: frozenset(),
})

UNSETTLED = frozenset(RunState) - {RunState.SETTLED}


def phase_of(run_state: RunState | None, parked_for: ParkedFor | None, *, ever_asked: bool) -> Phase:
    """The phase that a message meets; `run_state` is that of the thread's newest run, None where it has none."""
    if run_state is None or run_state is RunState.SETTLED:
        return Phase.IDLE if ever_asked else Phase.UNTOUCHED
    if run_state is not RunState.PARKED:
        return Phase.RUNNING
    return Phase.WAITING_APPROVAL if parked_for is ParkedFor.APPROVAL else Phase.PAUSED


def as_markdown() -> dict[str, str]:
    """The moves as a table for the documents."""
    order = list(RunState)
    rows = [(state.value, ", ".join(to.value for to in order if to in MOVES[state]) or "(none)") for state in order]
    return {"run_states": table(("state", "may become"), rows)}
