"""What a click on a message's button or menu sends to the bot.

Pure. A person may click what an update has just taken away, so the blocks that a message had before count too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.errors import SlackError
from bot.playground.cast import STEERSMAN, TEAM, Channel, User
from bot.playground.json_reading import JsonObject, object_at, objects_at, text_at
from bot.playground.workspace import Blocks


@dataclass(frozen=True, slots=True)
class Press:
    """The element that was pressed, with the option that was chosen where it offers several."""

    element: JsonObject
    block_id: str
    chosen: JsonObject

    def to_json(self, action_ts: str) -> dict[str, object]:
        """The action inside the payload."""
        kind = text_at(self.element, "type")
        action: dict[str, object] = {
            "type": kind, "action_id": text_at(self.element, "action_id"), "block_id": self.block_id,
            "action_ts": action_ts,
        }  # fmt: skip
        if kind in ("overflow", "static_select", "radio_buttons"):
            return {**action, "selected_option": self.chosen}
        return {**action, "text": self.chosen.get("text"), "value": text_at(self.chosen, "value")}


@dataclass(frozen=True, slots=True)
class Pressed:
    """Where and by whom something was pressed: `message` is the message in JSON."""

    user: User
    channel: Channel
    message: JsonObject
    ephemeral: bool = False


def find_press(versions: Sequence[Blocks], action_id: str, value: str | None) -> Press:
    """The press of an element, looked for in the newest blocks first; SlackError no_such_action.

    A value that no version offers is sent nevertheless, as somebody with a tool of their own could do.
    """
    presses = [press for blocks in versions for press in _presses(blocks, action_id)]
    if not presses:
        raise SlackError("click", "no_such_action")
    for press in presses:
        if value is None or text_at(press.chosen, "value") == value:
            return press
    first = presses[0]
    return Press(first.element, first.block_id, {**first.chosen, "value": value})


def block_actions(pressed: Pressed, action: JsonObject, trigger_id: str, response_url: str) -> dict[str, object]:
    """The payload of a click."""
    message, channel = pressed.message, pressed.channel
    container: dict[str, object] = {
        "type": "message", "message_ts": message.get("ts"), "channel_id": channel.id,
        "is_ephemeral": pressed.ephemeral,
    }  # fmt: skip
    if thread_ts := message.get("thread_ts"):
        container["thread_ts"] = thread_ts
    return {
        "type": "block_actions", "user": person(pressed.user), "api_app_id": STEERSMAN.app_id, "token": "playground",
        "team": {"id": TEAM, "domain": "playground"}, "enterprise": None, "is_enterprise_install": False,
        "trigger_id": trigger_id, "container": container, "message": message, "response_url": response_url,
        "channel": {"id": channel.id, "name": "directmessage" if channel.direct else channel.name},
        "state": {"values": {}}, "actions": [action],
    }  # fmt: skip


def view_submission(user: User, view_id: str, view: JsonObject, values: JsonObject) -> dict[str, object]:
    """The payload of a submitted modal; `values` is block id -> action id -> value."""
    return {
        "type": "view_submission", "user": person(user), "api_app_id": STEERSMAN.app_id, "token": "playground",
        "team": {"id": TEAM, "domain": "playground"}, "enterprise": None, "is_enterprise_install": False,
        "view": {
            **view, "id": view_id, "state": {"values": values}, "app_id": STEERSMAN.app_id, "team_id": TEAM,
            "bot_id": STEERSMAN.bot_id, "hash": "0",
        },
        "response_urls": [],
    }  # fmt: skip


def person(user: User) -> dict[str, object]:
    """The user of a payload: with the team that the person belongs to."""
    return {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team}


def _presses(blocks: Blocks, action_id: str) -> Iterator[Press]:
    for block in blocks:
        for element in (*objects_at(block, "elements"), object_at(block, "accessory")):
            if text_at(element, "action_id") == action_id:
                yield from (Press(element, text_at(block, "block_id"), chosen) for chosen in _choices(element))


def _choices(element: JsonObject) -> list[JsonObject]:
    match element.get("type"):
        case "feedback_buttons":
            return [object_at(element, "positive_button"), object_at(element, "negative_button")]
        case "button" | "icon_button":
            return [element]
        case _:
            return objects_at(element, "options")
