"""The states of a card: which one a run's row means, and the words and buttons of each.

Owns every sentence of a state, as a template (bot.rules.wording). The view fills the holes and adds nothing else, so
the table in the documents is what people see.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from bot.rules.interrupt_order import INTERRUPT_ORDER
from bot.rules.markdown import table
from bot.rules.terms import InterruptKind, ParkedFor, RunState, SettleReason


class CardState(StrEnum):
    """What a card says is going on."""

    QUEUED = "queued"
    RUNNING = "running"
    STEER_RECEIVED = "steer received"
    PAUSING = "pausing"
    PAUSED = "paused"
    WANTS_APPROVAL = "wants approval"
    STOPPING = "stopping"
    STOPPED = "stopped"
    STEERED = "steered"
    ROLLED_BACK = "rolled back"
    SUBAGENTS_OUT = "sub-agents out"
    DONE = "done"
    NO_ANSWER = "no answer"
    FAILED = "failed"


class Action(StrEnum):
    """What a button asks for; the value is the button's action_id."""

    STOP = "steersman_stop"
    PAUSE = "steersman_pause"
    RESUME = "steersman_resume"
    APPROVE = "steersman_approve"
    DENY = "steersman_deny"


OF_AN_APPROVAL = (Action.APPROVE, Action.DENY)
"""These stand with the call that they decide, once for each call that waits."""


class Listing(StrEnum):
    """A line that names calls; the value is how the line begins."""

    FINISHED = "Finished"
    NOT_STARTED = "Not started"
    DROPPED = "Dropped"
    UNCERTAIN = "Uncertain"


@dataclass(frozen=True, slots=True)
class StateRow:
    """The words of a state: `badge` stands behind the question, `line` below it. A card that is over never changes."""

    badge: str
    line: str = ""
    buttons: tuple[Action, ...] = ()
    # A call that may have happened is named in every state: somebody has to look before it is tried again.
    lists: tuple[Listing, ...] = (Listing.UNCERTAIN,)
    is_over: bool = False


_ALL = tuple(Listing)

CARD_STATES: Mapping[CardState, StateRow] = MappingProxyType({
    CardState.QUEUED: StateRow("waiting for {turn}", "[{place}.][ {held}.]", (Action.STOP,)),
    CardState.RUNNING: StateRow("investigating[ · step {step}]", "{now}", (Action.PAUSE, Action.STOP)),
    CardState.STEER_RECEIVED: StateRow(
        "changing course", "Taking in {message}[ when {open} back][ (at most {patience})].", (Action.STOP,)
    ),
    CardState.PAUSING: StateRow("pausing", "Pauses when {open_or_moment}.", (Action.STOP,)),
    CardState.PAUSED: StateRow(
        "paused[ by {who}]",
        "Reply to add a note. Resume goes on from step {next}.[ {reminder}]",
        (Action.RESUME, Action.STOP),
    ),
    CardState.WANTS_APPROVAL: StateRow(
        "needs a yes[: {asked}]",
        "Nothing is sent before somebody says yes.",
        (Action.APPROVE, Action.DENY, Action.STOP),
    ),
    CardState.STOPPING: StateRow("stopping", "{ending}."),
    CardState.STOPPED: StateRow("stopped[ by {who}][ after {steps}]", "Mention me to go on.", lists=_ALL, is_over=True),
    CardState.STEERED: StateRow("steered[ by {who}]", "{continued}", is_over=True),
    CardState.ROLLED_BACK: StateRow(
        "taken back[ to {back_to}][ by {who}]",
        "[{aside} set aside. ]{go_on}",
        lists=_ALL,
        is_over=True,
    ),
    CardState.SUBAGENTS_OUT: StateRow("waiting for {awaited}", buttons=(Action.STOP,)),
    CardState.DONE: StateRow("done[ in {took}]", "{usage}. {answer}.", is_over=True),
    CardState.NO_ANSWER: StateRow("ended without an answer", "{retry_or_ask}", lists=_ALL, is_over=True),
    CardState.FAILED: StateRow("failed", "{failure}[ {retry}]", lists=_ALL, is_over=True),
})

TAKEN_BACK_AFTERWARDS = "Taken back[ to {back_to}][ by {taker}].[ {aside} set aside.]"
"""The line on the card of a run that had ended otherwise, and was taken back after that."""

HOLES: Mapping[str, str] = MappingProxyType({
    "answer": '"Answer below", a link once the answer is posted',
    "aside": "the steps that no longer count: Steps 4 to 6 are, or: All its steps are",
    "asked": "what waits for a yes: restart checkout, or: restart checkout and 2 others",
    "awaited": "2 of 3 sub-agents, or: an answer",
    "back_to": "the step gone back to: step 3, or the start",
    "continued": '"Continued below.", a link to the next card',
    "ending": "what is waited for: 2 reads dropped; waiting up to 3 s for Restart checkout",
    "failure": "what happened and who can mend it",
    "go_on": '"Say where to go next.", or "Continued below." with a link where a next analysis has a card',
    "held": "the limit that it waits for: This channel may have no more analyses at work",
    "message": "@ben's message",
    "next": "the number of the next step",
    "now": "the call in flight: Read metrics of checkout, its address, 3 s",
    "open": "the 2 open calls are",
    "open_or_moment": "the 2 open calls are back, or: the step is finished",
    "patience": "the longest time that reads are waited for: 5 s",
    "place": "Number 3 in line",
    "reminder": "It ends within a day unless somebody resumes it.",
    "retry": "Trying once more (1 of 2).",
    "retry_or_ask": "Trying once more (1 of 2)., or what to do",
    "step": "the number of the step under way",
    "steps": "5 steps",
    "taker": "@ana, who took the thread back",
    "took": "2 min 10 s",
    "turn": "a free worker, or: its turn",
    "usage": "14 calls · 0.04 USD",
    "who": "@ana",
})
"""What each hole of a sentence is filled with, by example."""

LABELS: Mapping[Action, str] = MappingProxyType({
    Action.STOP: "Stop",
    Action.PAUSE: "Pause",
    Action.RESUME: "Resume",
    Action.APPROVE: "Approve",
    Action.DENY: "Deny",
})

_BY_REASON: Mapping[SettleReason, CardState] = MappingProxyType({
    SettleReason.COMPLETED: CardState.DONE,
    SettleReason.EMPTY: CardState.NO_ANSWER,
    SettleReason.FAILED: CardState.FAILED,
    SettleReason.TIMED_OUT: CardState.FAILED,
    SettleReason.ABANDONED: CardState.FAILED,
    SettleReason.STEERED: CardState.STEERED,
    SettleReason.STOPPED: CardState.STOPPED,
    SettleReason.ROLLED_BACK: CardState.ROLLED_BACK,
    SettleReason.DISPATCHED: CardState.SUBAGENTS_OUT,
    SettleReason.AWAITING: CardState.SUBAGENTS_OUT,
})

_ENDING: Mapping[InterruptKind, CardState] = MappingProxyType({
    InterruptKind.STOP: CardState.STOPPING,
    InterruptKind.ROLLBACK: CardState.STOPPING,
})

_WHILE_RUNNING: Mapping[InterruptKind, CardState] = MappingProxyType({
    **_ENDING,
    InterruptKind.PAUSE: CardState.PAUSING,
    InterruptKind.STEER: CardState.STEER_RECEIVED,
})


def state_of(
    run_state: RunState,
    parked_for: ParkedFor | None,
    reason: SettleReason | None,
    pending: Container[InterruptKind] = frozenset(),
    *,
    wants_yes: bool | None = None,
) -> CardState:
    """The state of a run's card; total, and over for every settled run but one whose sub-agents are out.

    `wants_yes`: whether a write waits for its approval, perhaps while other calls of its batch are still at work; None
    where that is not known.
    """
    match run_state:
        case RunState.SETTLED:
            return _BY_REASON[reason] if reason else CardState.FAILED
        case RunState.CANCELLING:
            return CardState.STOPPING
        case RunState.RUNNING:
            return _first(_WHILE_RUNNING, pending) or (CardState.WANTS_APPROVAL if wants_yes else CardState.RUNNING)
        case RunState.PARKED:
            return _first(_ENDING, pending) or _waits(parked_for, wants_yes)
        case RunState.QUEUED:
            # A steer joins a run that has not started: it changes nothing that the card could say.
            return _first(_ENDING, pending) or CardState.QUEUED


def _waits(parked_for: ParkedFor | None, wants_yes: bool | None) -> CardState:
    if parked_for is not ParkedFor.APPROVAL:
        return CardState.PAUSED
    # Every call is decided, and the run only waits for a worker.
    return CardState.RUNNING if wants_yes is False else CardState.WANTS_APPROVAL


def as_markdown() -> dict[str, str]:
    """The states, and what fills the holes of their sentences, as tables for the documents."""
    states = [
        (state.value, row.badge, row.line or "-", ", ".join(LABELS[each] for each in row.buttons) or "-")
        for state, row in CARD_STATES.items()
    ]
    return {
        "card_states": table(("state", "title", "line", "buttons"), states),
        "card_holes": table(("hole", "filled with"), [(f"{{{name}}}", text) for name, text in HOLES.items()]),
    }


def _first(states: Mapping[InterruptKind, CardState], pending: Container[InterruptKind]) -> CardState | None:
    """The state for the pending interrupt that is probed first."""
    return next((states[kind] for kind in INTERRUPT_ORDER if kind in states and kind in pending), None)
