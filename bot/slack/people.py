"""Who somebody is: asked of Slack before the transaction, within a second, and kept for a day."""

import asyncio
from collections.abc import Mapping

from bot.card.slack_calls import SlackCalls
from bot.errors import SlackError
from bot.rules.inbound_message import AuthorFacts, OurIds
from bot.rules.terms import PersonClass
from bot.slack.inbound import person_class
from bot.telemetry import log
from storage import people
from storage.engine import Database
from storage.people import Person

WAIT_S = 1.0
"""Seconds that a look-up may take: an event must be acknowledged within three."""


class People:
    """Looks people up."""

    def __init__(self, database: Database, calls: SlackCalls, our: OurIds) -> None:
        self._database, self._calls, self._our = database, calls, our
        self._names: dict[str, str] = {}

    @property
    def names(self) -> Mapping[str, str]:
        """The names that have been met, by user id."""
        return self._names

    async def who(self, author: AuthorFacts) -> Person:
        """What is known of an author; unknown where Slack does not say in time. Apps are not looked up."""
        if author.user_id is None or author.is_app or author.is_self or author.is_system:
            return Person(self._our.team_id, author.user_id or author.bot_id or "system", PersonClass.UNKNOWN)
        async with self._database.transaction() as tx:
            known = await people.get(tx, self._our.team_id, author.user_id)
        person = known or await self._ask(author.user_id)
        if person.name:
            self._names[person.user_id] = person.name
        return person

    async def _ask(self, user_id: str) -> Person:
        try:
            async with asyncio.timeout(WAIT_S):
                found = await self._calls.person(user_id)
        except (SlackError, TimeoutError) as error:
            log.warning("person.unknown", user_id=user_id, error=str(error))
            return Person(self._our.team_id, user_id, PersonClass.UNKNOWN)
        person = Person(self._our.team_id, user_id, person_class(found, self._our), _name(found))
        async with self._database.transaction() as tx:
            await people.put(tx, person)
        return person


def _name(user: Mapping[str, object]) -> str:
    profile = user.get("profile")
    shown = profile.get("display_name") if isinstance(profile, Mapping) else None
    return str(shown or user.get("name") or "")
