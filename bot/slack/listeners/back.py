"""The menu item "Go back to a step", and the modal that it opens."""

from collections.abc import Mapping
from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.card.back_modal import BLOCK_ID
from bot.rules.inbound_message import GoBack, Press
from bot.slack.going_back import GoingBack
from bot.slack.submissions import parse_go_back

NO_CHOICE = "Choose a step to go back to, or leave it."


class Back:
    """Opens the modal, and takes its submission in."""

    def __init__(self, going_back: GoingBack) -> None:
        self._going_back = going_back

    async def open(self, press: Press) -> None:
        """Open the modal; without a trigger nothing can be opened."""
        if press.trigger_id is not None:
            await self._going_back.open(press, press.trigger_id)

    async def submit(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Carry a submission out; what is wrong with it is said in the modal, which then stays open."""
        chosen = parse_go_back(body)
        wrong = await self._going_back.go_back(chosen) if isinstance(chosen, GoBack) else NO_CHOICE
        await (ack(response_action="errors", errors={BLOCK_ID: wrong}) if wrong else ack())
