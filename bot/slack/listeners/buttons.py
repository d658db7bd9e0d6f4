"""The buttons of the card."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.rules.card_states import Action
from bot.rules.inbound_message import Press
from bot.rules.terms import Command
from bot.slack.edge import Edge
from bot.slack.inbound import parse_action

COMMANDS: Mapping[str, Command] = MappingProxyType({
    Action.STOP.value: Command.STOP,
    Action.PAUSE.value: Command.PAUSE,
    Action.RESUME.value: Command.RESUME,
})


class Buttons:
    """Stop, Pause and Resume; and an answer to every other button, since a click without one looks like a fault."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    async def press(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Carry a button out; what is acknowledged before it is stored is lost when the database is away."""
        pressed = parse_action(body)
        command = COMMANDS.get(pressed.action_id) if isinstance(pressed, Press) else None
        if isinstance(pressed, Press) and command is not None:
            await self._edge.press(pressed, command)
        else:
            self._edge.useless_press(body)
        await ack()
