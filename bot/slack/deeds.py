"""Shows somebody who asks on the card what the run did: in a modal, which Slack takes within 3 seconds of the press."""

import asyncio

from bot.card.slack_calls import SlackCalls
from bot.card.what_it_did import modal
from bot.errors import SlackError
from bot.rules.inbound_message import Press
from bot.slack.people import People
from bot.telemetry import log
from storage import deeds
from storage.engine import Database
from storage.inbox import Reception

WITHIN_S = 2.5
"""Seconds for all of it: after 3 the trigger is no good any more, and the press counts as failed (Slack's own page)."""


class ShowsDeeds:
    """Carries out the menu's "Show what it did"; it stores nothing, so a press that fails can be made again."""

    def __init__(self, database: Database, calls: SlackCalls, people: People, reception: Reception) -> None:
        self._database, self._calls, self._people, self._reception = database, calls, people, reception

    async def show(self, press: Press) -> None:
        """Open the modal, or say in private why not."""
        try:
            async with asyncio.timeout(WITHIN_S):
                await self._show(press)
        except (SlackError, TimeoutError) as error:
            log.warning("deeds.not_shown", run_id=press.run_id, error=str(error) or type(error).__name__)

    async def _show(self, press: Press) -> None:
        person = await self._people.who(press.author)
        async with self._database.transaction() as tx:
            found = await deeds.for_press(tx, self._reception, press, person)
        if isinstance(found, str):
            await self._calls.whisper(press.channel_id, person.user_id, found, press.thread_ts)
        elif press.trigger_id is not None:
            await self._calls.open_view(press.trigger_id, modal(found))
