"""What Slack accepts as rich text.

Pure. Shapes: Slack's reference of the rich text block.
"""

from collections.abc import Mapping
from types import MappingProxyType

from bot.playground.element_rules import Problems, invalid
from bot.playground.json_reading import JsonObject, objects_at, text_at

# What each kind of inline element must carry.
INLINE: Mapping[str, str] = MappingProxyType({
    "text": "text", "link": "url", "user": "user_id", "channel": "channel_id", "emoji": "name",
    "broadcast": "range", "usergroup": "usergroup_id", "date": "timestamp", "color": "value",
})  # fmt: skip
PARTS = frozenset({"rich_text_section", "rich_text_preformatted", "rich_text_quote"})
STYLES = frozenset({"bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink"})


def check_rich_text(block: JsonObject, at: str) -> Problems:
    """A rich text block, or the rich text of a task."""
    if block.get("type") != "rich_text" or not isinstance(block.get("elements"), list):
        yield invalid(at, "must be rich_text with elements")
        return
    for number, part in enumerate(objects_at(block, "elements")):
        yield from _check_part(part, f"{at}/elements/{number}")


def _check_part(part: JsonObject, at: str) -> Problems:
    kind = text_at(part, "type")
    if kind == "rich_text_list":
        if part.get("style") not in ("bullet", "ordered"):
            yield invalid(f"{at}/style", "must be bullet or ordered")
        for number, item in enumerate(objects_at(part, "elements")):
            yield from _check_inlines(item, f"{at}/elements/{number}", frozenset({"rich_text_section"}))
    else:
        yield from _check_inlines(part, at, PARTS)


def _check_inlines(part: JsonObject, at: str, kinds: frozenset[str]) -> Problems:
    if text_at(part, "type") not in kinds or not isinstance(part.get("elements"), list):
        yield invalid(at, f"must be one of {', '.join(sorted(kinds))}, with elements")
        return
    for number, inline in enumerate(objects_at(part, "elements")):
        yield from _check_inline(inline, f"{at}/elements/{number}")


def _check_inline(inline: JsonObject, at: str) -> Problems:
    wanted = INLINE.get(text_at(inline, "type"))
    if wanted is None:
        yield invalid(f"{at}/type", "is no rich text element")
    elif inline.get(wanted) in (None, ""):
        yield invalid(f"{at}/{wanted}", "must not be empty")
    style = inline.get("style", {})
    if not isinstance(style, dict) or not set(style) <= STYLES:
        yield invalid(f"{at}/style", "has a style that does not exist")
