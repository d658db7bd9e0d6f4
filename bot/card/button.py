"""What a button of a card is: pure, and without a word of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bot.rules.card_states import LABELS, Action

STYLES: Mapping[Action, str] = MappingProxyType({
    Action.STOP: "danger",
    Action.RESUME: "primary",
    Action.APPROVE: "primary",
})


@dataclass(frozen=True, slots=True)
class Button:
    """A button: Slack's action_id, its label, style (empty: the plain one) and the value that names what it acts on."""

    action: Action
    label: str
    style: str
    value: str


def button(action: Action, run_id: str, ref: str | None = None) -> Button:
    """The button that asks this of a run; `ref` names the pause or the approval that it is for."""
    value = f"v1:{run_id}" if ref is None else f"v1:{run_id}:{ref}"
    return Button(action, LABELS[action], STYLES.get(action, ""), value)
