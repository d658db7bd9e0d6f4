"""From facts to words: what a card says, as spans, before anything is turned into blocks.

Pure and total: every combination of facts has a view. Owns the filling of the sentences in bot.rules.card_states;
never escapes, never counts what Slack allows, never decides anything about a run.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.card import spans
from bot.card.asks import AskView, ask_views, wants_yes
from bot.card.button import Button, button
from bot.card.fills import FILLS, usage_words
from bot.card.spans import Line
from bot.card.steps import StepView, listing_lines, not_undone_lines, step_views, subagent_lines
from bot.card.text import count, duration, label
from bot.rules import card_menu
from bot.rules.card_facts import CardFacts
from bot.rules.card_states import CARD_STATES, OF_AN_APPROVAL, TAKEN_BACK_AFTERWARDS, Action, CardState, state_of
from bot.rules.terms import RunState
from bot.rules.wording import holes

LONGEST_TITLE = 200
"""UTF-16 units of the question; what the run is doing stands behind it and has to stay in sight on a phone."""

_BACK = holes(TAKEN_BACK_AFTERWARDS)


@dataclass(frozen=True, slots=True)
class MenuItem:
    """An option of the card's menu: its label, and the value that names the choice and the run."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class CardView:
    """What a card says. `context_line` is a tuple of pieces, `lines` one line each, `asks` what waits for a yes."""

    state: CardState
    title: str
    badge: Line
    now_line: Line
    steps: tuple[StepView, ...]
    context_line: tuple[Line, ...]
    lines: tuple[Line, ...]
    buttons: tuple[Button, ...]
    is_over: bool
    menu: tuple[MenuItem, ...] = ()
    asks: tuple[AskView, ...] = ()


def view(facts: CardFacts, now: float) -> CardView:
    """What the card of these facts says at `now` (epoch seconds)."""
    pending = frozenset(kind for kind, _ in facts.pending)
    state = state_of(facts.run_state, facts.parked_for, facts.settle_reason, pending, wants_yes=wants_yes(facts))
    row = CARD_STATES[state]
    values = {name: FILLS[name](facts, now) for name in holes(row.badge) | holes(row.line) | _BACK}
    return CardView(
        state=state,
        title=_headed(label(facts.title, LONGEST_TITLE)) or "Analysis",
        badge=spans.fill(row.badge, values),
        now_line=spans.fill(row.line, values),
        steps=step_views(facts, now),
        context_line=_context(facts, state, now),
        lines=(
            *_taken_back(facts, state, values),
            *not_undone_lines(facts),
            *subagent_lines(facts),
            *listing_lines(facts, row.lists),
        ),
        buttons=tuple(_button(facts, action) for action in row.buttons if _is_offered(facts, state, action)),
        is_over=row.is_over,
        menu=_menu(facts, state),
        asks=ask_views(facts) if state is CardState.WANTS_APPROVAL else (),
    )


def _taken_back(facts: CardFacts, state: CardState, values: Mapping[str, Line]) -> tuple[Line, ...]:
    """What a card that was over says since its thread was taken back; one that was cut for it says so in its title."""
    is_told = bool(facts.rolled_back_by) and facts.run_state is RunState.SETTLED and state is not CardState.ROLLED_BACK
    return (spans.fill(TAKEN_BACK_AFTERWARDS, values),) if is_told else ()


def _headed(title: str) -> str:
    """A question as a heading; people type theirs without a capital letter."""
    return title[:1].upper() + title[1:]


def _button(facts: CardFacts, action: Action) -> Button:
    """Stop and Pause name the run and so are never stale; Resume names the pause that it ends."""
    return button(action, facts.run_id, facts.pause_id if action is Action.RESUME else None)


def _menu(facts: CardFacts, state: CardState) -> tuple[MenuItem, ...]:
    chosen = card_menu.choices(state, has_steps=facts.round > 0)
    return tuple(MenuItem(card_menu.MENU_LABELS[each], card_menu.value_of(each, facts.run_id)) for each in chosen)


def _is_offered(facts: CardFacts, state: CardState, action: Action) -> bool:
    """Whether this stands in the last row of the card; Approve and Deny stand with their calls."""
    if state is CardState.SUBAGENTS_OUT:
        return not facts.subagents or any(each.is_out for each in facts.subagents)
    if action in OF_AN_APPROVAL:
        return False
    return action is not Action.RESUME or facts.pause_id is not None


def _context(facts: CardFacts, state: CardState, now: float) -> tuple[Line, ...]:
    """Who, when, how long, what waits: the small print, in pieces."""
    over = facts.run_state is RunState.SETTLED
    asked_by = spans.person(facts.requested_by)
    pieces = (
        (*spans.own("asked by "), *asked_by) if asked_by else (),
        _times(facts, state),
        () if over else _elapsed(facts, state, now),
        usage_words(facts, now) if over and state is not CardState.DONE else (),
        _number(facts.waiting_messages, "message", "waiting"),
        _number(facts.held_messages, "message", "held until you resume"),
        _number(facts.notes_count, "message", "kept as notes"),
        _number(facts.withdrawn_count, "message", "cleared from the queue"),
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
