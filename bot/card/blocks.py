"""From a view to the JSON of a Slack message: blocks, fallback text, metadata.

Pure and deterministic: equal views give equal JSON. Owns the limits of a message, and keeps them by shortening, never
by failing. Text of others stands in rich_text and plain_text only; `mrkdwn` holds nothing but our own words.
Limits and traps: Slack's Block Kit reference, and two teams' measurements of the sum of all text.
"""

from dataclasses import dataclass

from bot.card import spans
from bot.card.ask_blocks import ask_blocks
from bot.card.elements import (
    LONGEST_BADGE,
    LONGEST_LINE,
    Json,
    block,
    context,
    inlines,
    markup,
    plain_text,
    pressable,
    rich,
    section,
    size,
    weight,
    words,
)
from bot.card.spans import Kind, Span
from bot.card.steps import StepStatus, StepView
from bot.card.text import count, label
from bot.card.view import CardView, MenuItem
from bot.rules.card_menu import MENU_ACTION_ID

MOST_TEXT = 10_000
"""Bytes of UTF-8 of all text of a card: `msg_too_long` was seen from 10.6 KB on, `msg_blocks_too_long` from 13,200
characters on."""
MOST_TASKS = 48
MOST_SHOWN_UNFOLDED = 8
"""Steps of the classic card, which Slack does not fold."""
LONGEST_FALLBACK = 300
MOST_LINES = 12
LONGEST_ID = 255

MARKS = {
    StepStatus.PENDING: "·",
    StepStatus.IN_PROGRESS: "…",
    StepStatus.COMPLETE: "✓",
    StepStatus.ERROR: "✗",
}


@dataclass(frozen=True, slots=True)
class Painted:
    """A message as Slack's methods take it; `text` is what a notification shows."""

    text: str
    blocks: tuple[Json, ...]
    metadata: Json


def blocks(view: CardView, *, post_key: str, plan_supported: bool = True) -> Painted:
    """The message of a view.

    `post_key` finds the message again and is readable by everybody in the workspace. Without `plan_supported` the
    steps are a plain list, for clients and workspaces that refuse a plan.
    """
    head = [_title(view), *rich("now", [view.now_line]), *rich("lines", view.lines[:MOST_LINES])]
    foot = [context("ctx", view.context_line), *_actions(view)]
    text = _fallback(view)
    room = MOST_TEXT - weight([*head, *foot]) - size(text)
    asks = ask_blocks(view.asks, room)
    room -= weight(asks)
    steps = _plan(view.steps, room) if plan_supported else _list(view.steps, room)
    metadata: Json = {
        "event_type": "steersman_card",
        "event_payload": {"post_key": post_key, "state": view.state.value},
    }
    return Painted(text, (*head, *asks, *steps, *foot), metadata)


def _title(view: CardView) -> Json:
    line = spans.join([(Span(view.title, Kind.STRONG),), spans.fit(view.badge, LONGEST_BADGE)])
    return block("rich_text", "title", elements=[section(inlines(line, LONGEST_LINE))])


def _actions(view: CardView) -> list[Json]:
    shown = [*map(pressable, view.buttons), *_menu(view.menu)]
    return [block("actions", "ctl", elements=shown)] if shown else []


def _menu(items: tuple[MenuItem, ...]) -> list[Json]:
    """The menu behind three dots; none without an option, because Slack refuses an empty one."""
    options: list[Json] = [{"text": plain_text(item.label), "value": item.value} for item in items]
    return [{"type": "overflow", "action_id": MENU_ACTION_ID, "options": options}] if options else []


def _plan(steps: tuple[StepView, ...], room: int) -> list[Json]:
    """The steps as a plan. Its block_id never changes: Slack would fold an opened plan at every paint."""
    if not steps:
        return []
    title = _steps_title(steps)
    tasks, earlier = _newest([_task(step) for step in steps], MOST_TASKS, room - size(title))
    if earlier:
        folded: Json = {"type": "task_card", "task_id": "earlier", "title": earlier, "status": "complete"}
        tasks = [folded, *tasks]
    return [block("plan", "plan", title=title, tasks=tasks)]


def _list(steps: tuple[StepView, ...], room: int) -> list[Json]:
    """The newest steps as a plain list, for where there are no plans."""
    if not steps:
        return []
    items, earlier = _newest([_item(step) for step in steps], MOST_SHOWN_UNFOLDED, room)
    if earlier:
        items = [section([words(earlier)]), *items]
    return [block("rich_text", "steps", elements=[{"type": "rich_text_list", "style": "bullet", "elements": items}])]


def _newest(shown: list[Json], most: int, room: int) -> tuple[list[Json], str]:
    """As many of the newest as there is room for, and words for how many are left out before them."""
    earlier = f"and {count(len(shown), 'earlier call')}"
    room -= size(earlier)
    kept: list[Json] = []
    for each in reversed(shown):
        room -= weight(each)
        if room < 0 or len(kept) == most:
            break
        kept.insert(0, each)
    if len(kept) == len(shown):
        return kept, ""
    kept = kept[1:] if len(kept) == most else kept
    return kept, f"and {count(len(shown) - len(kept), 'earlier call')}"


def _steps_title(steps: tuple[StepView, ...]) -> str:
    done = sum(step.status is StepStatus.COMPLETE for step in steps)
    calls = count(len(steps), "call")
    return f"{calls} done" if done == len(steps) else f"{done} of {calls} done"


def _task(step: StepView) -> Json:
    note = inlines(step.note, LONGEST_LINE)
    output: Json = {"output": {"type": "rich_text", "elements": [section(note)]}} if note else {}
    return {
        "type": "task_card",
        "task_id": label(step.call_id, LONGEST_ID) or "call",
        "title": step.title,
        "status": step.status.value,
        **output,
    }


def _item(step: StepView) -> Json:
    line = spans.join([spans.own(f"{MARKS[step.status]} {step.title}"), step.note])
    return section(inlines(line, LONGEST_LINE))


def _fallback(view: CardView) -> str:
    """What a notification says: escaped, because Slack reads this text for markup."""
    line = spans.join([spans.foreign(view.title, LONGEST_BADGE), view.badge, view.now_line])
    return "".join(map(markup, spans.fit(line, LONGEST_FALLBACK)))
