"""Interrupts as records: who asked for what and when, how far it has come, and what it came to."""

import pytest

from bot.rules.terms import CallOutcome, Command, Grade, InterruptKind, InterruptSource, SettleReason, Verdict
from bot.rules.turn_ends import Cut
from storage import card_facts
from tests.storage.desk import ROOT, final, ts

RECORD = "select kind, scope, source, requested_by, state from interrupts order by requested_at"
TIMES = "select requested_at <= cancelling_at and cancelling_at <= done_at from interrupts"


async def stops(desk, claimed):
    """Settle a run for what is asked of it."""
    return await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))


async def records(desk):
    return [tuple(row) for row in await desk.rows(RECORD)]


async def facts(desk, run_id):
    async with desk.database.transaction() as tx:
        return await card_facts.of_run(tx, run_id)


async def clears(desk, who, run_id):
    """Somebody chooses "Stop and clear the queue" on the run's card."""
    return await desk.presses(who, Command.STOP, run_id, choice="clear")


async def test_a_stop_at_work_is_being_carried_out_until_its_run_is_settled(desk):
    claimed = await desk.is_asked()
    await desk.presses("bob", Command.STOP, claimed.run.id)
    at_work = await records(desk)

    await stops(desk, claimed)

    assert at_work == [("stop", "family", "button", "bob", "cancelling")]
    assert await records(desk) == [("stop", "family", "button", "bob", "done")]
    assert await desk.value(TIMES) is True


async def test_a_pause_is_only_asked_for_until_the_cut_point_where_it_is_carried_out(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    asked = await records(desk)

    await desk.probes(claimed)

    assert asked == [("pause", "family", "message", "ana", "triggered")]
    assert await records(desk) == [("pause", "family", "message", "ana", "done")]
    assert await desk.value("select done_at is not null and steps is null from interrupts")


async def test_a_stop_of_a_run_without_a_worker_is_done_in_its_own_transaction(desk):
    await desk.says("ana", "why?", mention=True)

    await desk.stops_natively("ana")

    assert await records(desk) == [("stop", "family", "native_stop", "ana", "done")]


async def test_what_a_stop_comes_before_is_moot_and_has_its_time(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    await desk.says("bob", "stop", mention=True)

    await stops(desk, claimed)

    assert [(row[0], row[4]) for row in await records(desk)] == [("pause", "moot"), ("stop", "done")]
    assert await desk.value("select count(*) from interrupts where done_at is null") == 0


@pytest.mark.parametrize("state", ["done", "moot"])
async def test_what_is_over_is_never_opened_again(desk, state):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    await desk.raw.execute("update interrupts set state = $1", state)

    await desk.says("bob", "stop", mention=True)
    await stops(desk, claimed)

    assert [row[4] for row in await records(desk)] == [state, "done"]


async def test_the_stop_keeps_what_was_finished_not_started_dropped_and_uncertain(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "finished1", "dropped01", "never0001", "refused01")
    await desk.calls(claimed, "uncertain", grade=Grade.WRITE, start=True)
    for each in ("finished1", "dropped01"):
        await desk.starts(claimed, each)
    await desk.ends_call("finished1")
    await desk.ends_call("refused01", CallOutcome.BLOCKED)
    await desk.raw.execute("update tool_calls set outcome = 'cancelled' where call_id = 'dropped01'")
    await desk.raw.execute("update tool_calls set outcome = 'not_started' where call_id = 'never0001'")
    await desk.says("ana", "stop")

    await stops(desk, claimed)

    steps = await desk.value("select steps::text from interrupts")
    kept = await desk.rows(
        "select key, value->0->>'call_id', jsonb_array_length(value) from jsonb_each($1::text::jsonb) order by key",
        steps,
    )
    assert [tuple(row) for row in kept] == [
        ("dropped", "dropped01", 1),
        ("finished", "finished1", 1),
        ("not_started", "never0001", 1),
        ("uncertain", "uncertain", 1),
    ]


async def test_what_comes_after_the_settlement_changes_neither_the_record_nor_the_card(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", start=True)
    await desk.says("ana", "stop")
    await stops(desk, claimed)
    before = (await desk.value("select steps::text from interrupts"), await facts(desk, claimed.run.id))

    await desk.ends_call_late(claimed, "read00001")

    assert (await desk.value("select steps::text from interrupts"), await facts(desk, claimed.run.id)) == before
    assert await desk.audited() == [("read00001", "cancelled")]
    assert await desk.value("select late->>'outcome' from tool_calls") == "ok"


async def test_stop_and_clear_takes_what_waits_along_and_says_how_many(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "also look at DNS")
    await desk.alerts("the disk is full")

    receipt = await clears(desk, "bob", claimed.run.id)
    settled = await stops(desk, claimed)

    assert receipt.verdict is Verdict.COMMAND
    assert (settled.reason, settled.next_run_id) == (SettleReason.STOPPED, None)
    assert await desk.inbox_states() == [("start", "consumed"), ("steer", "withdrawn"), ("queue", "withdrawn")]
    assert await records(desk) == [("stop", "thread", "button", "bob", "done")]
    assert (await facts(desk, claimed.run.id)).withdrawn_count == 2


async def test_stop_and_clear_leaves_what_is_asked_afterwards(desk):
    claimed = await desk.is_asked()
    await clears(desk, "ana", claimed.run.id)
    await desk.says("bob", "check the disk", mention=True)

    settled = await stops(desk, claimed)

    assert await desk.inbox_states() == [("start", "consumed"), ("steer", "waiting")]
    assert settled.next_run_id is not None


async def test_stop_and_clear_of_a_run_that_has_not_started_withdraws_its_request(desk):
    await desk.says("ana", "why?", mention=True)
    await desk.says("ana", "and DNS?")

    await clears(desk, "ana", (await desk.run()).id)

    assert await desk.states() == ["stopped"]
    assert await desk.inbox_states() == [("start", "withdrawn"), ("steer", "withdrawn")]
    assert (await facts(desk, (await desk.run()).id)).withdrawn_count == 2


async def test_the_queue_of_a_run_that_is_stopping_already_can_still_be_cleared(desk):
    claimed = await desk.is_asked()
    await desk.alerts("the disk is full")
    await desk.says("ana", "stop")
    since = await desk.value("select cancelling_at from runs")

    receipt = await clears(desk, "bob", claimed.run.id)
    settled = await stops(desk, claimed)

    assert receipt.reply is None
    assert settled.next_run_id is None
    assert await desk.value("select cancelling_at from runs") == since
    assert [(row[1], row[4]) for row in await records(desk)] == [("family", "done"), ("thread", "done")]


async def test_a_plain_stop_clears_nothing(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "also look at DNS")

    await desk.presses("bob", Command.STOP, claimed.run.id)
    await stops(desk, claimed)

    assert await desk.inbox_states() == [("start", "consumed"), ("note", "waiting")]
    assert (await facts(desk, claimed.run.id)).withdrawn_count == 0


async def test_what_a_newer_version_asks_for_is_left_to_it(desk):
    claimed = await desk.is_asked()
    await desk.orders(InterruptKind.PAUSE, InterruptSource.BUTTON)
    await desk.raw.execute("update interrupts set kind = 'hibernate'")

    beat, probed = await desk.beats(), await desk.probes(claimed)

    assert [(each.kinds, each.unknown) for each in beat] == [(frozenset(), frozenset({"hibernate"}))]
    assert probed.cut is None
    assert await desk.stores(claimed, final()) == "stored"


async def test_a_stop_from_a_source_of_a_newer_version_stops_all_the_same(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "stop")
    await desk.raw.execute("update interrupts set source = 'telepathy'")

    settled = await stops(desk, claimed)

    assert settled.reason is SettleReason.STOPPED


async def test_a_stop_in_another_thread_clears_nothing_here(desk):
    claimed = await desk.is_asked()
    await desk.alerts("the disk is full")
    await desk.says("ana", "other", mention=True, thread=ts(500), at=ts(500))
    other = await desk.value("select id from runs order by seq desc limit 1")

    await clears(desk, "ana", other)

    assert await desk.value("select state from inbox where verdict = 'queue'") == "waiting"
    assert claimed.place.thread_ts == ROOT
