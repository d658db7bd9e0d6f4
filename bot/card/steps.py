"""The calls of a run in words: one step each, and the lines that name what was finished, dropped or is uncertain.

Pure. A call is named by its title; where it goes to is shown as code, because a tool or a model chose it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from bot.card import spans
from bot.card.spans import Line
from bot.card.text import clip, duration, label, shown_url, took
from bot.rules.card_facts import CardFacts, StepFacts, StepState
from bot.rules.card_states import Listing
from bot.rules.door_words import refused_in_words
from bot.rules.interrupt_states import OUTCOMES_LISTED
from bot.rules.terms import ApprovalState, Grade, RunState

LONGEST_STEP = 120
MOST_NAMED = 6
"""Calls named in one line; an uncertain one is always named (up to MOST_UNCERTAIN), somebody has to look at each."""
MOST_UNCERTAIN = 20
LONGEST_LINE = 400


class StepStatus(StrEnum):
    """How a step is marked; Slack has these four and no other."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class StepView:
    """One call: what it does, how it is marked, and what came of it."""

    call_id: str
    title: str
    status: StepStatus
    note: Line


STEP_WORDS: Mapping[StepState, tuple[StepStatus, str]] = MappingProxyType({
    StepState.WAITING: (StepStatus.PENDING, "waiting its turn"),
    StepState.RUNNING: (StepStatus.IN_PROGRESS, ""),
    StepState.OK: (StepStatus.COMPLETE, ""),
    StepState.FAILED: (StepStatus.ERROR, "failed"),
    StepState.BLOCKED: (StepStatus.ERROR, "blocked"),
    StepState.TIMED_OUT: (StepStatus.ERROR, "took too long"),
    StepState.CANCELLED: (StepStatus.ERROR, "dropped"),
    StepState.SUPERSEDED: (StepStatus.ERROR, "dropped for a newer message"),
    StepState.NOT_STARTED: (StepStatus.ERROR, "not started"),
    StepState.UNKNOWN: (StepStatus.ERROR, "may have happened, check before retrying"),
})

APPROVAL_WORDS: Mapping[ApprovalState, tuple[StepStatus, str]] = MappingProxyType({
    ApprovalState.WAITING: (StepStatus.PENDING, "needs a yes"),
    ApprovalState.APPROVED: (StepStatus.PENDING, "approved, waiting its turn"),
    ApprovalState.DENIED: (StepStatus.ERROR, "denied"),
    ApprovalState.EXPIRED: (StepStatus.ERROR, "expired: nobody said yes in time"),
    ApprovalState.SUPERSEDED: (StepStatus.ERROR, "not started, its approval does not count any more"),
})
"""What is said of a call that waits for a yes, or got none."""

_NEVER_RAN = frozenset({StepState.BLOCKED, StepState.NOT_STARTED, StepState.SUPERSEDED, StepState.CANCELLED})
_REFUSED = frozenset({ApprovalState.DENIED, ApprovalState.EXPIRED, ApprovalState.SUPERSEDED})

LISTED: Mapping[Listing, frozenset[StepState]] = MappingProxyType({
    listing: frozenset(StepState(outcome.value) for outcome in outcomes)
    for listing, outcomes in OUTCOMES_LISTED.items()
})


def state_shown(step: StepFacts, run_state: RunState) -> StepState:
    """How far the call has come; after the end of a run nothing is shown as if it were still going on."""
    if run_state is not RunState.SETTLED:
        return step.state
    if step.state is StepState.WAITING:
        return StepState.NOT_STARTED
    if step.state is StepState.RUNNING:
        return StepState.UNKNOWN if step.grade is Grade.WRITE else StepState.CANCELLED
    return step.state


def step_views(facts: CardFacts, now: float) -> tuple[StepView, ...]:
    """Every call, oldest first."""
    approvals = {each.request_id: each.state for each in facts.approvals}
    return tuple(
        _step_view(step, state_shown(step, facts.run_state), approvals.get(step.request_id), now)
        for step in facts.steps
    )


def listing_lines(facts: CardFacts, listings: Iterable[Listing]) -> tuple[Line, ...]:
    """The lines that name calls, without the empty ones."""
    lines = (_listing(listing, _names(facts, LISTED[listing])) for listing in listings)
    return tuple(filter(None, lines))


def not_undone_lines(facts: CardFacts) -> tuple[Line, ...]:
    """The line that names the started writes of set-aside steps: what is left for somebody to undo."""
    aside = [step for step in facts.steps if facts.rolled_back_by and _is_left(step, facts.rolled_back_to or 0)]
    names = _named(aside)
    if not names:
        return ()
    more = f" and {len(names) - MOST_UNCERTAIN} more" if len(names) > MOST_UNCERTAIN else ""
    named = clip(", ".join(names[:MOST_UNCERTAIN]), LONGEST_LINE)
    return ((*spans.strong("Not undone: "), *spans.foreign(named, LONGEST_LINE), *spans.own(more)),)


def _is_left(step: StepFacts, kept: int) -> bool:
    # What may have happened has a line of its own.
    is_named = step.state not in {StepState.UNKNOWN, StepState.NOT_STARTED}
    return is_named and step.grade is Grade.WRITE and step.started_at is not None and step.round > kept


def subagent_lines(facts: CardFacts) -> tuple[Line, ...]:
    """One line for each sub-agent that this run has sent out."""
    return tuple(
        spans.join([spans.foreign(each.title), spans.own(f"step {each.step}" if each.is_out else "has reported")])
        for each in facts.subagents[:10]
    )


def _step_view(step: StepFacts, state: StepState, approval: ApprovalState | None, now: float) -> StepView:
    of_approval = _approval_words(state, approval)
    status, words = of_approval or STEP_WORDS[state]
    is_blocked = state is StepState.BLOCKED and bool(step.blocked_by) and of_approval is None
    note = spans.join([
        spans.target(step.target),
        (*spans.own(f"{words}: "), *spans.foreign(refused_in_words(step.blocked_by or "")))
        if is_blocked
        else spans.own(words),
        spans.own(str(step.status)) if step.status is not None else (),
        _time_taken(step, state, now),
    ])
    return StepView(step.call_id, label(step.title, LONGEST_STEP) or "A call", status, note)


def _approval_words(state: StepState, approval: ApprovalState | None) -> tuple[StepStatus, str] | None:
    """The words of the approval where they say more than those of the call."""
    if approval is not None and (state is StepState.WAITING or (state in _NEVER_RAN and approval in _REFUSED)):
        return APPROVAL_WORDS.get(approval)
    return None


def _time_taken(step: StepFacts, state: StepState, now: float) -> Line:
    if state is StepState.RUNNING and step.started_at is not None:
        return spans.own(duration(now - step.started_at))
    return spans.own(took(step.elapsed_ms)) if step.elapsed_ms is not None else ()


def _names(facts: CardFacts, states: frozenset[StepState]) -> list[str]:
    """The calls in these states by name, each once, with how often where it was more than once."""
    return _named(step for step in facts.steps if state_shown(step, facts.run_state) in states)


def _named(steps: Iterable[StepFacts]) -> list[str]:
    named = Counter(map(call_name, steps))
    return [name if times == 1 else f"{name} ({times} times)" for name, times in named.items()]


def call_name(step: StepFacts) -> str:
    """A read by its title; a write also by its target, without which nobody could check what happened."""
    title, goes_to = label(step.title, spans.LONGEST_NAME) or "a call", shown_url(step.target)
    if step.grade is Grade.READ or not goes_to or goes_to in title:
        return title
    return f"{title} ({clip(goes_to, spans.LONGEST_NAME)})"


def _listing(listing: Listing, names: list[str]) -> Line:
    if not names:
        return ()
    is_uncertain = listing is Listing.UNCERTAIN
    shown = names[: MOST_UNCERTAIN if is_uncertain else MOST_NAMED]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    named = clip(", ".join(shown), LONGEST_LINE)
    if is_uncertain:
        return spans.strong(f"{listing}: {named}{more} may have happened, check before retrying")
    return (*spans.strong(f"{listing}: "), *spans.foreign(named, LONGEST_LINE), *spans.own(more))
