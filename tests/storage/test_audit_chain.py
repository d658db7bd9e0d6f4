"""The chain of the audit: written with the fact, in order, and nothing done to its rows goes unseen."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest

from bot.rules.audit_chain import GENESIS, Entry, EntryKind, faults, hash_of
from bot.rules.terms import CallOutcome, InterruptKind
from bot.rules.turn_ends import Cut
from storage import audit, audit_chain, halts, threads
from storage.audit import CallEnd

ODD = {"text": 'nul \x00 half \ud800 quote " back \\ line \u2028 ärger 🙂', "list": [1, None, True, 10**30], "n": -5}


async def chains_of(database):
    async with database.transaction() as tx:
        return {links[0].thread_id: links async for links in audit_chain.chains(tx)}


async def the_chain(database):
    (links,) = (await chains_of(database)).values()
    return links


async def kinds(database):
    return [link.kind for link in await the_chain(database)]


async def noted(database, thread_id, *entries):
    async with database.transaction() as tx:
        await threads.lock(tx, thread_id)
        await audit_chain.note(tx, thread_id, entries)


async def test_every_fact_of_a_run_has_its_entry_in_the_order_of_the_facts(desk, database):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", "read00002", start=True)
    await desk.ends_call("read00001")
    await desk.says("ana", "stop")

    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    links = await the_chain(database)
    assert [link.kind for link in links] == [
        "planned", "planned", "started", "started", "ended", "interrupt", "ended", "settled",
    ]  # fmt: skip
    assert [link.request_id for link in links][:5] == [
        "req-read00001", "req-read00002", "req-read00001", "req-read00002", "req-read00001",
    ]  # fmt: skip
    assert links[-1].body["reason"] == "stopped"
    assert links[-1].body["decided_by"] == "ana"
    assert faults(links) == []


async def test_the_database_hashes_as_the_rules_do_whatever_stands_in_the_body(desk, database):
    claimed = await desk.is_asked()

    await noted(database, claimed.claim.thread_id, Entry(EntryKind.POLICY, ODD, "run\x00", None))
    await noted(database, claimed.claim.thread_id, Entry(EntryKind.POLICY, {}, None, "req"))

    first, second = await the_chain(database)
    assert (first.prev_hash, second.prev_hash) == (GENESIS, first.hash)
    assert [link.hash for link in (first, second)] == [hash_of(first), hash_of(second)]


async def test_the_time_is_hashed_alike_in_whatever_zone_a_session_lives(desk, database):
    claimed = await desk.is_asked()
    await noted(database, claimed.claim.thread_id, Entry(EntryKind.POLICY, {}))

    async with database.transaction() as tx:
        await tx.exec_driver_sql("set local timezone to 'Asia/Kolkata'")
        await audit_chain.note(tx, claimed.claim.thread_id, [Entry(EntryKind.POLICY, {})])

    assert faults(await the_chain(database)) == []


async def test_a_fact_that_is_rolled_back_leaves_no_entry(desk, database):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001")

    async with database.transaction() as tx:
        await audit.start(tx, claimed.claim, "req-read00001")
        await tx.rollback()

    assert await kinds(database) == ["planned"]


async def test_an_end_that_comes_late_is_an_entry_of_its_own(desk, database):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", start=True)
    await desk.says("ana", "stop")
    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    async with database.transaction() as tx:
        await audit.finish_late(tx, CallEnd("req-read00001", CallOutcome.OK, 12, status=200), claimed.claim.fence)

    links = await the_chain(database)
    assert [link.kind for link in links][-3:] == ["ended", "settled", "late"]
    assert (links[-3].body["outcome"], links[-1].body["outcome"]) == ("cancelled", "ok")
    assert faults(links) == []


async def test_late_ends_and_a_stop_at_once_make_one_chain(desk, database):
    claimed = await desk.is_asked()
    names = [f"read{n:05d}" for n in range(1, 26)]
    await desk.calls(claimed, *names, start=True)

    async def late(name):
        async with database.transaction() as tx:
            await audit.finish_late(tx, CallEnd(f"req-{name}", CallOutcome.OK, 1), claimed.claim.fence)

    await asyncio.gather(*map(late, names), desk.says("ana", "stop"), *map(late, names))

    links = await the_chain(database)
    assert faults(links) == []
    assert [link.kind for link in links].count("late") == 25


async def test_the_requester_is_written_with_the_call(desk):
    claimed = await desk.is_asked(who="ana")

    await desk.calls(claimed, "read00001")

    assert [tuple(row) for row in await desk.rows("select requested_by, agent from tool_calls")] == [("ana", "main")]


async def test_a_steer_is_told_by_the_settlement(desk, database):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS")
    probed = await desk.probes(claimed)

    await desk.settles(claimed, Cut(probed.cut))

    (settled,) = [link for link in await the_chain(database) if link.kind == "settled"]
    assert probed.cut.kind is InterruptKind.STEER
    assert settled.body["reason"] == "steered"


@pytest.mark.parametrize(
    "sql",
    [
        "update audit_entries set body = '{}'",
        "update audit_entries set recorded_at = now()",
        "delete from audit_entries",
        "truncate audit_entries",
    ],
)
async def test_the_database_refuses_to_change_what_is_written(desk, database, sql):
    claimed = await desk.is_asked()
    await noted(database, claimed.claim.thread_id, Entry(EntryKind.POLICY, {"a": 1}))

    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="append-only"):
        await desk.raw.execute(sql)

    assert len(await the_chain(database)) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "update audit_entries set body = jsonb_set(body, '{n}', '2') where seq = 2",
        "update audit_entries set recorded_at = recorded_at + interval '1 microsecond' where seq = 2",
        "update audit_entries set run_id = 'another' where seq = 2",
        "update audit_entries set request_id = null where seq = 2",
        "update audit_entries set kind = 'late' where seq = 3",
        "delete from audit_entries where seq = 1",
        "delete from audit_entries where seq = 2",
        "update audit_entries set seq = 9 where seq = 3",
        "update audit_entries a set body = b.body from audit_entries b where a.seq = 2 and b.seq = 3",
    ],
)
async def test_what_a_superuser_does_to_the_rows_is_found(desk, database, sql):
    claimed = await desk.is_asked()
    for n in range(3):
        await noted(database, claimed.claim.thread_id, Entry(EntryKind.POLICY, {"n": n}, "run", f"req{n}"))
    before = faults(await the_chain(database))

    await desk.raw.execute("set session_replication_role = replica")
    await desk.raw.execute(sql)

    assert before == []
    assert faults(await the_chain(database))


async def test_what_belongs_to_no_thread_has_a_chain_of_its_own(desk, database):
    await desk.is_asked()

    async def change(n):
        async with database.transaction() as tx:
            await audit_chain.note_of_workspace(tx, EntryKind.POLICY, {"n": n})

    await asyncio.gather(*(change(n) for n in range(10)))

    chains = await chains_of(database)
    assert faults(chains["workspace"]) == []
    assert sorted(link.body["n"] for link in chains["workspace"]) == list(range(10))


async def test_a_chain_that_was_written_anew_from_some_entry_on_is_whole_but_lacks_the_hash_that_was_kept(
    desk, database
):
    claimed = await desk.is_asked()
    for n in range(2):
        await noted(database, claimed.claim.thread_id, Entry(EntryKind.POLICY, {"n": n}))
    async with database.transaction() as tx:
        ((_, number, kept),) = await audit_chain.heads(tx)
    links = await the_chain(database)

    forged = replace(links[1], recorded_at=links[1].recorded_at + timedelta(seconds=1))
    forged = replace(forged, hash=hash_of(forged))

    assert (number, kept) == (2, links[1].hash)
    assert faults([links[0], forged]) == []
    assert kept not in {links[0].hash, forged.hash}


async def test_a_halt_and_its_end_stand_in_the_chain_of_the_workspace_once_each(database):
    async def does(work):
        async with database.transaction() as tx:
            await work(tx)

    await does(lambda tx: halts.begin(tx, "h1", "ana", "wrong region"))
    await does(lambda tx: halts.begin(tx, "h2", "ben", "again"))
    await does(lambda tx: halts.lift(tx, "ben"))
    await does(lambda tx: halts.lift(tx, "ben"))

    links = (await chains_of(database))["workspace"]
    assert [(link.kind, link.body["id"], link.body["stands"]) for link in links] == [
        ("halt", "h1", True), ("halt", "h1", False),
    ]  # fmt: skip
    assert faults(links) == []
