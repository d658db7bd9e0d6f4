"""Who somebody is: asked of Slack before the transaction, within a second, and kept for a day.

A name is a text that somebody else wrote, so it is scrubbed like one.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar

from bot.card.slack_calls import SlackCalls
from bot.errors import SlackError
from bot.rules.inbound_message import AuthorFacts, OurIds
from bot.rules.redaction import scrub as scrub_shapes
from bot.rules.terms import PersonClass
from bot.slack.inbound import person_class
from bot.slack.user_groups import UserGroups
from bot.telemetry import log
from storage import people
from storage.engine import Database
from storage.people import Person

T = TypeVar("T")

WAIT_S = 1.0
"""Seconds that a look-up may take: an event must be acknowledged within three."""
REMEMBERED_S = 60.0
"""Seconds that a person is remembered here, so that somebody who talks is not read from the database at each word."""
LONGEST_NAME = 80


class People:
    """Looks people up; `scrub` takes secrets out of their names."""

    most_remembered = 10_000

    def __init__(
        self, database: Database, calls: SlackCalls, our: OurIds, scrub: Callable[[str], str] = scrub_shapes
    ) -> None:
        self._database, self._calls, self._our, self._scrub = database, calls, our, scrub
        self._groups = UserGroups(calls)
        self._names: dict[str, str] = {}
        self._seen: dict[str, tuple[float, Person]] = {}

    @property
    def names(self) -> Mapping[str, str]:
        """The names that have been met, by user id; the newest ones."""
        return self._names

    async def who(self, author: AuthorFacts, *, may_ask: bool = True) -> Person:
        """What is known of an author; unknown where Slack does not say in time, or may not be asked.

        Apps are not looked up.
        """
        if author.user_id is None or author.is_app or author.is_self or author.is_system:
            return self._stranger(author.user_id or author.bot_id or "system")
        now = asyncio.get_running_loop().time()
        at, person = self._seen.get(author.user_id, (now - REMEMBERED_S, None))
        if person is not None and now - at < REMEMBERED_S:
            return person
        person = await self._look_up(author.user_id, may_ask=may_ask)
        if person.person_class is not PersonClass.UNKNOWN:
            self._keep(self._seen, person.user_id, (now, person))
        if person.name:
            self._keep(self._names, person.user_id, person.name)
        return person

    async def members(self, group: str) -> frozenset[str]:
        """Who is in a user group; nobody where Slack does not say so in time: who may approve is not guessed."""
        return (await self._groups.members([group]))[group]

    async def _look_up(self, user_id: str, *, may_ask: bool) -> Person:
        async with self._database.transaction() as tx:
            known = await people.get(tx, self._our.team_id, user_id)
        if known is not None:
            return known
        return await self._ask(user_id) if may_ask else self._stranger(user_id)

    async def _ask(self, user_id: str) -> Person:
        try:
            async with asyncio.timeout(WAIT_S):
                found = await self._calls.person(user_id)
        except (SlackError, TimeoutError) as error:
            log.warning("person.unknown", user_id=user_id, error=str(error) or "no answer in time")
            return self._stranger(user_id)
        name = self._scrub(_name(found))
        person = Person(self._our.team_id, user_id, person_class(found, self._our), name)
        async with self._database.transaction() as tx:
            await people.put(tx, person)
        return person

    def _stranger(self, user_id: str) -> Person:
        return Person(self._our.team_id, user_id, PersonClass.UNKNOWN)

    def _keep(self, kept: dict[str, T], user_id: str, value: T) -> None:
        """Keep a value as the newest, and let the oldest go where there are too many."""
        kept.pop(user_id, None)
        kept[user_id] = value
        if len(kept) > self.most_remembered:
            del kept[next(iter(kept))]


def _name(user: Mapping[str, object]) -> str:
    profile = user.get("profile")
    shown = profile.get("display_name") if isinstance(profile, Mapping) else None
    # A name of several lines could pass for the words of somebody else.
    return " ".join(str(shown or user.get("name") or "").split())[:LONGEST_NAME]
