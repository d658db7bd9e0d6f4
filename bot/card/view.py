"""From facts to words: what a card says, as spans, before anything is turned into blocks.

Pure and total: every combination of facts has a view. Owns the filling of the sentences in bot.rules.card_states;
never escapes, never counts what Slack allows, never decides anything about a run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bot.card import spans
from bot.card.spans import Line
from bot.card.steps import StepView, call_name, listing_lines, step_views, subagent_lines
from bot.card.text import count, duration, label, took
from bot.rules.card_facts import CardFacts, StepFacts, StepState
from bot.rules.card_states import CARD_STATES, LABELS, Action, CardState, state_of
from bot.rules.failure_words import ending_words, failure_words
from bot.rules.terms import FailureClass, Grade, InterruptKind, RunState, SettleReason
from bot.rules.wording import holes

LONGEST_TITLE = 200
"""UTF-16 units of the question; what the run is doing stands behind it and has to stay in sight on a phone."""

STYLES: Mapping[Action, str] = MappingProxyType({Action.STOP: "danger", Action.RESUME: "primary"})


@dataclass(frozen=True, slots=True)
class Button:
    """A button: Slack's action_id, its label, style (empty: the plain one) and the value that names what it acts on."""

    action: Action
    label: str
    style: str
    value: str


@dataclass(frozen=True, slots=True)
class CardView:
    """What a card says. `context_line` is a tuple of pieces, `lines` one line each."""

    state: CardState
    title: str
    badge: Line
    now_line: Line
    steps: tuple[StepView, ...]
    context_line: tuple[Line, ...]
    lines: tuple[Line, ...]
    buttons: tuple[Button, ...]
    is_over: bool


def view(facts: CardFacts, now: float) -> CardView:
    """What the card of these facts says at `now` (epoch seconds)."""
    pending = frozenset(kind for kind, _ in facts.pending)
    state = state_of(facts.run_state, facts.parked_for, facts.settle_reason, pending)
    row = CARD_STATES[state]
    values = {name: FILLS[name](facts, now) for name in holes(row.badge) | holes(row.line)}
    return CardView(
        state=state,
        title=_headed(label(facts.title, LONGEST_TITLE)) or "Analysis",
        badge=spans.fill(row.badge, values),
        now_line=spans.fill(row.line, values),
        steps=step_views(facts, now),
        context_line=_context(facts, state, now),
        lines=(*subagent_lines(facts), *listing_lines(facts, row.lists)),
        buttons=tuple(_button(facts, action) for action in row.buttons if _is_offered(facts, state, action)),
        is_over=row.is_over,
    )


def _headed(title: str) -> str:
    """A question as a heading; people type theirs without a capital letter."""
    return title[:1].upper() + title[1:]


def _button(facts: CardFacts, action: Action) -> Button:
    """Stop and Pause name the run and so are never stale; Resume names the pause that it ends."""
    value = f"v1:{facts.run_id}:{facts.pause_id}" if action is Action.RESUME else f"v1:{facts.run_id}"
    return Button(action, LABELS[action], STYLES.get(action, ""), value)


def _is_offered(facts: CardFacts, state: CardState, action: Action) -> bool:
    if state is CardState.SUBAGENTS_OUT:
        return not facts.subagents or any(each.is_out for each in facts.subagents)
    return action is not Action.RESUME or facts.pause_id is not None


def _context(facts: CardFacts, state: CardState, now: float) -> tuple[Line, ...]:
    """Who, when, how long, what waits: the small print, in pieces."""
    over = facts.run_state is RunState.SETTLED
    asked_by = spans.person(facts.requested_by)
    pieces = (
        (*spans.own("asked by "), *asked_by) if asked_by else (),
        _times(facts, state),
        () if over else _elapsed(facts, state, now),
        _usage(facts, now) if over and state is not CardState.DONE else (),
        _number(facts.waiting_messages, "message", "waiting"),
        _number(facts.held_messages, "message", "held until you resume"),
        _number(facts.notes_count, "message", "kept as notes"),
        spans.own(f"run {_short(label(facts.run_id, spans.LONGEST_NAME))}"),
    )
    return tuple(filter(None, pieces))


def _times(facts: CardFacts, state: CardState) -> Line:
    if facts.started_at is None:
        return ()
    began = spans.time(facts.started_at)
    if facts.run_state is RunState.SETTLED:
        return (*began, *spans.own(" to "), *spans.time(facts.settled_at)) if facts.settled_at is not None else began
    paused = _paused_at(facts, state)
    return spans.join([
        (*spans.own("waiting since " if state is CardState.QUEUED else "started "), *began),
        (*spans.own("paused "), *spans.time(paused)) if paused is not None else (),
    ])


def _elapsed(facts: CardFacts, state: CardState, now: float) -> Line:
    """How long it has been going; a pause stops this clock."""
    if facts.started_at is None:
        return ()
    paused = _paused_at(facts, state)
    return spans.own(duration((now if paused is None else paused) - facts.started_at))


def _paused_at(facts: CardFacts, state: CardState) -> float | None:
    return facts.paused_at if state is CardState.PAUSED else None


def _number(number: int, noun: str, what: str) -> Line:
    return spans.own(f"{count(number, noun)} {what}") if number > 0 else ()


def _short(run_id: str) -> str:
    """The end of a long id: the beginning of a time-ordered one is the same for all runs of a minute."""
    return run_id if len(run_id) <= 12 else run_id[-8:]


def _when_known(value: int | None, words: Callable[[int], str] = str) -> Line:
    return spans.own(words(value)) if value is not None and value > 0 else ()


def _next_place(facts: CardFacts, now: float) -> Line:
    return _when_known(facts.queue_position, lambda place: "Next in line" if place == 1 else f"Number {place} in line")


def _in_flight(facts: CardFacts, now: float) -> Line:
    """The call that has been at work longest, and how many others are; what the model does where none is."""
    at_work = sorted(_running(facts), key=lambda step: (step.started_at is None, step.started_at or 0))
    calls = at_work or [step for step in facts.steps if step.state is StepState.WAITING]
    if not calls:
        return spans.own("Thinking about the next step")
    step, others = calls[0], len(calls) - 1
    return spans.join([
        spans.join([spans.foreign(step.title), spans.target(step.target)], " "),
        spans.own("waiting its turn") if not at_work else (),
        spans.own(duration(now - step.started_at)) if at_work and step.started_at is not None else (),
        spans.own(f"and {count(others, 'other')}") if others else (),
    ])


def _running(facts: CardFacts) -> list[StepFacts]:
    return [step for step in facts.steps if step.state is StepState.RUNNING]


def _message(facts: CardFacts, now: float) -> Line:
    """Whose message is being taken in: `@ben's and @ana's messages`."""
    names = [who for kind, who in facts.pending if kind is InterruptKind.STEER]
    writers = [line for line in map(spans.person, dict.fromkeys(names)) if line]
    possessives = [(*line, *spans.own("'s")) for line in writers[:3]]
    one = len(names) <= 1
    if not possessives:
        return spans.own("a new message" if one else "new messages")
    return (*spans.join(possessives, " and "), *spans.own(" message" if one else " messages"))


def _open(facts: CardFacts, now: float) -> Line:
    number = facts.open_calls
    return _when_known(number, lambda _: "the open call is" if number == 1 else f"the {number} open calls are")


def _open_or_moment(facts: CardFacts, now: float) -> Line:
    waits_for = _open(facts, now)
    return (*waits_for, *spans.own(" back")) if waits_for else spans.own("the step is finished")


def _patience(facts: CardFacts, now: float) -> Line:
    """Only reads are dropped when the patience is over, so with a write at work it promises nothing."""
    writes = any(step.grade is Grade.WRITE for step in _running(facts))
    if facts.patience_s is None or writes or facts.open_calls <= 0:
        return ()
    return spans.own(duration(facts.patience_s))


def _ending(facts: CardFacts, now: float) -> Line:
    """What a stop has let go of, and what it still waits for."""
    running = _running(facts)
    writes = [spans.foreign(call_name(step)) for step in running if step.grade is Grade.WRITE]
    reads = len(running) - len(writes)
    dropped = f"{count(reads, 'read')} dropped" if reads else ""
    if not writes:
        return spans.own(dropped or "Ending")
    opening = f"{dropped}; waiting" if dropped else "Waiting"
    return (*spans.own(f"{opening} up to {duration(facts.write_grace_s)} for "), *spans.join(writes[:5], ", "))


def _aside(facts: CardFacts, now: float) -> Line:
    back_to = facts.rolled_back_to
    if back_to is None or facts.round <= back_to:
        return ()
    first, last = back_to + 1, facts.round
    return spans.own(f"Step {first} is" if first == last else f"Steps {first} to {last} are")


def _awaited(facts: CardFacts, now: float) -> Line:
    if facts.settle_reason is SettleReason.AWAITING:
        return spans.own("an answer")
    out = sum(each.is_out for each in facts.subagents)
    return spans.own(f"{out} of {len(facts.subagents)} sub-agents" if facts.subagents else "sub-agents")


def _usage(facts: CardFacts, now: float) -> Line:
    tokens = count(facts.tokens, "token") if facts.cost is None and facts.tokens > 0 else ""
    return spans.join(map(spans.own, (count(facts.calls, "call"), tokens, _price(facts.cost))))


def _price(cost: float | None) -> str:
    if cost is None:
        return "price unknown"
    return "under 0.01 USD" if 0 < cost < 0.01 else f"{max(cost, 0):.2f} USD"


def _took(facts: CardFacts, now: float) -> Line:
    if facts.started_at is None or facts.settled_at is None:
        return ()
    elapsed = facts.settled_at - facts.started_at
    return spans.own(duration(elapsed) if elapsed >= 1 else took(int(elapsed * 1000)))


def _retry(facts: CardFacts, now: float) -> Line:
    return spans.own("Trying once more ({} of {}).".format(*facts.rerun)) if facts.rerun else ()


def _failure(facts: CardFacts, now: float) -> Line:
    words = ending_words(facts.settle_reason, was_paused=facts.paused_at is not None) if facts.settle_reason else None
    return spans.foreign(words or _failure_words(facts), 300)


def _failure_words(facts: CardFacts) -> str:
    return failure_words(
        facts.failure or FailureClass.INTERNAL,
        status=facts.status_code,
        setting=facts.key_setting,
        detail=facts.failure_detail,
    )


FILLS: Mapping[str, Callable[[CardFacts, float], Line]] = MappingProxyType({
    "answer": lambda facts, _: spans.link("Answer below", facts.answer_permalink),
    "aside": _aside,
    "awaited": _awaited,
    "back_to": lambda facts, _: _when_known(facts.rolled_back_to),
    "continued": lambda facts, _: spans.link("Continued below.", facts.next_card_permalink),
    "ending": _ending,
    "failure": _failure,
    "message": _message,
    "next": lambda facts, _: spans.own(str(facts.round + 1)),
    "now": _in_flight,
    "open": _open,
    "open_or_moment": _open_or_moment,
    "patience": _patience,
    "place": _next_place,
    "retry": _retry,
    "retry_or_ask": lambda facts, now: _retry(facts, now) or spans.own("Mention me to try again."),
    "step": lambda facts, _: _when_known(facts.round),
    "steps": lambda facts, _: _when_known(facts.round, lambda number: count(number, "step")),
    "took": _took,
    "usage": _usage,
    "who": lambda facts, _: spans.person(facts.acted_by),
})
"""How each hole of a sentence is filled; the same names as in bot.rules.card_states.HOLES."""
