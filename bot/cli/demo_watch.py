"""Looks at a demo from outside: at the database over a connection of its own, at the cards as the playground has them.

It judges the bot, so it asks none of its parts. Waiting is for conditions: the database and the playground both say
when something has changed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self, TypeVar

from bot.playground.cast import TEAM
from bot.playground.changes import Changes
from bot.playground.json_reading import object_at, objects_at, text_at
from bot.playground.workspace import Message
from bot.rules.card_facts import StepFacts, StepState
from bot.rules.terms import RunState
from storage import card_facts, outcomes
from storage.engine import Database
from storage.notify import CARD, Listener
from storage.outcomes import RunOutcome
from storage.threads import Place

Seen = TypeVar("Seen")

LOOK_AGAIN_S = 0.5
"""Seconds after which the database is looked at without a hint: a hint may be lost."""


@dataclass(frozen=True, slots=True)
class CardSeen:
    """A card as it stands in the playground; `buttons` is label -> action id."""

    ts: str
    post_key: str
    state: str
    buttons: Mapping[str, str]


def card_of(message: Message) -> CardSeen | None:
    """The card that a message is; None for every other message."""
    metadata = message.metadata or {}
    if text_at(metadata, "event_type") != "steersman_card":
        return None
    payload = object_at(metadata, "event_payload")
    return CardSeen(message.ts, text_at(payload, "post_key"), text_at(payload, "state"), dict(_buttons(message)))


def _buttons(message: Message) -> Iterator[tuple[str, str]]:
    for block in message.blocks:
        for element in objects_at(block, "elements") if text_at(block, "type") == "actions" else ():
            if text_at(element, "type") != "button":
                continue
            yield text_at(object_at(element, "text"), "text"), text_at(element, "action_id")


class Watch:
    """A look at the runs of threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changes = Changes()

    @classmethod
    @asynccontextmanager
    async def on(cls, url: str) -> AsyncIterator[Self]:
        """A watch over connections of its own, until the block is left."""
        database = Database(url, pool_size=4)
        watch = cls(database)
        listening = asyncio.create_task(watch.listen())
        try:
            yield watch
        finally:
            listening.cancel()
            await asyncio.wait([listening])
            await database.close()

    async def listen(self) -> None:
        """Hear of changes, until cancelled."""
        await Listener(self._database.dsn, {CARD: lambda _: self._changes.notify()}).run()

    async def runs(self, channel: str, thread_ts: str) -> tuple[RunOutcome, ...]:
        """The runs of a thread as the database has them now, oldest first."""
        async with self._database.transaction() as tx:
            return await outcomes.of_thread(tx, Place(TEAM, channel, thread_ts))

    async def settled(self, channel: str, thread_ts: str, count: int) -> tuple[RunOutcome, ...]:
        """Wait until so many runs of a thread are settled and none is not; gives all of them."""

        async def look() -> tuple[RunOutcome, ...] | None:
            found = await self.runs(channel, thread_ts)
            return found if len(found) >= count and all(run.state is RunState.SETTLED for run in found) else None

        return await self._until(look)

    async def reading(self, channel: str, thread_ts: str, path: str) -> None:
        """Wait until the newest run of a thread has a call at work on an address that ends with `path`."""

        async def look() -> bool:
            found = await self.runs(channel, thread_ts)
            steps = await self._steps(found[-1].run_id) if found else ()
            return any(step.state is StepState.RUNNING and step.target.endswith(path) for step in steps)

        await self._until(look)

    async def _steps(self, run_id: str) -> tuple[StepFacts, ...]:
        # The facts of a card are one snapshot, which only the first statement of a transaction can ask for.
        async with self._database.transaction() as tx:
            facts = await card_facts.of_run(tx, run_id)
        return facts.steps if facts else ()

    async def _until(self, look: Callable[[], Awaitable[Seen | None]]) -> Seen:
        while True:
            count = self._changes.count
            if seen := await look():
                return seen
            try:
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._changes.after(count)
            except TimeoutError:
                continue
