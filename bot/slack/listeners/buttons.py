"""The buttons of the card, and the menu beside them."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from slack_bolt.async_app import AsyncAck

from bot.rules.card_menu import MENU_ACTION_ID, OFFERED, MenuChoice
from bot.rules.card_states import Action
from bot.rules.inbound_message import Press
from bot.rules.terms import Command
from bot.rules.tool_policy import Vote
from bot.slack.edge import Edge
from bot.slack.inbound import parse_action

COMMANDS: Mapping[str, Command] = MappingProxyType({
    Action.STOP.value: Command.STOP,
    Action.PAUSE.value: Command.PAUSE,
    Action.RESUME.value: Command.RESUME,
})

VOTES: Mapping[str, Vote] = MappingProxyType({Action.APPROVE.value: Vote.YES, Action.DENY.value: Vote.NO})

Choose: TypeAlias = Callable[[Press], Awaitable[None]]
"""Carries out one choice of the menu; it returns when that is stored, and only then the choice is acknowledged."""


class Buttons:
    """The buttons of ours, and an answer to every other one, since a click without one looks like a fault.

    `menu` says who carries out which choice; ValueError where a card would offer one that nobody carries out.
    """

    def __init__(self, edge: Edge, menu: Mapping[MenuChoice, Choose]) -> None:
        if unanswered := sorted(OFFERED - menu.keys()):
            raise ValueError(f"a card offers what nobody carries out: {', '.join(unanswered)}")
        self._edge, self._menu = edge, menu

    async def press(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Carry a button out; what is acknowledged before it is stored is lost when the database is away."""
        pressed = parse_action(body)
        if not isinstance(pressed, Press) or not await self._carried_out(pressed):
            self._edge.useless_press(body)
        await ack()

    async def _carried_out(self, press: Press) -> bool:
        if press.action_id == MENU_ACTION_ID:
            choose = self._menu.get(MenuChoice(press.choice)) if press.choice in set(MenuChoice) else None
            if choose is not None:
                await choose(press)
            return choose is not None
        command, vote = COMMANDS.get(press.action_id), VOTES.get(press.action_id)
        if command is not None:
            await self._edge.press(press, command)
        elif vote is not None:
            await self._edge.vote(press, vote)
        return command is not None or vote is not None
