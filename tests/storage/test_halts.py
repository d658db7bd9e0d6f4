"""The halt of everything: nothing starts while it stands, everything is stopped, and lifting it starts nothing."""

import pytest

from bot.rules.terms import Command, InterruptKind, Verdict
from bot.rules.turn_ends import Finished
from storage import halts
from storage.interrupts import ProbeAnswer
from storage.queue import Unclaimed
from tests.storage.desk import ROOT, final, ts


async def halted(desk, reason="a bad deploy"):
    async with desk.database.transaction() as tx:
        return await halts.begin(tx, desk.means.mint_id(), "olga", reason)


async def lifted(desk):
    async with desk.database.transaction() as tx:
        return await halts.lift(tx, "olga")


async def swept(desk):
    """Somebody stops what is not being stopped; gives how many threads there were."""
    async with desk.database.transaction() as tx:
        found = await halts.unstopped(tx)
    for each in found:
        async with desk.database.transaction() as tx:
            await halts.stop_thread(tx, each, desk.means)
    return len(found)


async def test_a_second_halt_is_the_first_one(desk):
    first = await halted(desk)

    second = await halted(desk, "something else")

    assert (second.id, second.reason) == (first.id, "a bad deploy")
    assert await desk.value("select count(*) from halts") == 1


async def test_nothing_is_claimed_while_a_halt_stands(desk):
    await desk.says("ana", "why?", mention=True)
    await halted(desk)

    claimed = await desk.claims()

    assert claimed is Unclaimed.NONE_READY
    assert await desk.states() == ["queued"]


async def test_a_running_run_is_cut_at_its_next_look_before_anybody_recorded_a_stop_for_it(desk):
    claimed = await desk.is_asked()
    await halted(desk)

    probed = await desk.probes(claimed)

    assert probed.answer is ProbeAnswer.CUT
    assert (probed.cut.source, probed.cut.requested_by) == ("halt", "olga")


async def test_the_next_beat_of_a_worker_says_that_all_its_runs_are_stopped(desk):
    await desk.is_asked()
    await halted(desk)

    (owned,) = await desk.beats()

    assert owned.kinds == {InterruptKind.STOP}


async def test_a_call_does_not_start_while_a_halt_stands(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "c1")
    await halted(desk)

    answer = await desk.starts(claimed, "c1")

    assert (answer.start, answer.by.source) == ("pending", "halt")


async def test_a_run_that_reaches_its_end_while_a_halt_stands_is_stopped(desk):
    claimed = await desk.is_asked()
    await halted(desk)
    await desk.stores(claimed, final())

    settled = await desk.settles(claimed, Finished(await desk.event_seq(claimed.claim.thread_id)))

    assert (settled.reason, settled.final_event_id) == ("stopped", None)


async def test_runs_without_a_worker_are_settled_stopped_by_whoever_sweeps(desk):
    await desk.says("ana", "why?", mention=True)
    await desk.says("ben", "and this?", mention=True, thread=ts(50), at=ts(50))
    await halted(desk)

    number = await swept(desk)

    assert number == 2
    assert await desk.states() == ["stopped", "stopped"]
    assert {row[0] for row in await desk.rows("select decided_by from settlements")} == {"olga"}


async def test_a_paused_run_is_stopped_too(desk):
    claimed = await desk.is_asked()
    await desk.presses("ana", Command.PAUSE, claimed.claim.run_id)
    await desk.probes(claimed)
    await halted(desk)

    await swept(desk)

    assert await desk.states() == ["stopped"]


async def test_a_run_with_a_worker_gets_a_stop_on_record_and_its_reason_once(desk):
    claimed = await desk.is_asked()
    await halted(desk)
    await swept(desk)

    again = await swept(desk)

    assert again == 0
    assert await desk.states() == ["cancelling"]
    asked = await desk.rows("select kind, source, requested_by, reason, run_id from interrupts")
    assert [tuple(row) for row in asked] == [("stop", "halt", "olga", "a bad deploy", claimed.claim.run_id)]


async def test_without_a_halt_nothing_is_swept_and_no_thread_is_stopped(desk):
    claimed = await desk.is_asked()

    async with desk.database.transaction() as tx:
        done = await halts.stop_thread(tx, claimed.claim.thread_id, desk.means)

    assert (await swept(desk), done) == (0, None)
    assert await desk.states() == ["running"]


async def test_after_the_halt_is_lifted_nothing_starts_by_itself(desk):
    await desk.is_asked()
    await desk.says("ana", "look at the gateway as well")
    await halted(desk)
    await swept(desk)
    await desk.ends_hung_stops(-1)

    was = await lifted(desk)

    assert was.reason == "a bad deploy"
    assert await desk.claims() is Unclaimed.NONE_READY
    assert await desk.states() == ["stopped"]


async def test_after_the_halt_is_lifted_a_new_question_starts_a_run(desk):
    await halted(desk)
    await lifted(desk)

    await desk.is_asked()

    assert await desk.states() == ["running"]


async def test_lifting_what_does_not_stand_says_so(desk):
    assert await lifted(desk) is None


async def test_a_question_is_refused_with_who_halted_and_why(desk):
    await halted(desk)

    receipt = await desk.says("ana", "why?", mention=True)

    assert receipt.verdict is Verdict.REFUSE
    assert "olga" in receipt.reply
    assert "a bad deploy" in receipt.reply
    assert await desk.states() == []
    assert await desk.value("select policy_row from ingress") == "halt"


async def test_an_alert_is_refused_too_and_leaves_a_line_to_post(desk):
    await halted(desk)

    receipt = await desk.alerts("disk full")

    assert (receipt.verdict, "a bad deploy" in receipt.reply) == (Verdict.REFUSE, True)
    assert await desk.states() == []


@pytest.mark.parametrize("thread", [ROOT, ts(70)])
async def test_a_steer_is_refused_and_a_note_is_not(desk, thread):
    await desk.is_asked(thread=thread)
    await halted(desk)

    steered = await desk.says("ana", "look at the gateway", thread=thread)
    noted = await desk.says("ben", "I saw that too", thread=thread)

    assert (steered.verdict, noted.verdict) == (Verdict.REFUSE, Verdict.NOTE)


async def test_a_stop_word_still_works_while_a_halt_stands(desk):
    await desk.is_asked()
    await halted(desk)

    receipt = await desk.says("ana", "stop")

    assert receipt.verdict is Verdict.COMMAND
    assert await desk.states() == ["cancelling"]
