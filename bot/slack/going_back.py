"""From the menu's "Go back to a step" to the modal that offers the checkpoints, and from the modal to the rollback."""

import asyncio

from bot.card.back_modal import back_modal
from bot.card.slack_calls import SlackCalls
from bot.errors import DatabaseUnavailableError, SlackError
from bot.rules.inbound_message import GoBack, Press
from bot.slack.people import People
from bot.slack.submissions import card_of
from bot.telemetry import log
from storage.engine import Database
from storage.rollback import Offer, Rollbacks

OPEN_WITHIN_S = 2.5
"""A trigger opens a modal within three seconds of the press; what comes later is refused."""
NOT_OPENED = "If the list of steps did not open: that took too long. Open the menu again."
"""Slack may have opened it all the same, where only its answer was lost."""


class GoingBack:
    """Offers, and carries out, what the modal is for; each is one transaction."""

    def __init__(self, database: Database, calls: SlackCalls, people: People, desk: Rollbacks) -> None:
        self._database, self._calls, self._people, self._desk = database, calls, people, desk

    async def open(self, press: Press, trigger_id: str) -> None:
        """Open the modal for whoever pressed; where there is nothing to choose from, say so in private."""
        try:
            async with asyncio.timeout(OPEN_WITHIN_S):
                reply = await self._open(press, trigger_id)
        except (TimeoutError, SlackError, DatabaseUnavailableError) as error:
            log.warning("steps.not_offered", run_id=press.run_id, error=str(error))
            reply = NOT_OPENED
        if reply is not None:
            await self._whisper(press, reply)

    async def _open(self, press: Press, trigger_id: str) -> str | None:
        offer = await self._offer(press)
        if offer.checkpoints:
            await self._calls.open_view(trigger_id, back_modal(offer.checkpoints, offer.title, card_of(press)))
        return offer.reply

    async def _offer(self, press: Press) -> Offer:
        person = await self._people.who(press.author)
        async with self._database.transaction() as tx:
            return await self._desk.offer(tx, press, person)

    async def go_back(self, chosen: GoBack) -> str | None:
        """Go back to what was chosen; returns what is wrong with the choice, None where nothing is."""
        person = await self._people.who(chosen.author)
        async with self._database.transaction() as tx:
            wrong = await self._desk.go_back(tx, chosen, person)
        log.info("run.taken_back", run_id=chosen.run_id, checkpoint=chosen.checkpoint, reply=wrong)
        return wrong

    async def _whisper(self, press: Press, text: str) -> None:
        try:
            await self._calls.whisper(press.channel_id, press.user_id, text, press.thread_ts)
        except SlackError as error:
            log.warning("reply.not_sent", error=str(error))
