"""What Slack said of a person is believed for a day; what a model call cost is booked once."""

from decimal import Decimal

import pytest

from bot.rules.messages import Usage
from bot.rules.terms import PersonClass
from storage import people, usage
from storage.people import Person
from storage.usage import Spent


async def put(database, person):
    async with database.transaction() as tx:
        await people.put(tx, person)


async def get(database, user="ana"):
    async with database.transaction() as tx:
        return await people.get(tx, "T1", user)


async def test_a_person_is_remembered_as_slack_said(database):
    ana = Person("T1", "ana", PersonClass.GUEST, "Ana B.")

    await put(database, ana)

    assert await get(database) == ana
    assert await get(database, "bob") is None


async def test_the_newest_answer_counts(database):
    await put(database, Person("T1", "ana", PersonClass.GUEST, "Ana"))

    await put(database, Person("T1", "ana", PersonClass.MEMBER, "Ana B."))

    assert (await get(database)).person_class is PersonClass.MEMBER


@pytest.mark.parametrize(("hours", "is_known"), [(23, True), (25, False)])
async def test_an_answer_is_believed_for_a_day(database, raw, hours, is_known):
    await put(database, Person("T1", "ana", PersonClass.MEMBER, "Ana"))
    await raw.execute(f"update people set checked_at = checked_at - interval '{hours} hours'")

    assert (await get(database) is not None) is is_known


async def test_an_unknown_person_is_never_kept(database):
    await put(database, Person("T1", "ana", PersonClass.MEMBER, "Ana"))

    await put(database, Person("T1", "ana", PersonClass.UNKNOWN, ""))

    assert (await get(database)).person_class is PersonClass.MEMBER


async def test_a_model_call_is_booked_once_however_often_it_is_repeated(desk):
    claimed = await desk.is_asked()
    spent = Spent("openai", "gpt", Usage(10, 5, reported=False), Decimal("0.0125"))

    for key in ("k1", "k1", "k2"):
        async with desk.database.transaction() as tx:
            await usage.add(tx, claimed.run.id, key, spent)

    booked = await desk.rows("select input_tokens, output_tokens, reported, cost from usage")
    assert [tuple(row) for row in booked] == [(10, 5, False, Decimal("0.0125"))] * 2
