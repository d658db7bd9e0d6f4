"""A run is settled exactly once, with everything that follows in the same transaction."""

import asyncpg
import pytest

from bot.rules.terms import FailureClass, SettleReason
from bot.rules.turn_ends import Abandoned, Empty, Failed, Finished, TimedOut
from storage import settlement
from storage.history import Appended
from tests.storage.desk import final, stale


async def test_a_finished_run_is_settled_as_completed_with_its_final_event(desk):
    claimed = await desk.is_asked()

    settled = await desk.completes(claimed)

    assert (settled.reason, settled.final_event_id) == (SettleReason.COMPLETED, 2)
    assert await desk.states() == ["completed"]
    assert await desk.value("select state from threads") == "idle"


async def test_the_answer_is_put_into_the_outbox_by_the_settlement(desk):
    claimed = await desk.is_asked()

    await desk.completes(claimed, "it is the disk")

    posted = await desk.rows("select run_id, kind, part, body, state from posts")
    assert [tuple(row) for row in posted] == [(claimed.claim.run_id, "answer", 0, "it is the disk", "waiting")]


async def test_settling_again_gives_the_same_answer_and_writes_nothing(desk):
    claimed = await desk.is_asked()
    first = await desk.completes(claimed)

    second = await desk.settles(claimed, Abandoned())

    assert (second.run_id, second.reason, second.final_event_id) == (first.run_id, first.reason, first.final_event_id)
    assert await desk.value("select count(*) from posts") == 1
    assert await desk.value("select count(*) from settlements") == 1


@pytest.mark.parametrize("other", [{"fence": 0}, {"worker_id": "w2"}])
async def test_a_claim_with_another_fence_or_another_worker_settles_nothing(desk, other):
    claimed = await desk.is_asked()

    settled = await desk.settles(stale(claimed, **other), Empty())

    assert settled is None
    assert await desk.states() == ["running"]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (Empty(), "empty"),
        (Failed(FailureClass.MODEL_AUTH, "401", 401), "failed"),
        (TimedOut(), "timed_out"),
        (Abandoned(), "abandoned"),
    ],
)
async def test_every_end_without_a_final_text_is_settled_without_a_final_event(desk, end, reason):
    claimed = await desk.is_asked()

    settled = await desk.settles(claimed, end)

    assert (settled.reason, settled.final_event_id) == (reason, None)
    assert await desk.value("select count(*) from posts") == 0


async def test_a_failure_keeps_its_class_its_detail_and_its_status(desk):
    claimed = await desk.is_asked()

    await desk.settles(claimed, Failed(FailureClass.MODEL_AUTH, "key refused", 401))

    kept = await desk.raw.fetchrow("select error, detail, status from settlements")
    assert tuple(kept) == ("model_auth", "key refused", 401)


async def test_a_steer_that_waits_when_the_final_text_is_stored_wins_and_the_text_is_not_posted(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())
    await desk.says("ana", "look at the network instead")

    settled = await desk.settles(claimed, Finished(2))

    assert (settled.reason, settled.final_event_id) == (SettleReason.STEERED, None)
    assert await desk.value("select count(*) from posts") == 0


async def test_the_next_run_after_an_unsent_answer_is_told_that_it_was_not_sent(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())
    await desk.says("ana", "look at the network instead")
    await desk.settles(claimed, Finished(2))

    await desk.claims()

    flags = await desk.rows("select body->'unsent_answer' from events where kind = 'user' order by seq")
    assert [row[0] for row in flags] == ["false", "true"]


async def test_the_next_run_of_a_steered_one_is_the_same_request(desk):
    claimed = await desk.is_asked("why is it slow?")
    await desk.says("bob", "and look at DNS", mention=True)

    settled = await desk.settles(claimed, (await desk.probes(claimed)).cut and Empty())

    following = await desk.run()
    assert following.id == settled.next_run_id
    assert (following.chain_id, following.requested_by, following.title) == (claimed.run.id, "ana", "why is it slow?")


async def test_a_run_that_was_asked_by_an_alert_says_so(desk):
    await desk.alerts("disk 99%")

    assert await desk.value("select started_by from runs") == "alert"
    assert await desk.value("select title from runs") == "disk 99%"


async def test_an_alert_that_waits_starts_the_next_run_as_its_own_request(desk):
    claimed = await desk.is_asked()
    await desk.alerts("disk 99%")

    settled = await desk.completes(claimed)

    following = await desk.run()
    assert settled.reason is SettleReason.COMPLETED
    assert (following.chain_id, following.requested_by, following.title) == (following.id, "UALERT", "disk 99%")
    assert await desk.value("select started_by from runs where id = $1", following.id) == "alert"


async def test_nothing_waits_so_no_run_follows_and_the_thread_has_done_its_work(desk):
    claimed = await desk.is_asked()

    settled = await desk.completes(claimed)

    assert settled.next_run_id is None
    assert await desk.value("select wake_seq = done_seq from threads")


async def test_the_database_refuses_a_completed_run_without_a_final_event(desk):
    claimed = await desk.is_asked()
    values = "(run_id, thread_id, fence, reason) values ($1, $2, 1, 'completed')"

    with pytest.raises(asyncpg.CheckViolationError):
        await desk.raw.execute(f"insert into settlements {values}", claimed.run.id, claimed.claim.thread_id)


async def test_the_database_refuses_a_cut_run_with_a_final_event(desk):
    claimed = await desk.is_asked()
    values = "(run_id, thread_id, fence, reason, final_event_id) values ($1, $2, 1, 'steered', 1)"

    with pytest.raises(asyncpg.CheckViolationError):
        await desk.raw.execute(f"insert into settlements {values}", claimed.run.id, claimed.claim.thread_id)


async def test_the_database_refuses_a_final_event_that_is_not_in_the_history(desk):
    claimed = await desk.is_asked()
    values = "(run_id, thread_id, fence, reason, final_event_id) values ($1, $2, 1, 'completed', 77)"

    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await desk.raw.execute(f"insert into settlements {values}", claimed.run.id, claimed.claim.thread_id)


async def test_the_database_refuses_a_second_unsettled_run_in_a_thread(desk):
    claimed = await desk.is_asked()
    columns = "id, thread_id, chain_id, state, requested_by, started_by, title"
    values = f"({columns}) values ('r2', $1, 'r2', 'queued', 'ana', 'message', 'why?')"

    with pytest.raises(asyncpg.UniqueViolationError):
        await desk.raw.execute(f"insert into runs {values}", claimed.claim.thread_id)


async def test_the_card_is_repainted_at_once_by_the_settlement(desk):
    claimed = await desk.is_asked()
    await desk.raw.execute("update cards set painted_rev = wanted_rev, next_at = clock_timestamp() + interval '1 hour'")

    await desk.completes(claimed)

    assert await desk.value("select wanted_rev > painted_rev and next_at <= clock_timestamp() from cards")


async def test_open_calls_are_answered_by_the_settlement_and_the_history_stays_valid(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", "read00002")
    await desk.starts(claimed, "read00001")

    await desk.settles(claimed, Failed(FailureClass.INTERNAL))

    assert await desk.outcomes() == [("read00001", "cancelled"), ("read00002", "not_started")]
    assert await desk.audited() == [("read00001", "cancelled"), ("read00002", "not_started")]


async def test_a_call_that_the_audit_does_not_know_is_answered_as_the_worst_it_can_be(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "lost00001")
    await desk.raw.execute("delete from tool_calls")

    settled = await desk.settles(claimed, TimedOut())

    assert settled.reason is SettleReason.TIMED_OUT
    assert await desk.outcomes() == [("lost00001", "unknown")]


async def test_a_held_message_becomes_a_note_when_the_run_ends(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    await desk.probes(claimed)
    await desk.says("ana", "by the way")
    await desk.raw.execute("update runs set parked_at = parked_at - interval '4 days'")

    settled = await desk.ends_pauses()

    assert [each.reason for each in settled] == [SettleReason.TIMED_OUT]
    assert (await desk.inbox_states())[-1] == ("note", "waiting")
    assert await desk.value("select notes_kept from runs") == 1


async def test_a_settled_run_is_found_settled_by_whoever_asks(desk, database):
    claimed = await desk.is_asked()
    await desk.completes(claimed)

    async with database.transaction() as tx:
        found = await settlement.settled(tx, claimed.run.id)

    assert found.reason is SettleReason.COMPLETED
    assert await desk.stores(claimed, final("again")) is Appended.LOST


@pytest.mark.parametrize(
    ("text", "title"),
    [("\n  \nwhy?\nnow", "why?"), ("   ", "(no text)"), ("x" * 300, "x" * 200), ("", "(no text)")],
)
def test_a_title_is_the_first_line_that_says_something(text, title):
    assert settlement.title_of(text) == title
