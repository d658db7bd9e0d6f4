"""How the holes of a card's sentences are filled: one function a hole, from facts to spans.

Pure and total. The sentences themselves stand in bot.rules.card_states.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bot.card import spans
from bot.card.asks import asked
from bot.card.spans import Line
from bot.card.steps import call_name
from bot.card.text import count, duration, took
from bot.rules.card_facts import CardFacts, StepFacts, StepState
from bot.rules.failure_words import ending_words, failure_words
from bot.rules.limits import held_words
from bot.rules.terms import FailureClass, Grade, InterruptKind, SettleReason

REMINDER = "It ends within a day unless somebody resumes it."


def _when_known(value: int | None, words: Callable[[int], str] = str) -> Line:
    return spans.own(words(value)) if value is not None and value > 0 else ()


def _next_place(facts: CardFacts, now: float) -> Line:
    return _when_known(facts.queue_position, lambda place: "Next in line" if place == 1 else f"Number {place} in line")


def _held(facts: CardFacts, now: float) -> Line:
    return spans.own(held_words(facts.held_by))


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


def _back_to(facts: CardFacts, now: float) -> Line:
    if facts.rolled_back_to is None:
        return ()
    return spans.own(f"step {facts.rolled_back_to}" if facts.rolled_back_to > 0 else "the start")


def _aside(facts: CardFacts, now: float) -> Line:
    """Which steps no longer count; where none of the run does, its request does not either."""
    back_to = facts.rolled_back_to
    if back_to is None:
        return spans.own("All its steps are") if facts.rolled_back_by and facts.round > 0 else ()
    first, last = max(back_to, 0) + 1, facts.round
    if last < first:
        return ()
    return spans.own(f"Step {first} is" if first == last else f"Steps {first} to {last} are")


def _go_on(facts: CardFacts, now: float) -> Line:
    if facts.next_card_permalink is None:
        return spans.own("Say where to go next.")
    return spans.link("Continued below.", facts.next_card_permalink)


def _awaited(facts: CardFacts, now: float) -> Line:
    if facts.settle_reason is SettleReason.AWAITING:
        return spans.own("an answer")
    out = sum(each.is_out for each in facts.subagents)
    return spans.own(f"{out} of {len(facts.subagents)} sub-agents" if facts.subagents else "sub-agents")


def usage_words(facts: CardFacts, now: float) -> Line:
    """How many calls and tokens, and the price."""
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
    "asked": lambda facts, _: asked(facts),
    "awaited": _awaited,
    "back_to": _back_to,
    "continued": lambda facts, _: spans.link("Continued below.", facts.next_card_permalink),
    "ending": _ending,
    "failure": _failure,
    "go_on": _go_on,
    "held": _held,
    "message": _message,
    "next": lambda facts, _: spans.own(str(facts.round + 1)),
    "now": _in_flight,
    "open": _open,
    "open_or_moment": _open_or_moment,
    "patience": _patience,
    "place": _next_place,
    "reminder": lambda facts, _: spans.own(REMINDER) if facts.is_reminded else (),
    "retry": _retry,
    "retry_or_ask": lambda facts, now: _retry(facts, now) or spans.own("Mention me to try again."),
    "step": lambda facts, _: _when_known(facts.round),
    "steps": lambda facts, _: _when_known(facts.round, lambda number: count(number, "step")),
    "taker": lambda facts, _: spans.person(facts.rolled_back_by),
    "took": _took,
    "turn": lambda facts, _: spans.own("its turn" if held_words(facts.held_by) else "a free worker"),
    "usage": usage_words,
    "who": lambda facts, _: spans.person(facts.acted_by),
})
"""How each hole of a sentence is filled; the same names as in bot.rules.card_states.HOLES."""
