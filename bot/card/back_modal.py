"""The modal in which somebody chooses the step to go back to.

Pure and deterministic. Owns its words and its limits, and keeps them by shortening. What models and tools wrote stands
in plain text only.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bot.card.steps import STEP_WORDS
from bot.card.text import label
from bot.rules.card_facts import StepState
from bot.rules.checkpoints import Checkpoint, FoundCall
from bot.rules.terms import CallOutcome

Json = dict[str, object]

CALLBACK_ID = "steersman_back"
BLOCK_ID = "steersman:back"
ACTION_ID = "checkpoint"

MOST_RADIO_BUTTONS = 10
"""Options that Slack takes as radio buttons; more are a menu."""
MOST_OPTIONS = 100
LONGEST_OPTION = 75
LONGEST_METADATA = 3000

START = "The start · the question, before any step"
_UNCHANGED = (
    "Everything after the step is set aside: the next analysis goes on as if it had not been. "
    "What was changed outside is not undone."
)

_BAD: Mapping[CallOutcome, str] = MappingProxyType({
    outcome: STEP_WORDS[StepState(outcome.value)][1] for outcome in CallOutcome if outcome is not CallOutcome.OK
})


def back_modal(checkpoints: Sequence[Checkpoint], title: str, metadata: str) -> Json:
    """The view for these checkpoints, given oldest first and offered newest first; there must be one at least."""
    options = [_option(each) for each in reversed(checkpoints)][:MOST_OPTIONS]
    kind = "radio_buttons" if len(options) <= MOST_RADIO_BUTTONS else "static_select"
    choice: Json = {"type": kind, "action_id": ACTION_ID, "options": options}
    named = label(title, 200)
    heads: list[Json] = [{"type": "section", "text": _plain(named)}] if named else []
    return {
        "type": "modal",
        "callback_id": CALLBACK_ID,
        "private_metadata": metadata[:LONGEST_METADATA],
        "title": _plain("Go back to a step"),
        "submit": _plain("Go back"),
        "close": _plain("Leave it"),
        "blocks": [
            *heads,
            {"type": "input", "block_id": BLOCK_ID, "label": _plain("Keep everything up to"), "element": choice},
            {"type": "context", "elements": [_plain(_UNCHANGED)]},
        ],
    }


def _option(checkpoint: Checkpoint) -> Json:
    option: Json = {"text": _plain(label(option_words(checkpoint), LONGEST_OPTION)), "value": str(checkpoint.seq)}
    said = label(checkpoint.said, LONGEST_OPTION)
    return {**option, "description": _plain(said)} if said else option


def option_words(checkpoint: Checkpoint) -> str:
    """What an option says: Step 3 · Read /metrics of checkout · 200."""
    if checkpoint.step == 0:
        return START
    first, *others = checkpoint.calls
    more = f"and {len(others)} more" if others else ""
    return " · ".join(filter(None, (f"Step {checkpoint.step}", label(first.title, 40), _outcome(first), more)))


def _outcome(call: FoundCall) -> str:
    """The status of an answer where it had one, else how the call ended if not well."""
    return str(call.status) if call.status is not None else _BAD.get(call.outcome, "")


def _plain(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": False}
