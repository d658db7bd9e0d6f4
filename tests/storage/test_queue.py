"""Who works on what: claims, heartbeats, and taking over from a worker that was lost."""

import pytest

from bot.rules.terms import Grade, InterruptKind, SettleReason
from bot.rules.turn_ends import Abandoned, Empty, Finished
from storage import queue, workers
from storage.history import Appended
from storage.queue import MAX_ATTEMPTS, Claimed, Unclaimed
from storage.settlement import Settled
from tests.storage.desk import ROOT, final, result, stale, ts


async def test_the_first_claim_takes_all_that_waits_in_slack_time_order(desk):
    await desk.says("ana", "why?", mention=True, at=ts(2))
    await desk.says("ana", "third", at=ts(4))
    await desk.says("bob", "first", at=ts(1))
    await desk.alerts("second", at=ts(3))

    claimed = await desk.claims()

    assert claimed.first is True
    assert await desk.told() == ["first", "why?", "second", "third"]
    assert {state for _, state in await desk.inbox_states()} == {"consumed"}


async def test_each_claim_and_each_release_raises_the_fence(desk):
    first = await desk.is_asked()
    await desk.gives_back(first)
    between = await desk.value("select fence from threads")

    second = await desk.claims("w2")

    assert first.claim.fence < between < second.claim.fence


async def test_what_a_claim_appends_carries_its_fence(desk):
    claimed = await desk.is_asked()

    await desk.stores(claimed, final())

    assert [row[0] for row in await desk.rows("select fence from events order by seq")] == [claimed.claim.fence] * 2


async def test_a_second_worker_finds_nothing_while_the_first_has_the_thread(desk):
    await desk.is_asked()

    assert await desk.claims("w2") is Unclaimed.NONE_READY


async def test_the_thread_that_waited_longest_is_claimed_first(desk):
    await desk.says("ana", "old", mention=True, thread=ts(500), at=ts(500))
    await desk.says("ana", "new", mention=True)
    await desk.raw.execute(
        "update threads set ready_at = clock_timestamp() - interval '1 minute' where thread_ts = $1", ROOT
    )

    claimed = await desk.claims()

    assert claimed.place.thread_ts == ROOT


async def test_a_worker_that_was_declared_dead_claims_nothing(desk):
    await desk.says("ana", "why?", mention=True)
    async with desk.database.transaction() as tx:
        await workers.register(tx, "w1")
        await workers.retire(tx, "w1")

    assert await desk.claims("w1") is Unclaimed.LOCKED
    assert isinstance(await desk.claims("w2"), Claimed)


async def test_a_heartbeat_names_each_thread_with_its_fence_and_what_is_asked(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS")
    await desk.says("ana", "pause")

    owned = await desk.beats()

    assert [(each.thread_id, each.fence, each.run_id) for each in owned] == [
        (claimed.claim.thread_id, claimed.claim.fence, claimed.run.id)
    ]
    assert owned[0].kinds == {InterruptKind.PAUSE, InterruptKind.STEER}


async def test_a_heartbeat_of_a_worker_that_was_declared_dead_says_so(desk):
    await desk.is_asked()
    await desk.falls_silent()
    await desk.reaps()

    assert await desk.beats() is None


async def test_a_worker_that_beats_keeps_its_thread(desk):
    await desk.is_asked()
    await desk.falls_silent()
    await desk.beats()

    assert await desk.reaps() == []
    assert await desk.value("select owner from threads") == "w1"


async def test_a_silent_worker_loses_all_its_threads_and_writes_nothing_more(desk):
    first = await desk.is_asked()
    second = await desk.is_asked(thread=ts(500), at=ts(500))
    await desk.falls_silent()

    assert await desk.reaps() == [None, None]
    assert await desk.stores(first, final()) is Appended.LOST
    assert await desk.settles(second, Empty()) is None
    assert await desk.value("select count(*) from threads where state = 'ready'") == 2


async def test_a_thread_whose_worker_has_no_row_is_taken_back(desk):
    await desk.is_asked()
    await desk.raw.execute("delete from workers")

    assert await desk.reaps() == [None]
    assert await desk.value("select state from threads") == "ready"


async def test_a_thread_whose_worker_retired_is_taken_back_at_once(desk, database):
    await desk.is_asked()

    async with database.transaction() as tx:
        await workers.retire(tx, "w1")

    assert await desk.reaps() == [None]
    assert isinstance(await desk.claims("w2"), Claimed)


async def test_a_run_that_goes_on_after_a_take_over_is_still_running_and_has_no_second_card(desk):
    await desk.is_asked()
    await desk.falls_silent()
    await desk.reaps()

    again = await desk.claims("w2")

    assert again.first is False
    assert await desk.states() == ["running"]
    assert await desk.value("select count(*) from cards") == 1


async def test_three_fruitless_take_overs_abandon_the_run(desk):
    await desk.says("ana", "why?", mention=True)

    for number in range(MAX_ATTEMPTS):
        await desk.claims(f"w{number}")
        before = await desk.states()
        await desk.falls_silent(f"w{number}")
        settled = await desk.reaps()

    assert before == ["running"]
    assert [each.reason for each in settled] == [SettleReason.ABANDONED]
    assert await desk.states() == ["abandoned"]


async def test_an_attempt_does_not_count_where_the_run_has_stored_something_since(desk):
    await desk.says("ana", "why?", mention=True)
    for number in range(2 * MAX_ATTEMPTS):
        claimed = await desk.claims(f"w{number}")
        if number % 2:
            await desk.calls(claimed, f"call0000{number}", start=False)
            await desk.stores(claimed, result(f"call0000{number}"))

        await desk.falls_silent(f"w{number}")
        await desk.reaps()

    assert await desk.states() == ["running"]
    assert await desk.value("select attempts from runs") == 0


async def test_giving_back_never_counts_as_an_attempt(desk):
    await desk.says("ana", "why?", mention=True)

    for number in range(2 * MAX_ATTEMPTS):
        await desk.gives_back(await desk.claims(f"w{number}"))

    assert await desk.value("select attempts from runs") == 0
    assert isinstance(await desk.claims(), Claimed)


@pytest.mark.parametrize("attempts", [0, 2])
async def test_a_stored_final_text_completes_the_run_of_a_lost_worker_before_any_attempt_counts(desk, attempts):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())
    await desk.raw.execute("update runs set attempts = $1, progress_seq = 99", attempts)
    await desk.falls_silent()

    settled = await desk.reaps()

    assert [(each.reason, each.final_event_id) for each in settled] == [(SettleReason.COMPLETED, 2)]
    assert await desk.value("select count(*) from posts") == 1


async def test_a_stored_final_text_with_a_steer_waiting_is_steered_by_whoever_takes_it_back(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())
    await desk.says("ana", "look at DNS")
    await desk.falls_silent()

    settled = await desk.reaps()

    assert [(each.reason, each.final_event_id) for each in settled] == [(SettleReason.STEERED, None)]


async def test_a_stored_final_text_under_a_stop_is_stopped_by_whoever_takes_it_back(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())
    await desk.says("ana", "stop")
    await desk.falls_silent()

    settled = await desk.reaps()

    assert [(each.reason, each.final_event_id) for each in settled] == [(SettleReason.STOPPED, None)]


async def test_a_run_that_is_cancelling_when_its_worker_is_lost_is_stopped(desk):
    await desk.is_asked()
    await desk.says("ana", "stop")
    await desk.falls_silent()

    settled = await desk.reaps()

    assert [each.reason for each in settled] == [SettleReason.STOPPED]
    assert await desk.value("select decided_by from settlements") == "ana"


async def test_a_stamped_cut_is_settled_with_its_reason_although_the_worker_died_before_it_did(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS")
    await desk.probes(claimed)
    await desk.falls_silent()

    settled = await desk.reaps()

    assert [each.reason for each in settled] == [SettleReason.STEERED]
    assert await desk.states() == ["steered", "queued"]


async def test_a_claim_settles_a_run_whose_final_text_was_stored_before_it_was_given_back(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())
    await desk.gives_back(claimed)

    taken = await desk.claims("w2")

    assert isinstance(taken, Settled)
    assert taken.reason is SettleReason.COMPLETED


async def test_a_claim_settles_a_run_that_was_given_back_while_it_was_being_stopped(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "stop")
    await desk.gives_back(claimed)

    taken = await desk.claims("w2")

    assert isinstance(taken, Settled)
    assert taken.reason is SettleReason.STOPPED


async def test_a_write_that_had_started_is_answered_as_unknown_by_the_next_claim_and_never_runs_again(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "write0001", "write0002", grade=Grade.WRITE)
    await desk.starts(claimed, "write0001")
    await desk.falls_silent()
    await desk.reaps()

    await desk.claims("w2")

    assert await desk.outcomes() == [("write0001", "unknown")]
    assert await desk.audited() == [("write0001", "unknown"), ("write0002", None)]


async def test_answering_a_lost_write_is_no_progress_of_the_run(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "write0001", grade=Grade.WRITE, start=True)
    await desk.falls_silent()
    await desk.reaps()
    await desk.claims("w2")
    await desk.falls_silent("w2")

    await desk.reaps()

    assert await desk.value("select attempts from runs") == 1


async def test_a_read_that_had_started_stays_open_for_the_next_worker(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", start=True)
    await desk.falls_silent()
    await desk.reaps()

    again = await desk.claims("w2")

    assert isinstance(again, Claimed)
    assert await desk.outcomes() == []


async def test_an_owner_that_comes_back_between_the_look_and_the_take_over_keeps_its_thread(desk, database):
    claimed = await desk.is_asked()
    await desk.falls_silent()
    async with database.transaction() as tx:
        lost = await queue.lost_threads(tx, 15)
    await desk.beats()

    async with database.transaction() as tx:
        taken = await queue.take_back(tx, lost[0], 15, desk.means)

    assert taken is None
    assert await desk.stores(claimed, final()) is Appended.STORED


async def test_nobody_gives_back_what_another_owns(desk):
    claimed = await desk.is_asked()

    assert await desk.gives_back(stale(claimed, fence=claimed.claim.fence - 1)) is False
    assert await desk.gives_back(stale(claimed, worker_id="w2")) is False
    assert await desk.value("select owner from threads") == "w1"


async def test_a_lost_settlement_reply_is_repeated_with_the_same_answer_after_the_next_run_began(desk):
    claimed = await desk.is_asked()
    await desk.alerts("disk 99%")
    await desk.stores(claimed, final())
    first = await desk.settles(claimed, Finished(2))
    await desk.claims("w2")

    again = await desk.settles(claimed, Abandoned())

    assert (again.run_id, again.reason) == (first.run_id, first.reason)
    assert await desk.states() == ["completed", "running"]


async def test_a_claim_says_which_thread_it_is_about_before_anything_can_go_wrong(desk):
    await desk.says("ana", "why?", mention=True)
    await desk.raw.execute("update runs set state = 'from a newer version'")
    picked = []

    async with desk.database.transaction() as tx:
        await workers.register(tx, "w1")
        with pytest.raises(ValueError, match="newer version"):
            await queue.claim(tx, "w1", desk.means, picked.append)

    assert picked == [await desk.value("select id from threads")]


async def test_a_thread_that_was_put_off_is_not_claimed_and_the_next_one_is(desk):
    await desk.says("ana", "old", mention=True, thread=ts(500), at=ts(500))
    broken = await desk.value("select id from threads")
    await desk.says("ana", "new", mention=True)

    async with desk.database.transaction() as tx:
        await queue.put_off(tx, broken, 60)

    assert (await desk.claims()).place.thread_ts == ROOT
    assert await desk.claims() is Unclaimed.NONE_READY


async def test_a_thread_that_was_put_off_is_claimed_when_its_time_has_come(desk):
    await desk.says("ana", "why?", mention=True)
    thread_id = await desk.value("select id from threads")
    async with desk.database.transaction() as tx:
        await queue.put_off(tx, thread_id, 60)
    await desk.passes("threads set ready_at = ready_at", "id", thread_id)

    assert isinstance(await desk.claims(), Claimed)


async def test_a_thread_that_somebody_has_by_now_is_not_put_off(desk):
    claimed = await desk.is_asked()

    async with desk.database.transaction() as tx:
        await queue.put_off(tx, claimed.claim.thread_id, 60)

    assert await desk.value("select ready_at from threads") is None
