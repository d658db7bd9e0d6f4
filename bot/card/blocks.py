"""From a view to the JSON of a Slack message: blocks, fallback text, metadata.

Pure and deterministic: equal views give equal JSON. Owns the limits of a message, and keeps them by shortening, never
by failing. Text of others stands in rich_text and plain_text only; `mrkdwn` holds nothing but our own words.
Limits and traps: Slack's Block Kit reference, and two teams' measurements of the sum of all text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from bot.card import spans
from bot.card.spans import FOREIGN_KINDS, Kind, Line, Span
from bot.card.steps import StepStatus, StepView
from bot.card.text import clip, count, escape, label
from bot.card.view import Button, CardView, MenuItem
from bot.rules.card_menu import MENU_ACTION_ID

Json: TypeAlias = dict[str, object]

MOST_TEXT = 10_000
"""Bytes of UTF-8 of all text of a card: `msg_too_long` was seen from 10.6 KB on, `msg_blocks_too_long` from 13,200
characters on."""
MOST_TASKS = 48
MOST_SHOWN_UNFOLDED = 8
"""Steps of the classic card, which Slack does not fold."""
LONGEST_FALLBACK = 300
LONGEST_LINE = 600
LONGEST_BADGE = 200
MOST_LINES = 12
MOST_CONTEXT = 10
LONGEST_ID = 255

MARKS = {
    StepStatus.PENDING: "·",
    StepStatus.IN_PROGRESS: "…",
    StepStatus.COMPLETE: "✓",
    StepStatus.ERROR: "✗",
}

_SHOWN_KEYS = frozenset({"text", "title", "fallback", "url"})


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
    head = [_title(view), *_rich("now", [view.now_line]), *_rich("lines", view.lines[:MOST_LINES])]
    foot = [_context(view.context_line), *_actions(view)]
    text = _fallback(view)
    room = MOST_TEXT - weight([*head, *foot]) - _bytes(text)
    steps = _plan(view.steps, room) if plan_supported else _list(view.steps, room)
    metadata: Json = {
        "event_type": "steersman_card",
        "event_payload": {"post_key": post_key, "state": view.state.value},
    }
    return Painted(text, (*head, *steps, *foot), metadata)


def weight(shown: object) -> int:
    """The bytes of all text that is shown, in JSON of any depth."""
    if isinstance(shown, dict):
        own = sum(_bytes(text) for key, text in shown.items() if key in _SHOWN_KEYS and isinstance(text, str))
        return own + sum(weight(inner) for inner in shown.values())
    return sum(weight(inner) for inner in shown) if isinstance(shown, list | tuple) else 0


def _title(view: CardView) -> Json:
    line = spans.join([(Span(view.title, Kind.STRONG),), spans.fit(view.badge, LONGEST_BADGE)])
    return _block("rich_text", "title", elements=[_section(_elements(line, LONGEST_LINE))])


def _rich(name: str, lines: Iterable[Line]) -> list[Json]:
    """A block of lines; none where there is nothing to say, because Slack refuses an empty one."""
    sections = [_section(elements) for line in lines if (elements := _elements(line, LONGEST_LINE))]
    return [_block("rich_text", name, elements=sections)] if sections else []


def _context(pieces: tuple[Line, ...]) -> Json:
    """The small print; our own words in one text, words of others each in a plain one."""
    elements: list[Json] = []
    ours: list[str] = []
    for piece in pieces:
        if any(span.kind in FOREIGN_KINDS for span in piece):
            elements += [*_mrkdwn(ours), _plain_text(clip(spans.plain(piece), LONGEST_BADGE))]
            ours = []
        else:
            ours.append("".join(map(_markup, piece)))
    return _block("context", "ctx", elements=[*elements, *_mrkdwn(ours)][:MOST_CONTEXT])


def _mrkdwn(texts: list[str]) -> list[Json]:
    return [{"type": "mrkdwn", "verbatim": True, "text": " · ".join(texts)}] if texts else []


def _markup(span: Span) -> str:
    """A span of ours as Slack's markup; a span of others only as escaped words."""
    match span.kind:
        case Kind.PERSON:
            return f"<@{span.ref}>"
        case Kind.TIME:
            return f"<!date^{span.ref}^{{time}}|{escape(span.text)}>"
        case _:
            return escape(span.text)


def _actions(view: CardView) -> list[Json]:
    elements = [*map(_button, view.buttons), *_menu(view.menu)]
    return [_block("actions", "ctl", elements=elements)] if elements else []


def _menu(items: tuple[MenuItem, ...]) -> list[Json]:
    """The menu behind three dots; none without an option, because Slack refuses an empty one."""
    options: list[Json] = [{"text": _plain_text(item.label), "value": item.value} for item in items]
    return [{"type": "overflow", "action_id": MENU_ACTION_ID, "options": options}] if options else []


def _button(button: Button) -> Json:
    styled: Json = {"style": button.style} if button.style else {}
    return {
        "type": "button",
        "action_id": button.action.value,
        "text": _plain_text(button.label),
        "value": button.value,
        **styled,
    }


def _plan(steps: tuple[StepView, ...], room: int) -> list[Json]:
    """The steps as a plan. Its block_id never changes: Slack would fold an opened plan at every paint."""
    if not steps:
        return []
    title = _steps_title(steps)
    tasks, earlier = _newest([_task(step) for step in steps], MOST_TASKS, room - _bytes(title))
    if earlier:
        folded: Json = {"type": "task_card", "task_id": "earlier", "title": earlier, "status": "complete"}
        tasks = [folded, *tasks]
    return [_block("plan", "plan", title=title, tasks=tasks)]


def _list(steps: tuple[StepView, ...], room: int) -> list[Json]:
    """The newest steps as a plain list, for where there are no plans."""
    if not steps:
        return []
    items, earlier = _newest([_item(step) for step in steps], MOST_SHOWN_UNFOLDED, room)
    if earlier:
        items = [_section([_text(earlier)]), *items]
    return [_block("rich_text", "steps", elements=[{"type": "rich_text_list", "style": "bullet", "elements": items}])]


def _newest(shown: list[Json], most: int, room: int) -> tuple[list[Json], str]:
    """As many of the newest as there is room for, and words for how many are left out before them."""
    earlier = f"and {count(len(shown), 'earlier call')}"
    room -= _bytes(earlier)
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
    note = _elements(step.note, LONGEST_LINE)
    output: Json = {"output": {"type": "rich_text", "elements": [_section(note)]}} if note else {}
    return {
        "type": "task_card",
        "task_id": label(step.call_id, LONGEST_ID) or "call",
        "title": step.title,
        "status": step.status.value,
        **output,
    }


def _item(step: StepView) -> Json:
    line = spans.join([spans.own(f"{MARKS[step.status]} {step.title}"), step.note])
    return _section(_elements(line, LONGEST_LINE))


def _elements(line: Line, limit: int) -> list[Json]:
    return [_element(span) for span in spans.merged(spans.fit(line, limit))]


def _element(span: Span) -> Json:
    match span.kind:
        case Kind.PERSON:
            return {"type": "user", "user_id": span.ref}
        case Kind.LINK:
            return {"type": "link", "url": span.ref, "text": span.text}
        case Kind.TIME:
            return {"type": "date", "timestamp": int(span.ref), "format": "{time}", "fallback": span.text}
        case Kind.STRONG:
            return {**_text(span.text), "style": {"bold": True}}
        case Kind.CODE:
            return {**_text(span.text), "style": {"code": True}}
        case _:
            return _text(span.text)


def _fallback(view: CardView) -> str:
    """What a notification says: escaped, because Slack reads this text for markup."""
    words = spans.join([spans.foreign(view.title, LONGEST_BADGE), view.badge, view.now_line])
    return "".join(map(_markup, spans.fit(words, LONGEST_FALLBACK)))


def _block(kind: str, name: str, **content: object) -> Json:
    return {"type": kind, "block_id": f"steersman:{name}", **content}


def _section(elements: list[Json]) -> Json:
    return {"type": "rich_text_section", "elements": elements}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _plain_text(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": False}


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
