"""From spans to the elements of Slack's blocks, whatever the block is for.

Pure. The one place where a span becomes JSON or markup: text of others is only ever an element that Slack does not
read for markup.
"""

from collections.abc import Iterable
from typing import TypeAlias

from bot.card import spans
from bot.card.button import Button
from bot.card.spans import FOREIGN_KINDS, Kind, Line, Span
from bot.card.text import clip, escape

Json: TypeAlias = dict[str, object]

LONGEST_LINE = 600
LONGEST_BADGE = 200
MOST_CONTEXT = 10

_SHOWN_KEYS = frozenset({"text", "title", "fallback", "url"})


def weight(shown: object) -> int:
    """The bytes of all text that is shown, in JSON of any depth."""
    if isinstance(shown, dict):
        own = sum(size(text) for key, text in shown.items() if key in _SHOWN_KEYS and isinstance(text, str))
        return own + sum(weight(inner) for inner in shown.values())
    return sum(weight(inner) for inner in shown) if isinstance(shown, list | tuple) else 0


def rich(name: str, lines: Iterable[Line]) -> list[Json]:
    """A block of lines; none where there is nothing to say, because Slack refuses an empty one."""
    sections = [section(shown) for line in lines if (shown := inlines(line, LONGEST_LINE))]
    return [block("rich_text", name, elements=sections)] if sections else []


def context(name: str, pieces: tuple[Line, ...]) -> Json:
    """The small print; our own words in one text, words of others each in a plain one."""
    shown: list[Json] = []
    ours: list[str] = []
    for piece in pieces:
        if any(span.kind in FOREIGN_KINDS for span in piece):
            shown += [*_mrkdwn(ours), plain_text(clip(spans.plain(piece), LONGEST_BADGE))]
            ours = []
        else:
            ours.append("".join(map(markup, piece)))
    return block("context", name, elements=[*shown, *_mrkdwn(ours)][:MOST_CONTEXT])


def _mrkdwn(texts: list[str]) -> list[Json]:
    return [{"type": "mrkdwn", "verbatim": True, "text": " · ".join(texts)}] if texts else []


def markup(span: Span) -> str:
    """A span of ours as Slack's markup; a span of others only as escaped words."""
    match span.kind:
        case Kind.PERSON:
            return f"<@{span.ref}>"
        case Kind.GROUP:
            return f"<!subteam^{span.ref}>"
        case Kind.TIME:
            return f"<!date^{span.ref}^{{time}}|{escape(span.text)}>"
        case _:
            return escape(span.text)


def pressable(button: Button) -> Json:
    """A button as Slack takes it."""
    styled: Json = {"style": button.style} if button.style else {}
    return {
        "type": "button",
        "action_id": button.action.value,
        "text": plain_text(button.label),
        "value": button.value,
        **styled,
    }


def inlines(line: Line, limit: int) -> list[Json]:
    """A line of at most `limit` UTF-16 units as the elements of a section."""
    return [_element(span) for span in spans.merged(spans.fit(line, limit))]


def _element(span: Span) -> Json:
    match span.kind:
        case Kind.PERSON:
            return {"type": "user", "user_id": span.ref}
        case Kind.GROUP:
            return {"type": "usergroup", "usergroup_id": span.ref}
        case Kind.LINK:
            return {"type": "link", "url": span.ref, "text": span.text}
        case Kind.TIME:
            return {"type": "date", "timestamp": int(span.ref), "format": "{time}", "fallback": span.text}
        case Kind.STRONG:
            return {**words(span.text), "style": {"bold": True}}
        case Kind.CODE:
            return {**words(span.text), "style": {"code": True}}
        case _:
            return words(span.text)


def block(kind: str, name: str, **content: object) -> Json:
    """A block; its name is unique in its message, and the same at every paint."""
    return {"type": kind, "block_id": f"steersman:{name}", **content}


def section(elements: list[Json]) -> Json:
    """A line of rich text."""
    return {"type": "rich_text_section", "elements": elements}


def words(text: str) -> Json:
    """Words in rich text, where nothing is markup."""
    return {"type": "text", "text": text}


def plain_text(text: str) -> Json:
    """Words in a text object, where nothing is markup."""
    return {"type": "plain_text", "text": text, "emoji": False}


def size(text: str) -> int:
    """The bytes of a text."""
    return len(text.encode("utf-8", "replace"))
