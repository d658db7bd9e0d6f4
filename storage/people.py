"""What Slack said a person is, kept for a day."""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from bot.rules.terms import PersonClass, StartedBy
from bot.rules.tool_access import RequesterClass
from storage.engine import Transaction
from storage.tables import clock, people, runs

KEPT_S = 24 * 3600
"""Seconds for which an answer of users.info is believed (design, section 5)."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person as the policy needs them."""

    team_id: str
    user_id: str
    person_class: PersonClass
    name: str = ""


async def get(tx: Transaction, team_id: str, user_id: str) -> Person | None:
    """What is known of a person; None where nothing is, or where it is too old to believe."""
    fresh = people.c.checked_at > clock() - sa.func.make_interval(0, 0, 0, 0, 0, 0, KEPT_S)
    found = sa.select(people).where(people.c.team_id == team_id, people.c.user_id == user_id, fresh)
    row = (await tx.execute(found)).mappings().one_or_none()
    return Person(team_id, user_id, PersonClass(row["class"]), row["name"]) if row else None


async def class_of_requester(tx: Transaction, team_id: str, run_id: str) -> RequesterClass:
    """What asked for a run; unknown where Slack has not said what this person is, or not within a day."""
    asked = sa.select(runs.c.started_by, runs.c.requested_by).where(runs.c.id == run_id)
    row = (await tx.execute(asked)).one_or_none()
    if row is None:
        return RequesterClass.UNKNOWN
    if row.started_by == StartedBy.ALERT:
        return RequesterClass.ALERT
    person = await get(tx, team_id, row.requested_by)
    return RequesterClass(person.person_class) if person else RequesterClass.UNKNOWN


async def put(tx: Transaction, person: Person) -> None:
    """Keep what Slack said; unknown is never kept."""
    if person.person_class is PersonClass.UNKNOWN:
        return
    values = {"class": person.person_class, "name": person.name}
    statement = insert(people).values(team_id=person.team_id, user_id=person.user_id, **values)
    keep = statement.on_conflict_do_update(
        index_elements=["team_id", "user_id"], set_={**values, "checked_at": clock()}
    )
    await tx.execute(keep)
