"""One row a call, written before it starts: what a successor needs to answer truly for it."""

from bot.rules.terms import CallOutcome, Grade, InterruptKind
from bot.rules.turn_ends import Cut
from storage import audit
from storage.audit import Start
from tests.storage.desk import stale


async def test_a_call_is_written_down_before_it_starts(desk):
    claimed = await desk.is_asked()

    await desk.calls(claimed, "read00001", "read00002")

    planned = await desk.rows("select call_id, position, grade, started_at, outcome from tool_calls order by position")
    assert [tuple(row) for row in planned] == [
        ("read00001", 0, "read", None, None),
        ("read00002", 1, "read", None, None),
    ]


async def test_a_start_is_written_down_under_the_claim(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001")

    answer = await desk.starts(claimed, "read00001")

    assert answer.start is Start.GO
    assert await desk.value("select started_at is not null from tool_calls")


async def test_nothing_starts_for_a_claim_that_was_lost(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001")

    by_fence = await desk.starts(stale(claimed, fence=claimed.claim.fence - 1), "read00001")
    by_owner = await desk.starts(stale(claimed, worker_id="w2"), "read00001")

    assert by_fence.start is by_owner.start is Start.LOST
    assert await desk.value("select started_at from tool_calls") is None


async def test_the_earlier_interrupt_is_the_one_in_the_way(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001")
    await desk.says("ana", "look at DNS")
    await desk.says("ana", "stop")

    answer = await desk.starts(claimed, "read00001")

    assert (answer.start, answer.by.kind) == (Start.PENDING, InterruptKind.STOP)


async def test_an_end_that_was_written_stays_when_the_call_is_closed(desk, database):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", start=True)
    await desk.ends_call("read00001")

    async with database.transaction() as tx:
        await audit.close(tx, "req-read00001", CallOutcome.CANCELLED)

    assert await desk.audited() == [("read00001", "ok")]


async def test_an_end_that_comes_after_the_stop_goes_to_the_audit_and_not_to_the_history(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", start=True)
    await desk.says("ana", "stop")
    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    await desk.ends_call_late(claimed, "read00001")

    assert await desk.audited() == [("read00001", "cancelled")]
    assert await desk.outcomes() == [("read00001", "cancelled")]
    assert await desk.value("select (late->>'fence')::int from tool_calls") == claimed.claim.fence
    assert await desk.value("select late->>'outcome' from tool_calls where late_at is not null") == "ok"


async def test_a_late_end_leaves_what_a_successors_repetition_of_the_call_brought(desk):
    lost = await desk.is_asked()
    await desk.calls(lost, "read00001", start=True)
    await desk.gives_back(lost)
    successor = await desk.claims("w2")
    await desk.starts(successor, "read00001")
    await desk.ends_call("read00001", CallOutcome.FAILED)

    await desk.ends_call_late(lost, "read00001")

    assert await desk.audited() == [("read00001", "failed")]
    kept = await desk.rows("select fence, (late->>'fence')::int, late->>'outcome' from tool_calls")
    assert [tuple(row) for row in kept] == [(successor.claim.fence, lost.claim.fence, "ok")]


async def test_a_late_end_is_not_taken_for_that_of_a_repetition_that_is_still_out(desk):
    lost = await desk.is_asked()
    await desk.calls(lost, "read00001", start=True)
    await desk.gives_back(lost)
    await desk.starts(await desk.claims("w2"), "read00001")

    await desk.ends_call_late(lost, "read00001")

    assert await desk.audited() == [("read00001", None)]


async def test_a_write_that_ends_after_the_stop_and_before_the_settlement_is_known_to_have_ended(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "write0001", grade=Grade.WRITE, start=True)
    await desk.says("ana", "stop")

    await desk.ends_call_late(claimed, "write0001")

    assert await desk.audited() == [("write0001", "ok")]
    assert await desk.value("select late from tool_calls") is None


async def test_a_write_that_ends_after_the_settlement_stays_uncertain(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "write0001", grade=Grade.WRITE, start=True)
    await desk.says("ana", "stop")
    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    await desk.ends_call_late(claimed, "write0001")

    assert await desk.audited() == [("write0001", "unknown")]
    assert await desk.value("select late->>'outcome' from tool_calls") == "ok"


async def test_of_two_late_ends_the_first_is_kept(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", start=True)
    await desk.says("ana", "stop")
    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    await desk.ends_call_late(claimed, "read00001", status=200)
    await desk.ends_call_late(claimed, "read00001", status=500)

    assert await desk.value("select (late->>'status')::int from tool_calls") == 200


async def test_the_end_of_a_call_that_nobody_knows_writes_nothing(desk):
    await desk.is_asked()

    await desk.ends_call("nobody000")

    assert await desk.audited() == []


async def test_a_successor_reads_what_had_started_and_whether_it_wrote(desk, database):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "write0001", "write0002", grade=Grade.WRITE)
    await desk.starts(claimed, "write0001")

    async with database.transaction() as tx:
        rows = await audit.rows_of(tx, claimed.run.id, ["write0001", "write0002", "nobody000"])

    assert {key: (row.started, row.grade) for key, row in rows.items()} == {
        "write0001": (True, Grade.WRITE),
        "write0002": (False, Grade.WRITE),
    }
