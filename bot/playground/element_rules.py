"""What Slack accepts inside a block: text objects, buttons, menus, confirmations, rich text.

Pure. Every check yields what is wrong, with the place of it; nothing yielded means accepted. Limits: Slack's reference
of block elements and the checks of slack_sdk's own models. Types that Steersman has no use for are refused.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bot.playground.json_reading import JsonObject, as_object, list_at, object_at, objects_at, text_at

LONGEST_ID = 255
ANY_TEXT = frozenset({"mrkdwn", "plain_text"})
PLAIN_TEXT = frozenset({"plain_text"})


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that Slack refuses: its word for it, the place in the blocks, and why."""

    error: str
    at: str
    why: str

    def __str__(self) -> str:
        return f"{self.why} [json-pointer:{self.at}]"


Problems = Iterator[Problem]
Check = Callable[[JsonObject, str], Problems]


def invalid(at: str, why: str) -> Problem:
    """Something that Slack answers with invalid_blocks."""
    return Problem("invalid_blocks", at, why)


def check_text(found: object, at: str, longest: int, kinds: frozenset[str] = ANY_TEXT) -> Problems:
    """A text object: of a kind that fits, not empty, not too long."""
    text = as_object(found)
    if text.get("type") not in kinds:
        yield invalid(at, f"must be a text object of type {' or '.join(sorted(kinds))}")
    else:
        yield from check_length(text.get("text"), f"{at}/text", 1, longest)


def check_length(found: object, at: str, shortest: int, longest: int) -> Problems:
    """A string within its limits."""
    if not isinstance(found, str):
        yield invalid(at, "must be a string")
    elif not shortest <= len(found) <= longest:
        yield invalid(at, f"must be {shortest} to {longest} characters, is {len(found)}")


def check_optional(source: JsonObject, key: str, at: str, longest: int) -> Problems:
    """A string that may be missing."""
    if source.get(key) is not None:
        yield from check_length(source[key], f"{at}/{key}", 0, longest)


def check_count(source: JsonObject, key: str, at: str, most: int) -> Problems:
    """A list with at least one entry and not too many."""
    if not 1 <= len(list_at(source, key)) <= most:
        yield invalid(f"{at}/{key}", f"must have 1 to {most} entries")


def check_confirm(source: JsonObject, at: str) -> Problems:
    """The question before a click, where there is one."""
    if source.get("confirm") is None:
        return
    confirm, at = object_at(source, "confirm"), f"{at}/confirm"
    yield from check_text(confirm.get("title"), f"{at}/title", 100, PLAIN_TEXT)
    yield from check_text(confirm.get("text"), f"{at}/text", 300)
    for key in ("confirm", "deny"):
        yield from check_text(confirm.get(key), f"{at}/{key}", 30, PLAIN_TEXT)
    yield from check_style(confirm, at)


def check_style(source: JsonObject, at: str) -> Problems:
    """The colour of a button."""
    if source.get("style") not in (None, "primary", "danger"):
        yield invalid(f"{at}/style", "must be primary or danger")


def check_button(button: JsonObject, at: str) -> Problems:
    """A button."""
    yield from check_text(button.get("text"), f"{at}/text", 75, PLAIN_TEXT)
    yield from check_optional(button, "value", at, 2_000)
    yield from check_optional(button, "url", at, 3_000)
    yield from check_optional(button, "accessibility_label", at, 75)
    yield from check_style(button, at)
    yield from check_confirm(button, at)


def check_options(menu: JsonObject, at: str, most: int) -> Problems:
    """The options of a menu."""
    yield from check_count(menu, "options", at, most)
    for number, option in enumerate(objects_at(menu, "options")):
        place = f"{at}/options/{number}"
        yield from check_text(option.get("text"), f"{place}/text", 75)
        yield from check_length(option.get("value"), f"{place}/value", 1, 150)
        yield from check_optional(option, "url", place, 3_000)


def check_overflow(menu: JsonObject, at: str) -> Problems:
    """The menu behind three dots."""
    yield from check_options(menu, at, 5)
    yield from check_confirm(menu, at)


def check_select(menu: JsonObject, at: str) -> Problems:
    """A menu, or radio buttons, with options of its own."""
    yield from check_options(menu, at, 100 if menu.get("type") == "static_select" else 10)
    yield from check_confirm(menu, at)


def check_feedback(buttons: JsonObject, at: str) -> Problems:
    """The pair of thumbs."""
    for key in ("positive_button", "negative_button"):
        button = object_at(buttons, key)
        yield from check_text(button.get("text"), f"{at}/{key}/text", 75, PLAIN_TEXT)
        yield from check_length(button.get("value"), f"{at}/{key}/value", 1, 2_000)


def check_icon_button(button: JsonObject, at: str) -> Problems:
    """A button that is a picture."""
    yield from check_text(button.get("text"), f"{at}/text", 75, PLAIN_TEXT)
    if button.get("icon") != "trash":
        yield invalid(f"{at}/icon", "must be trash")
    yield from check_confirm(button, at)


def check_text_input(field: JsonObject, at: str) -> Problems:
    """A field to type in."""
    yield from check_optional(field, "initial_value", at, 3_000)


def check_image(image: JsonObject, at: str) -> Problems:
    """A picture: it must say in words what it shows."""
    yield from check_length(image.get("alt_text"), f"{at}/alt_text", 1, 2_000)
    if not (image.get("image_url") or image.get("slack_file")):
        yield invalid(at, "must have image_url or slack_file")


INTERACTIVE: Mapping[str, Check] = MappingProxyType({
    "button": check_button, "overflow": check_overflow, "static_select": check_select, "radio_buttons": check_select,
})  # fmt: skip
ACCESSORIES: Mapping[str, Check] = MappingProxyType({**INTERACTIVE, "image": check_image})
CONTEXT_ACTIONS: Mapping[str, Check] = MappingProxyType({
    "feedback_buttons": check_feedback, "icon_button": check_icon_button
})  # fmt: skip
INPUTS: Mapping[str, Check] = MappingProxyType({
    "plain_text_input": check_text_input, "static_select": check_select, "radio_buttons": check_select
})  # fmt: skip


def check_element(element: JsonObject, at: str, kinds: Mapping[str, Check]) -> Problems:
    """An element of one of the kinds, with an action id that is not too long."""
    check = kinds.get(text_at(element, "type"))
    if check is None:
        yield invalid(f"{at}/type", f"must be one of {', '.join(kinds)}")
        return
    yield from check_optional(element, "action_id", at, LONGEST_ID)
    yield from check(element, at)
