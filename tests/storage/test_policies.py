"""A channel's own rows: stored with who set them, told to the chain, and read again soon."""

import asyncio

from bot.rules.audit_chain import faults
from bot.rules.terms import PersonClass, Phase, Source, StartedBy, Verdict
from bot.rules.tool_access import RequesterClass
from storage import audit_chain, people, policies
from storage.people import Person
from storage.policies import Policies, RowKey
from storage.tables import runs
from storage.threads import Place
from tests.storage.waits import until

KEY = RowKey("T1", "C1", Source.REQUESTER, False, Phase.RUNNING)
PLACE = Place("T1", "C1", "1.0")
ROW = (Source.REQUESTER, False, Phase.RUNNING)


async def put(database, verdict, by="ana"):
    async with database.transaction() as tx:
        await policies.put(tx, KEY, verdict, by)


async def taken_away(database):
    async with database.transaction() as tx:
        return await policies.take_away(tx, KEY, "ben")


async def workspace_chain(database):
    async with database.transaction() as tx:
        (links,) = [links async for links in audit_chain.chains(tx)]
    return links


async def test_a_row_that_was_set_is_what_the_channel_does(desk, database):
    await desk.is_asked()
    await put(database, Verdict.NOTE)

    receipt = await desk.says("ana", "look at DNS")

    assert receipt.verdict is Verdict.NOTE
    assert await desk.value("select policy_row from inbox order by seq desc limit 1") == "requester/no/running/override"


async def test_a_row_is_replaced_and_taken_away_with_who_did_it_in_the_chain(database):
    await put(database, Verdict.NOTE, "ana")
    await put(database, Verdict.QUEUE, "ben")

    gone = [await taken_away(database), await taken_away(database)]

    links = await workspace_chain(database)
    assert gone == [True, False]
    assert [(link.body["set_by"], link.body["verdict"]) for link in links] == [
        ("ana", "note"), ("ben", "queue"), ("ben", None),
    ]  # fmt: skip
    assert faults(links) == []


async def test_who_set_a_row_and_when_stands_in_the_row(database):
    await put(database, Verdict.NOTE, "ana")

    async with database.transaction() as tx:
        (row,) = await policies.own_rows(tx, "T1", "C1")
        others = await policies.own_rows(tx, "T1", "C2") + await policies.own_rows(tx, "T2")

    assert (row.set_by, row.verdict, row.set_at is not None, others) == ("ana", "note", True, [])


async def test_a_change_is_read_within_the_time_that_rows_are_kept(database):
    kept = Policies(0.2)
    began = asyncio.get_running_loop().time()

    async def look():
        async with database.transaction() as tx:
            return (await kept.of_channel(tx, PLACE)).get(ROW)

    before = await look()
    await put(database, Verdict.NOTE)
    after = await until(look)

    assert (before, after) == (None, Verdict.NOTE)
    assert asyncio.get_running_loop().time() - began < 5.0


async def test_a_word_that_is_none_of_ours_is_as_if_it_were_not_there(database, raw):
    await put(database, Verdict.NOTE)
    await raw.execute("update policy_overrides set verdict = 'shrug'")

    async with database.transaction() as tx:
        overrides = await Policies().of_channel(tx, PLACE)

    assert overrides == {}


async def test_a_message_is_explained_by_its_stored_verdict_and_row(desk, database):
    claimed = await desk.is_asked(at="1001.000001")

    async with database.transaction() as tx:
        found = await policies.judged(tx, await policies.teams(tx), "C1", "1001.000001")
        never = await policies.judged(tx, ["T1"], "C1", "9.9")

    assert (found.verdict, found.row, found.run_id) == ("start", "teammate/yes/untouched", claimed.run.id)
    assert never is None


async def test_what_asked_for_a_run_is_known_by_what_slack_said(desk, database):
    claimed = await desk.is_asked()

    async def asked_by():
        async with database.transaction() as tx:
            return await people.class_of_requester(tx, "T1", claimed.run.id)

    unknown = await asked_by()
    async with database.transaction() as tx:
        await people.put(tx, Person("T1", "ana", PersonClass.GUEST))
    guest = await asked_by()
    async with database.transaction() as tx:
        await tx.execute(runs.update().values(started_by=StartedBy.ALERT))

    assert [unknown, guest, await asked_by()] == [
        RequesterClass.UNKNOWN, RequesterClass.GUEST, RequesterClass.ALERT,
    ]  # fmt: skip
