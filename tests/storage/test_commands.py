"""Stop, pause and resume: at once where nobody owns the run, else recorded for its worker."""

import pytest

from bot.rules.command_words import Result
from bot.rules.terms import Command, InterruptKind, InterruptSource, SettleReason
from bot.rules.turn_ends import Cut, Empty
from storage.audit import Start
from storage.history import Appended
from storage.interrupts import ProbeAnswer
from storage.queue import Claimed, Unclaimed
from tests.storage.desk import final


async def test_a_stop_of_a_run_that_a_worker_owns_makes_it_cancelling_and_writes_are_refused(desk):
    claimed = await desk.is_asked()

    await desk.says("ana", "stop")

    assert await desk.states() == ["cancelling"]
    assert await desk.stores(claimed, final()) is Appended.CANCELLING


async def test_a_stopped_worker_finds_its_cut_and_settles_it_as_stopped(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "stop")

    probed = await desk.probes(claimed)
    settled = await desk.settles(claimed, Cut(probed.cut))

    assert probed.answer is ProbeAnswer.CUT
    assert settled.reason is SettleReason.STOPPED
    assert await desk.value("select decided_by from settlements") == "ana"


async def test_a_stop_without_any_worker_settles_the_run_in_the_same_transaction(desk):
    await desk.says("ana", "why?", mention=True)

    receipt = await desk.says("ana", "stop")

    assert await desk.states() == ["stopped"]
    assert (await desk.claims()) is Unclaimed.NONE_READY
    assert receipt.reply is None


async def test_a_second_stop_says_that_it_is_being_stopped(desk):
    await desk.is_asked()
    await desk.says("ana", "stop")

    receipt = await desk.says("bob", "stop", mention=True)

    assert receipt.reply == "It is being stopped already."
    assert await desk.value("select count(*) from interrupts") == 1


async def test_a_stop_leaves_what_was_stored_and_answers_what_is_open(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", "read00002", start=True)
    await desk.ends_call("read00001")
    await desk.says("ana", "stop")

    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    assert await desk.outcomes() == [("read00001", "cancelled"), ("read00002", "cancelled")]
    assert await desk.audited() == [("read00001", "ok"), ("read00002", "cancelled")]


async def test_a_message_from_before_the_stop_becomes_a_note_and_a_later_one_starts_the_next_run(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "also look at DNS")
    await desk.says("ana", "stop")
    await desk.says("bob", "check the disk", mention=True)

    settled = await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    assert settled.reason is SettleReason.STOPPED
    assert await desk.inbox_states() == [("start", "consumed"), ("note", "waiting"), ("steer", "waiting")]
    following = await desk.run()
    assert (following.id, following.requested_by) == (settled.next_run_id, "bob")


async def test_a_run_that_hangs_while_it_is_cancelled_is_settled_by_anybody_after_four_seconds(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "stop")
    early = await desk.ends_hung_stops()
    await desk.passes("runs set cancelling_at = cancelling_at", "id", claimed.run.id)

    late = await desk.ends_hung_stops()

    assert early == []
    assert [each.reason for each in late] == [SettleReason.STOPPED]
    assert await desk.settles(claimed, Empty()) == late[0]


async def test_a_hung_worker_writes_nothing_after_its_stop_was_settled(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "stop")

    await desk.ends_hung_stops(grace_s=0)

    assert await desk.stores(claimed, final()) is Appended.LOST
    assert (await desk.probes(claimed)).answer is ProbeAnswer.LOST
    assert await desk.gives_back(claimed) is False


async def test_a_stop_frees_a_worker_that_hangs_after_its_steer_was_stamped(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS")
    await desk.probes(claimed)
    await desk.says("ana", "stop")

    ended = await desk.ends_hung_stops(grace_s=0)

    assert [each.reason for each in ended] == [SettleReason.STOPPED]
    assert await desk.value("select cut_by from runs") == "stop"


async def test_a_stop_of_an_ownerless_run_with_a_final_text_never_posts_it(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())
    await desk.gives_back(claimed)

    await desk.says("ana", "stop")

    assert await desk.states() == ["stopped"]
    assert await desk.value("select count(*) from posts") == 0


async def test_a_stop_by_a_limit_is_a_time_out_and_lets_waiting_messages_start_the_next_run(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "and DNS?")

    await desk.orders(InterruptKind.STOP, InterruptSource.TIMEOUT)
    settled = await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    assert settled.reason is SettleReason.TIMED_OUT
    assert settled.next_run_id is not None
    assert await desk.value("select stopped_before_ts from threads") is None


async def test_a_stop_by_the_budget_is_a_failure_with_its_class(desk):
    claimed = await desk.is_asked()

    await desk.orders(InterruptKind.STOP, InterruptSource.POLICY)
    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    assert await desk.value("select (reason, error)::text from settlements") == "(failed,budget)"


async def test_a_stop_by_the_api_has_no_slack_time_and_still_lets_nothing_start_by_itself(desk):
    await desk.says("ana", "why?", mention=True)

    await desk.orders(InterruptKind.STOP, InterruptSource.API)

    assert await desk.states() == ["stopped"]
    assert await desk.inbox_states() == [("note", "waiting")]


async def test_a_pause_waits_for_the_cut_point_and_lets_the_worker_go(desk):
    claimed = await desk.is_asked()
    receipt = await desk.says("ana", "pause")
    before = await desk.states()

    probed = await desk.probes(claimed)

    assert (receipt.reply, before) == (None, ["running"])
    assert probed.answer is ProbeAnswer.SUSPENDED
    assert await desk.states() == ["parked"]
    assert await desk.value("select owner from threads") is None
    assert await desk.stores(claimed, final()) is Appended.LOST


async def test_a_pause_turns_waiting_steers_into_messages_that_resume_takes(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS")
    await desk.says("ana", "pause")

    await desk.probes(claimed)
    held = await desk.inbox_states()
    await desk.says("ana", "resume")

    assert held[-1] == ("hold", "waiting")
    assert await desk.states() == ["running"]
    assert await desk.told() == ["why?", "look at DNS"]


async def test_the_same_run_and_the_same_card_go_on_after_resume(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    await desk.probes(claimed)

    await desk.says("ana", "resume")
    again = await desk.claims("w2")

    assert (again.run.id, again.first) == (claimed.run.id, False)
    assert again.claim.fence > claimed.claim.fence
    assert await desk.value("select count(*) from cards") == 1


async def test_resume_of_another_pause_is_stale(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    await desk.probes(claimed)

    receipt = await desk.presses("ana", Command.RESUME, claimed.run.id, ref="an earlier pause")

    assert receipt.reply == "That button belongs to an earlier pause. Use the newest card."
    assert await desk.states() == ["parked"]


async def test_resume_while_still_pausing_takes_the_pause_back(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")

    receipt = await desk.says("ana", "resume")

    assert receipt.reply == "It goes on: the pause had not begun yet."
    assert (await desk.probes(claimed)).answer is ProbeAnswer.GO_ON
    assert await desk.value("select state from interrupts") == "moot"


async def test_a_run_that_has_not_started_is_paused_at_once_and_queued_again_by_resume(desk):
    await desk.says("ana", "why?", mention=True)
    await desk.says("ana", "pause")
    paused, nothing = await desk.states(), await desk.claims()

    await desk.says("ana", "resume")

    assert (paused, nothing) == (["parked"], Unclaimed.NONE_READY)
    assert await desk.states() == ["queued"]
    assert (await desk.claims()).first is True


async def test_a_pause_after_the_stamp_of_a_cut_does_nothing(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS")
    await desk.probes(claimed)

    result = await desk.orders(InterruptKind.PAUSE, InterruptSource.API)

    assert result is Result.ALREADY_STOPPING
    assert (await desk.settles(claimed, Empty())).reason is SettleReason.STEERED


async def test_a_pause_that_meets_an_ownerless_run_with_a_final_text_completes_it(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())
    await desk.gives_back(claimed)

    receipt = await desk.says("ana", "pause")

    assert await desk.states() == ["completed"]
    assert receipt.reply == "It had just finished; the answer is below."


async def test_a_pause_recorded_when_the_final_text_is_stored_is_moot(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")

    settled = await desk.completes(claimed)

    assert settled.reason is SettleReason.COMPLETED
    assert await desk.value("select state from interrupts") == "moot"


async def test_a_pause_that_outlives_its_limit_ends_the_run(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    await desk.probes(claimed)
    early = await desk.ends_pauses()
    await desk.passes("runs set parked_at = parked_at", "id", claimed.run.id, minutes=90)

    late = await desk.ends_pauses()

    assert early == []
    assert [each.reason for each in late] == [SettleReason.TIMED_OUT]


async def test_a_pause_that_ends_before_the_first_claim_starts_nothing_again(desk):
    await desk.says("ana", "why?", mention=True)
    await desk.says("ana", "pause")

    await desk.ends_pauses(limit_s=0)

    assert await desk.states() == ["timed_out"]
    assert await desk.inbox_states() == [("note", "waiting")]


async def test_a_steer_that_joined_a_run_before_its_start_is_no_interrupt_of_it(desk):
    await desk.says("ana", "why?", mention=True)
    await desk.says("ana", "and DNS?")
    await desk.says("ana", "pause")

    settled = await desk.ends_pauses(limit_s=0)

    assert [each.reason for each in settled] == [SettleReason.TIMED_OUT]
    assert settled[0].next_run_id is None


@pytest.mark.parametrize("word", ["stop", "pause", "resume"])
async def test_a_word_with_nothing_to_act_on_is_answered(desk, word):
    receipt = await desk.says("boss", word, mention=True)

    assert receipt.reply == "There is nothing to stop here: no analysis runs in this thread."
    assert receipt.command.value == word


async def test_a_stop_right_after_the_end_says_that_the_answer_comes(desk):
    claimed = await desk.is_asked()
    await desk.completes(claimed)

    receipt = await desk.says("ana", "stop", mention=True)

    assert receipt.reply == "It had just finished; the answer is below."


async def test_no_call_starts_once_a_pause_is_pending(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001")
    await desk.says("ana", "pause")

    answer = await desk.starts(claimed, "read00001")

    assert (answer.start, answer.by.kind) == (Start.PENDING, InterruptKind.PAUSE)
    assert await desk.value("select started_at from tool_calls") is None


async def test_a_steer_cuts_an_ownerless_run_at_once_and_the_next_run_starts_with_it(desk):
    claimed = await desk.is_asked()
    await desk.gives_back(claimed)

    await desk.says("ana", "look at DNS")
    following = await desk.claims()

    assert await desk.states() == ["steered", "running"]
    assert isinstance(following, Claimed)
    assert await desk.told() == ["why?", "look at DNS"]


async def test_a_mention_steers_a_paused_run_and_the_held_messages_become_notes(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    await desk.probes(claimed)
    await desk.says("ana", "by the way")

    await desk.says("bob", "look at DNS", mention=True)

    assert await desk.states() == ["steered", "queued"]
    assert await desk.inbox_states() == [("start", "consumed"), ("note", "waiting"), ("steer", "waiting")]
