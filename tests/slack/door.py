"""The door to Slack: what people do in a local Slack, given to our listeners as Slack gives it, over a real database.

A gesture is carried to the listeners by hand, so that a test says when. What a test claims is read by SQL and from what
the local Slack holds.
"""

import itertools
import time
from contextlib import asynccontextmanager

import asyncpg
from slack_sdk.web.async_client import AsyncWebClient

from bot.card.answer import parts
from bot.card.slack_calls import SlackCalls
from bot.playground.local_slack import LocalSlack, SlackOptions
from bot.rules.card_menu import MenuChoice
from bot.rules.inbound_message import OurIds
from bot.rules.redaction import Scrubber
from bot.slack.deeds import ShowsDeeds
from bot.slack.earlier import Earlier
from bot.slack.edge import Edge
from bot.slack.going_back import GoingBack
from bot.slack.listeners.back import Back
from bot.slack.listeners.buttons import Buttons
from bot.slack.listeners.messages import Messages
from bot.slack.people import People
from storage.changes import Changes
from storage.engine import Database
from storage.inbox import Inbox, Reception
from storage.presses import Presses
from storage.rollback import Rollbacks
from storage.settlement import Means

ANA, BEN, GUS, EVE = "U0ANA", "U0BEN", "U0GUS", "U0EVE"
INCIDENTS = "C0INCIDENTS"
OUR = OurIds("T0PLAYGROUND", "UBOT", "B0STEERSMAN", "A0STEERSMAN")
PASSWORD = "correct horse battery"


class Door:
    """Our listeners, with a local Slack before them and a database behind them."""

    def __init__(self, url: str, slack: LocalSlack, raw: asyncpg.Connection) -> None:
        self.slack, self.raw, self.database = slack, raw, Database(url)
        self.calls = SlackCalls(
            AsyncWebClient(token=slack.options.bot_token, base_url=f"{slack.url}/api/", retry_handlers=[])
        )
        ids = itertools.count(1)
        means, reception = Means(lambda: f"id{next(ids)}", parts), Reception(OUR)
        desks = (Inbox(reception, means), Changes(reception, means), Presses(reception, means))
        scrub = Scrubber([PASSWORD]).text
        self.people = People(self.database, self.calls, OUR, scrub)
        self.edge = Edge(self.database, self.calls, self.people, desks, time.time)
        self.messages = Messages(self.edge, self.people, OUR, scrub)
        self.reception = reception
        shows = ShowsDeeds(self.database, self.calls, self.people, reception)
        self.back = Back(GoingBack(self.database, self.calls, self.people, Rollbacks(reception, means)))
        menu = {MenuChoice.CLEAR: self.edge.clear, MenuChoice.SHOW: shows.show, MenuChoice.BACK: self.back.open}
        self.buttons = Buttons(self.edge, menu)
        self.earlier = Earlier(self.calls, OUR, self.people.names, scrub)
        self.acknowledged = 0
        self._carried = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, options: SlackOptions | None = None):
        """A door on a fresh database."""
        raw = await asyncpg.connect(url)
        async with LocalSlack.running(options) as slack:
            door = cls(url, slack, raw)
            yield door
            await door.database.close()
        await raw.close()

    async def carry(self) -> None:
        """Give our listeners all that Slack has sent since."""
        sent = self.slack.deliveries()
        new, self._carried = sent[self._carried :], len(sent)
        for each in new:
            await self._give(each.kind, each.payload)

    async def _give(self, kind, payload) -> None:
        if kind == "interactive":
            await self.buttons.press(self._acknowledge, payload)
        else:
            await self.messages.event(payload)

    async def _acknowledge(self) -> None:
        self.acknowledged += 1

    async def says(self, who: str, text: str, thread: str | None = None, channel: str = INCIDENTS):
        """Somebody writes; gives the message when it has been taken in."""
        message = await self.slack.say(who, channel, text, thread)
        await self.carry()
        return message

    async def card_of(self, thread: str):
        """Our card stands in the thread, and its row knows where."""
        run_id = await self.raw.fetchval("select run_id from cards where thread_ts = $1", thread)
        values = [
            {"type": "button", "action_id": each, "value": value, "text": {"type": "plain_text", "text": "x"}}
            for each, value in (
                ("steersman_stop", f"v1:{run_id}"),
                ("steersman_of_old", f"v1:{run_id}"),
                ("steersman_stop_all", "something else"),
            )
        ]
        metadata = {"event_type": "steersman_card", "event_payload": {"post_key": f"card:{run_id}"}}
        blocks = [{"type": "actions", "elements": values}]
        ts = await self.calls.post(INCIDENTS, thread, {"text": "card", "blocks": blocks, "metadata": metadata})
        await self.carry()
        return ts

    async def whispers(self, who: str, number: int = 1) -> list[str]:
        """What somebody was told in private, as soon as it is so much."""

        def look():
            told = self.slack.ephemerals(who)
            return told if len(told) >= number else None

        return [each.text for each in await self.slack.wait_for(look, 10)]

    async def verdicts(self) -> list[str]:
        return [row[0] for row in await self.raw.fetch("select verdict from ingress order by received_at")]

    def asked_about(self) -> list[str]:
        """Whom Slack was asked about."""
        return [call.arguments["user"] for call in self.slack.calls("users.info")]
