"""Paints cards and posts answers until Slack shows what the database says. It never harms a run.

One call in flight a card; progress at most once an interval, a change of state at once; a terminal paint is repeated
until Slack has it, and once more later. What is rendered is the newest state at the time of the call.
"""

import asyncio
from collections.abc import Awaitable, Callable

from bot.card.outbox import Outbox
from bot.card.pace import Pace, PublisherMeans
from bot.card.painting import Painter
from bot.errors import DatabaseUnavailableError
from bot.telemetry import log
from storage.notify import CARD, Listener

__all__ = ["Pace", "Publisher", "PublisherMeans"]

Publish = Callable[[], Awaitable[bool]]


class Publisher:
    """One publisher; several may share a database."""

    def __init__(self, means: PublisherMeans, pace: Pace, *, at_once: int = 4) -> None:
        self._pace, self._at_once = pace, at_once
        self._painter, self._outbox = Painter(means, pace), Outbox(means, pace)
        self._hints: list[asyncio.Event] = []
        self._listener = Listener(means.database.dsn, {CARD: lambda _: self._wake()})

    async def run(self) -> None:
        """Publish until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._go_on(self._listen))
            for _ in range(self._at_once):
                group.create_task(self._go_on(self._painter.paint_one))
            # Answers have lanes of their own: Slack limits posts and updates each for themselves.
            for _ in range((self._at_once + 1) // 2):
                group.create_task(self._go_on(self._outbox.post_one))

    async def _go_on(self, publish: Publish) -> None:
        hint = asyncio.Event()
        self._hints.append(hint)
        while True:
            hint.clear()
            if not await self._published(publish):
                await self._rest(hint)

    async def _published(self, publish: Publish) -> bool:
        """Publish something, if anything is due; whether to look for more at once."""
        try:
            return await publish()
        except DatabaseUnavailableError:
            return False
        # A fault in one card may never end the painting of the others, and never reaches a run.
        except Exception:
            log.exception("publisher.broke")
            return False

    async def _listen(self) -> bool:
        await self._listener.run()
        return False

    def _wake(self) -> None:
        for hint in self._hints:
            hint.set()

    async def _rest(self, hint: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._pace.poll_s):
                await hint.wait()
        except TimeoutError:
            return
