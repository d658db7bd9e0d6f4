"""How rich text looks on the page.

Pure. Everything in it is words: nothing in a rich text element is read for markup.
"""

from collections.abc import Mapping
from types import MappingProxyType

from bot.playground.inline_view import Reader, group_mention, link, mention, moment
from bot.playground.json_reading import JsonObject, flag_at, object_at, objects_at, text_at
from bot.playground.markup import Html, join, tag, text

STYLES = (("code", "code"), ("bold", "strong"), ("italic", "em"), ("strike", "s"), ("underline", "u"))
EMOJI: Mapping[str, str] = MappingProxyType({
    "white_check_mark": "✅", "x": "❌", "warning": "⚠️", "hourglass": "⌛", "tada": "🎉", "eyes": "👀",
    "fire": "🔥", "rotating_light": "🚨", "+1": "👍", "-1": "👎", "wave": "👋", "octagonal_sign": "🛑",
    "double_vertical_bar": "⏸", "arrow_forward": "▶️", "mag": "🔍",
})  # fmt: skip


def rich_text(block: JsonObject, reader: Reader) -> Html:
    """A rich text block, part by part."""
    return join(part(element, reader) for element in objects_at(block, "elements"))


def part(element: JsonObject, reader: Reader) -> Html:
    """A section, a list, a quote or preformatted text."""
    match element.get("type"):
        case "rich_text_list":
            items = [tag("li", inlines(item, reader)) for item in objects_at(element, "elements")]
            return tag("ol" if element.get("style") == "ordered" else "ul", *items)
        case "rich_text_preformatted":
            return tag("pre", words(element))
        case "rich_text_quote":
            return tag("blockquote", inlines(element, reader))
        case _:
            return tag("p", inlines(element, reader))


def inlines(section: JsonObject, reader: Reader) -> Html:
    """The elements of a section."""
    return join(inline(element, reader) for element in objects_at(section, "elements"))


def inline(element: JsonObject, reader: Reader) -> Html:
    """One element, with its styles."""
    shown = _bare(element, reader)
    for style, name in STYLES:
        if flag_at(object_at(element, "style"), style):
            shown = tag(name, shown)
    return shown


def words(section: JsonObject) -> str:
    """The words of a section, without any markup."""
    return "".join(text_at(element, "text") or text_at(element, "url") for element in objects_at(section, "elements"))


def _bare(element: JsonObject, reader: Reader) -> Html:
    match element.get("type"):
        case "link":
            url = text_at(element, "url")
            return link(url, text_at(element, "text") or url, reader)
        case "user":
            return mention(text_at(element, "user_id"), reader)
        case "usergroup":
            return group_mention(text_at(element, "usergroup_id"), reader)
        case "channel":
            return tag("span", f"#{reader.channel_name(text_at(element, 'channel_id'))}", class_="mention")
        case "broadcast":
            return tag("span", f"@{text_at(element, 'range')}", class_="mention call")
        case "emoji":
            name = text_at(element, "name")
            return text(EMOJI.get(name, f":{name}:"))
        case "date":
            return moment(str(element.get("timestamp", 0)), text_at(element, "format"), text_at(element, "fallback"))
        case _:
            return text(text_at(element, "text"))
