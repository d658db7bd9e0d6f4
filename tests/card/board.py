"""A board of cards: a real database with runs in it, a local Slack over HTTP, and painters that a test lets go one by
one. What a test claims is read from what Slack holds, from its log of calls, and from the database by SQL.
"""

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
from slack_sdk.web.async_client import AsyncWebClient

from bot.card.outbox import Outbox
from bot.card.pace import Pace, PublisherMeans
from bot.card.painting import Painter
from bot.card.slack_calls import SlackCalls
from bot.playground.local_slack import LocalSlack, SlackOptions
from storage.engine import Database
from tests.storage.desk import Desk
from tests.storage.waits import until

ANA, BEN = "U0ANA", "U0BEN"
INCIDENTS = "C0INCIDENTS"


@dataclass(frozen=True)
class Asked:
    """A run and the thread that it was asked in."""

    run_id: str
    ts: str


class Board:
    """Where cards hang; `later` is how many seconds the painters' clock is ahead."""

    def __init__(self, database: Database, raw: asyncpg.Connection, desk: Desk, slack: LocalSlack) -> None:
        self.database, self.raw, self.desk, self.slack = database, raw, desk, slack
        self.later = 0.0
        self._tokens = iter(range(10**6))

    @classmethod
    @asynccontextmanager
    async def hung(cls, url: str, options: SlackOptions | None = None):
        """A board on a fresh database."""
        raw, watch = await asyncpg.connect(url), await asyncpg.connect(url)
        database = Database(url)
        async with LocalSlack.running(options) as slack:
            yield cls(database, raw, Desk(database, raw, watch), slack)
        await database.close()
        await raw.close()
        await watch.close()

    def calls(self) -> SlackCalls:
        """Our way to the local Slack, as a process of its own would have it."""
        url = f"{self.slack.url}/api/"
        return SlackCalls(AsyncWebClient(token=self.slack.options.bot_token, base_url=url, retry_handlers=[]))

    def means(self) -> PublisherMeans:
        return PublisherMeans(
            self.database, self.calls(), lambda: time.time() + self.later, lambda: f"token{next(self._tokens)}"
        )

    def painter(self, **pace: float) -> Painter:
        return Painter(self.means(), Pace(**pace))

    def outbox(self, **pace: float) -> Outbox:
        return Outbox(self.means(), Pace(**pace))

    async def asks(self, text: str = "why?") -> Asked:
        """Somebody mentions the bot in a new thread: a run is queued, and its card wanted."""
        root = await self.slack.say(ANA, INCIDENTS, text)
        return Asked((await self.says(root.ts, text, at=root.ts)).run_id, root.ts)

    async def says(self, thread: str, text: str, *, at: str | None = None):
        """Ana mentions the bot in a thread."""
        at = at or self.slack.stamps.ts()
        return await self.desk.says(ANA, text, at=at, mention=True, thread=thread, channel_id=INCIDENTS)

    def thread(self, asked: Asked):
        """What stands in a thread behind its root."""
        return self.slack.thread(INCIDENTS, asked.ts)[1:]

    async def card(self, asked: Asked):
        """The row of a card."""
        return await self.raw.fetchrow("select * from cards where run_id = $1", asked.run_id)

    async def is_wanted(self, asked: Asked, **values: str) -> None:
        """A card is wanted anew, and due now."""
        due = "wanted_rev = wanted_rev + 1, next_at = clock_timestamp(), paint_until = null"
        await self.raw.execute(f"update cards set {due} where run_id = $1", asked.run_id)

    async def is_due(self, column: str = "next_at", table: str = "cards") -> None:
        """The time has come for what waits in this column."""
        await self.raw.execute(f"update {table} set {column} = clock_timestamp() where {column} is not null")

    async def was_tried(self, seconds: float, table: str = "cards") -> None:
        """What was begun to be posted was begun so many seconds ago."""
        ago = f"clock_timestamp() - make_interval(secs => {seconds})"
        await self.raw.execute(f"update {table} set posting_at = {ago} where posting_at is not null")

    async def due_in(self, asked: Asked, column: str = "next_at", table: str = "cards") -> float | None:
        """Seconds until the time in this column comes."""
        seconds = f"select extract(epoch from {column} - clock_timestamp())::float8 from {table} where run_id = $1"
        return await self.raw.fetchval(seconds, asked.run_id)

    async def until(self, sql: str, *values: object):
        """Wait until the database answers something true."""
        return await until(lambda: self.raw.fetchval(sql, *values))


def state_of(message) -> str:
    """The state that a card says it is in."""
    return message.metadata["event_payload"]["state"]
