"""How buttons and menus look on the page, and what the page sends when one is used.

Pure. The page's script reads the data attributes; nothing here is a script.
"""

import json
from dataclasses import dataclass

from bot.playground.json_reading import JsonObject, list_at, object_at, objects_at, text_at
from bot.playground.markup import Html, join, tag


@dataclass(frozen=True, slots=True)
class Place:
    """The message that an element belongs to."""

    channel: str
    ts: str


def element(found: JsonObject, place: Place, viewer: str) -> Html:
    """A button, a menu or the pair of thumbs; nothing where Slack would not show it to this user."""
    allowed = list_at(found, "visible_to_user_ids")
    if allowed and viewer not in allowed:
        return Html()
    match found.get("type"):
        case "button":
            return button(found, found, place)
        case "overflow":
            return _menu(found, place)
        case "feedback_buttons":
            good, bad = object_at(found, "positive_button"), object_at(found, "negative_button")
            return tag("span", button(found, good, place), button(found, bad, place), class_="thumbs")
        case "icon_button":
            return button(found, found, place)
        case _:
            return _select(found, place)


def button(found: JsonObject, chosen: JsonObject, place: Place) -> Html:
    """A button that sends one value; of a pair, the one that was chosen."""
    name, style = text_at(found, "action_id"), text_at(found, "style")
    testid = f"button-{name}" if chosen is found else f"button-{name}-{text_at(chosen, 'value')}"
    return tag(
        "button", _label(chosen), type="button", class_=f"btn {style}".strip(), data_testid=testid,
        aria_label=text_at(found, "accessibility_label") or None, **_click(found, chosen, place),
    )  # fmt: skip


def _menu(found: JsonObject, place: Place) -> Html:
    name = text_at(found, "action_id")
    options = [
        tag(
            "button", _label(option), type="button", role="menuitem", data_testid=f"option-{text_at(option, 'value')}",
            **_click(found, option, place),
        )
        for option in objects_at(found, "options")
    ]  # fmt: skip
    dots = tag("summary", "⋯", class_="btn", aria_label="More actions", data_testid=f"button-{name}")
    return tag("details", dots, tag("div", *options, role="menu"), class_="menu", id=f"menu-{place.ts}-{name}")


def _select(found: JsonObject, place: Place) -> Html:
    """A menu with one choice: shown as its options, each a button."""
    return join(
        tag(
            "button", _label(option), type="button", class_="btn", data_testid=f"option-{text_at(option, 'value')}",
            **_click(found, option, place),
        )
        for option in objects_at(found, "options")
    )  # fmt: skip


def _label(found: JsonObject) -> str:
    return text_at(object_at(found, "text"), "text")


def _click(found: JsonObject, chosen: JsonObject, place: Place) -> dict[str, str | None]:
    return {
        "data_do": "click", "data_channel": place.channel, "data_ts": place.ts,
        "data_action_id": text_at(found, "action_id"), "data_value": text_at(chosen, "value"),
        "data_confirm": _question(object_at(found, "confirm")),
    }  # fmt: skip


def _question(confirm: JsonObject) -> str | None:
    words = {key: text_at(object_at(confirm, key), "text") for key in ("title", "text", "confirm", "deny")}
    return json.dumps({**words, "style": text_at(confirm, "style")}) if confirm else None
