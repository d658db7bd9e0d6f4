"""The menu beside the buttons of a card: what a state offers in it, and how a choice names its run.

A choice that nobody answers is worse than none, so a card offers only what stands in OFFERED.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from bot.rules.card_states import CardState
from bot.rules.markdown import table

MENU_ACTION_ID = "steersman_more"


class MenuChoice(StrEnum):
    """What a menu offers; the value is the first word of the option's value."""

    CLEAR = "clear"
    BACK = "back"
    SHOW = "show"


OFFERED: frozenset[MenuChoice] = frozenset(MenuChoice)
"""What a card offers today: every one of these has its answer in bot.app (`Buttons` refuses to be made without it)."""

MENU_LABELS: Mapping[MenuChoice, str] = MappingProxyType({
    MenuChoice.CLEAR: "Stop and clear the queue",
    MenuChoice.BACK: "Go back to a step",
    MenuChoice.SHOW: "Show what it did",
})

NEEDS_STEPS = frozenset({MenuChoice.BACK, MenuChoice.SHOW})
"""Without a step there is nothing to go back to, and nothing to show."""

_UNSETTLED = tuple(MenuChoice)
_OVER = (MenuChoice.BACK, MenuChoice.SHOW)

MENUS: Mapping[CardState, tuple[MenuChoice, ...]] = MappingProxyType({
    CardState.QUEUED: _UNSETTLED,
    CardState.RUNNING: _UNSETTLED,
    CardState.STEER_RECEIVED: _UNSETTLED,
    CardState.PAUSING: _UNSETTLED,
    CardState.PAUSED: _UNSETTLED,
    CardState.WANTS_APPROVAL: _UNSETTLED,
    # It is being ended already; the messages that wait can still be cleared away.
    CardState.STOPPING: (MenuChoice.CLEAR, MenuChoice.SHOW),
    CardState.STOPPED: _OVER,
    CardState.STEERED: _OVER,
    CardState.ROLLED_BACK: _OVER,
    CardState.SUBAGENTS_OUT: _OVER,
    CardState.DONE: _OVER,
    CardState.NO_ANSWER: _OVER,
    CardState.FAILED: _OVER,
})


def choices(state: CardState, *, has_steps: bool) -> tuple[MenuChoice, ...]:
    """What the menu of a card in this state offers, in order; empty where it has none."""
    return tuple(each for each in MENUS[state] if each in OFFERED and (has_steps or each not in NEEDS_STEPS))


def value_of(choice: MenuChoice, run_id: str) -> str:
    """The value of an option: `clear:v1:<run id>`."""
    return f"{choice}:v1:{run_id}"


def as_markdown() -> dict[str, str]:
    """The menus as a table for the documents; only what is offered."""
    rows = [
        (state.value, ", ".join(MENU_LABELS[each] for each in choices(state, has_steps=True)) or "-") for state in MENUS
    ]
    return {"card_menus": table(("state", "menu"), rows)}
