"""Edits lower and withdraw, deletions take back; what a run has used is only told."""

from bot.rules.steer_policy import EDIT_IS_NO_COMMAND, EDIT_TOO_LATE
from bot.rules.terms import PersonClass, SettleReason, Verdict
from bot.rules.turn_ends import Cut
from storage.interrupts import ProbeAnswer
from storage.queue import Unclaimed
from tests.storage.desk import ts


async def steered(desk, claimed):
    """The worker looks, is cut, and settles."""
    return await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))


async def test_an_edit_of_a_waiting_message_replaces_its_text(desk):
    await desk.says("ana", "why is it sloww?", mention=True, at=ts(1))

    await desk.edits(ts(1), "why is it slow?", mention=True)
    await desk.claims()

    assert await desk.told() == ["why is it slow?"]
    assert (await desk.run()).title == "why is it slow?"


async def test_an_edit_that_takes_the_mention_away_ends_a_run_that_only_it_asked_for(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1))

    receipt = await desk.edits(ts(1), "never mind")

    assert receipt.verdict is Verdict.IGNORE
    assert await desk.states() == ["stopped"]
    assert await desk.claims() is Unclaimed.NONE_READY


async def test_an_edit_never_raises_a_verdict(desk):
    claimed = await desk.is_asked()
    await desk.says("bob", "hm", at=ts(50))

    receipt = await desk.edits(ts(50), "look at DNS", mention=True)

    assert receipt.verdict is Verdict.NOTE
    assert (await desk.probes(claimed)).answer is ProbeAnswer.GO_ON


async def test_an_edit_obeys_the_rules_of_the_channel(desk):
    await desk.raw.execute("insert into policy_overrides values ('T1', 'C1', 'requester', false, 'running', 'note')")
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS", mention=True, at=ts(50))

    receipt = await desk.edits(ts(50), "look at the disk")

    assert receipt.verdict is Verdict.NOTE
    assert (await desk.probes(claimed)).answer is ProbeAnswer.GO_ON


async def test_an_edit_into_a_command_does_nothing_of_it_and_says_so(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS", at=ts(50))

    receipt = await desk.edits(ts(50), "stop")

    assert (receipt.verdict, receipt.reply) == (Verdict.REFUSE, EDIT_IS_NO_COMMAND)
    assert await desk.states() == ["running"]
    assert (await desk.probes(claimed)).answer is ProbeAnswer.GO_ON


async def test_an_edit_of_a_message_that_a_run_has_taken_says_that_it_is_too_late(desk):
    await desk.is_asked(at=ts(1))

    receipt = await desk.edits(ts(1), "why, then?", mention=True)

    assert receipt.reply == EDIT_TOO_LATE
    assert await desk.told() == ["why?"]


async def test_an_edit_of_a_steer_that_has_cut_its_run_is_too_late(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS", at=ts(50))
    await desk.probes(claimed)

    receipt = await desk.edits(ts(50), "look at the disk")

    assert receipt.reply == EDIT_TOO_LATE


async def test_the_same_edit_twice_is_one_edit(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1))
    await desk.edits(ts(1), "why, then?", mention=True)

    await desk.edits(ts(1), "why, then?", mention=True)

    assert await desk.value("select text from inbox") == "why, then?"


async def test_an_edit_of_a_message_that_is_still_to_be_judged_changes_what_is_judged(desk):
    await desk.says("eve", "why?", mention=True, at=ts(1), person=PersonClass.UNKNOWN)
    await desk.edits(ts(1), "why so slow?", mention=True)

    judged = await desk.judges("eve", PersonClass.MEMBER)

    assert [each.verdict for each in judged] == [Verdict.START]
    assert await desk.value("select text from inbox") == "why so slow?"


async def test_an_edit_adds_no_mention_to_a_message_that_is_still_to_be_judged(desk):
    claimed = await desk.is_asked()
    await desk.completes(claimed)
    await desk.says("eve", "hm", at=ts(50), person=PersonClass.UNKNOWN)
    await desk.edits(ts(50), "why?", mention=True)

    judged = await desk.judges("eve", PersonClass.MEMBER)

    assert [each.verdict for each in judged] == [Verdict.NOTE]


async def test_deleting_the_last_message_of_a_run_that_has_not_started_stops_it_there(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1))

    await desk.deletes(ts(1))

    assert await desk.states() == ["stopped"]
    assert await desk.inbox_states() == [("start", "withdrawn")]
    assert await desk.value("select decided_by from settlements") == "ana"


async def test_deleting_it_while_the_run_waits_paused_for_its_start_stops_it_too(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1))
    await desk.says("ana", "pause")

    await desk.deletes(ts(1))

    assert await desk.states() == ["stopped"]


async def test_deleting_one_of_two_messages_of_an_unstarted_run_withdraws_only_that(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1))
    await desk.says("bob", "and DNS?", mention=True, at=ts(2))

    await desk.deletes(ts(1))
    await desk.claims()

    assert await desk.states() == ["running"]
    assert await desk.told() == ["and DNS?"]


async def test_deleting_a_steer_before_the_cut_makes_it_moot(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS", at=ts(50))

    await desk.deletes(ts(50))

    assert (await desk.probes(claimed)).answer is ProbeAnswer.GO_ON
    assert (await desk.completes(claimed)).reason is SettleReason.COMPLETED


async def test_deleting_a_steer_after_the_stamp_tells_the_next_run_and_withdraws_nothing(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS", at=ts(50))
    await desk.probes(claimed)

    await desk.deletes(ts(50))
    await steered(desk, claimed)
    await desk.claims()

    assert await desk.states() == ["steered", "running"]
    told = await desk.told()
    assert told[1] == "look at DNS"
    assert told[2].endswith("has deleted this message; do not act on it: look at DNS")


async def test_deleting_a_used_steer_before_the_next_run_starts_does_not_end_that_run(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS", at=ts(50))
    await steered(desk, claimed)

    await desk.deletes(ts(50))

    assert await desk.states() == ["steered", "queued"]
    assert len(await desk.told()) == 1
    await desk.claims()
    assert len(await desk.told()) == 3


async def test_deleting_a_steer_that_joined_the_next_run_after_the_cut_withdraws_it(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS", at=ts(50))
    await steered(desk, claimed)
    await desk.says("ana", "and at the disk", at=ts(60))

    await desk.deletes(ts(60))
    await desk.claims()

    assert await desk.told() == ["why?", "look at DNS"]


async def test_deleting_the_request_of_a_running_run_is_a_stop_by_its_author(desk):
    claimed = await desk.is_asked(at=ts(1))

    await desk.deletes(ts(1))
    await desk.settles(claimed, Cut((await desk.probes(claimed)).cut))

    assert await desk.states() == ["stopped"]
    assert await desk.value("select (kind, source, requested_by)::text from interrupts") == "(stop,message,ana)"


async def test_deleting_the_request_while_others_joined_only_tells_the_run(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1))
    await desk.says("bob", "and DNS?", mention=True, at=ts(2))
    claimed = await desk.claims()

    await desk.deletes(ts(1))
    probed = await desk.probes(claimed)

    assert probed.answer is ProbeAnswer.GO_ON
    assert "has deleted this message" in probed.news[0].body["text"]
    assert await desk.states() == ["running"]


async def test_a_deletion_that_comes_before_its_message_keeps_it_from_starting_anything(desk):
    await desk.deletes(ts(1))

    receipt = await desk.says("ana", "why?", mention=True, at=ts(1))

    assert receipt.is_copy
    assert await desk.states() == []


async def test_deleting_a_message_of_a_finished_run_is_told_to_the_next_one(desk):
    claimed = await desk.is_asked(at=ts(1))
    await desk.completes(claimed)

    await desk.deletes(ts(1))
    await desk.is_asked("and now?", at=ts(50))

    assert "has deleted this message" in (await desk.told())[1]


async def test_deleting_twice_tells_once(desk):
    await desk.says("ana", "why?", mention=True, at=ts(1))
    await desk.says("bob", "and DNS?", mention=True, at=ts(2))
    claimed = await desk.claims()
    await desk.deletes(ts(1))

    await desk.deletes(ts(1))

    assert len((await desk.probes(claimed)).news) == 1


async def test_deleting_a_message_that_is_still_to_be_judged_withdraws_it(desk):
    await desk.says("eve", "why?", mention=True, at=ts(1), person=PersonClass.UNKNOWN)

    await desk.deletes(ts(1))

    assert await desk.judges("eve", PersonClass.MEMBER) == []
    assert await desk.inbox_states() == [("refuse", "withdrawn")]
