"""Taking a thread back: at once where nobody owns the run, else recorded for its worker; once, and by those who may."""

import pytest

from bot.rules.command_words import WORDS, Result
from bot.rules.terms import Command, Grade, PersonClass, SettleReason
from bot.rules.turn_ends import Cut
from storage.history import Appended
from storage.interrupts import ProbeAnswer
from storage.queue import Claimed, Unclaimed
from tests.storage.backwards import events, facts, goes_back, offers, points, rounds, sent, step
from tests.storage.desk import final, result

REFUSED = "Only who asked for this analysis, or an approver, can take it back. Ask one of them."
UNDONE = "going back has undone none of them:\n- Look (site): done, not undone"


async def at_step_two(desk):
    """A worker has made two steps: events 1 to 5; the second one wrote."""
    claimed = await desk.is_asked()
    await step(desk, claimed, "read00001")
    await step(desk, claimed, "write0001", grade=Grade.WRITE)
    return claimed


async def answered(desk):
    """A run of two steps that is completed: events 1 to 6."""
    claimed = await at_step_two(desk)
    await desk.completes(claimed)
    await rounds(desk, claimed)
    return claimed


async def test_what_is_offered_are_the_start_and_the_answered_steps(desk):
    claimed = await at_step_two(desk)
    await desk.calls(claimed, "read00003", start=True)

    assert await points(desk, claimed.run.id) == [(0, 1), (1, 3), (2, 5)]


async def test_a_live_run_is_cut_at_once_and_settled_by_its_worker_with_the_event_after_its_true_answers(desk):
    claimed = await at_step_two(desk)
    await desk.calls(claimed, "read00003", "write0004", grade=Grade.WRITE)
    await desk.starts(claimed, "write0004")

    wrong = await goes_back(desk, claimed.run.id, 3)
    refused = await desk.stores(claimed, result("read00003"))
    probed = await desk.probes(claimed)
    settled = await desk.settles(claimed, Cut(probed.cut))

    stored = await events(desk)
    assert (wrong, refused, probed.answer) == (None, Appended.CANCELLING, ProbeAnswer.CUT)
    assert (settled.reason, settled.final_event_id, settled.next_run_id) == (SettleReason.ROLLED_BACK, None, None)
    assert (await desk.outcomes())[2:] == [("read00003", "not_started"), ("write0004", "unknown")]
    assert [each.kind for each in stored][-3:] == ["tool_result", "tool_result", "rolled_back_to"]
    assert (stored[-1].body["seq"], stored[-1].body["by"]) == (3, "ana")
    assert await desk.value("select state from interrupts where kind = 'rollback'") == "done"


@pytest.mark.parametrize("how", ["hung", "lost"])
async def test_the_choice_survives_a_worker_that_hangs_or_is_lost(desk, how):
    claimed = await at_step_two(desk)
    await goes_back(desk, claimed.run.id, 3)

    if how == "hung":
        await desk.ends_hung_stops(grace_s=0)
    else:
        await desk.falls_silent()
        await desk.reaps()

    assert await desk.states() == ["rolled_back"]
    assert (await events(desk))[-1].body["seq"] == 3


async def test_a_run_that_nobody_owns_is_taken_back_in_the_same_transaction(desk):
    claimed = await at_step_two(desk)
    await desk.says("ana", "pause")
    await desk.probes(claimed)

    await goes_back(desk, claimed.run.id, 1)

    assert await desk.states() == ["rolled_back"]
    assert await desk.claims() is Unclaimed.NONE_READY
    assert await desk.value("select state from threads") == "idle"
    assert UNDONE in (await sent(desk))[0]


async def test_a_settled_run_keeps_its_reason_and_its_answer_in_slack(desk):
    claimed = await answered(desk)

    wrong = await goes_back(desk, claimed.run.id, 3)

    assert (wrong, await desk.states()) == (None, ["completed"])
    assert await desk.value("select count(*) from posts") == 1
    assert await desk.value("select count(*) from interrupts") == 0
    assert [text for text in await sent(desk) if "disk is full" in text] == []


@pytest.mark.parametrize(("seq", "step"), [(1, 0), (3, 1), (5, 2)])
async def test_the_card_of_a_run_says_how_far_it_was_taken_back_and_by_whom(desk, seq, step):
    claimed = await answered(desk)
    before = await desk.value("select wanted_rev from cards")

    await goes_back(desk, claimed.run.id, seq, who="boss")

    seen = await facts(desk, claimed.run.id)
    assert (seen.rolled_back_to, seen.rolled_back_by, seen.round) == (step, "boss", 3)
    assert await desk.value("select wanted_rev from cards") > before


async def test_a_run_that_was_cut_without_losing_a_step_is_still_called_taken_back(desk):
    claimed = await at_step_two(desk)

    await goes_back(desk, claimed.run.id, 5)
    await desk.ends_hung_stops(grace_s=0)

    seen = await facts(desk, claimed.run.id)
    assert (seen.settle_reason, seen.rolled_back_to, seen.acted_by) == (SettleReason.ROLLED_BACK, 2, "ana")


async def test_messages_that_wait_start_the_next_run_and_nothing_else_does(desk):
    claimed = await at_step_two(desk)
    await desk.alerts("disk 99%")
    await goes_back(desk, claimed.run.id, 3)

    (settled,) = await desk.ends_hung_stops(grace_s=0)
    following = await desk.claims()

    assert settled.next_run_id == following.run.id
    assert await desk.states() == ["rolled_back", "running"]
    assert (await sent(desk))[-1].endswith("@Ualert: disk 99%")


async def test_a_question_that_waits_for_its_start_is_not_lost_when_the_run_before_it_is_taken_back(desk):
    claimed = await answered(desk)
    await desk.says("bob", "and the disk?", mention=True)

    await goes_back(desk, claimed.run.id, 1)
    following = await desk.claims()

    assert await desk.states() == ["completed", "rolled_back", "running"]
    assert (await sent(desk))[-1].endswith("@Bob: and the disk?")
    assert isinstance(following, Claimed)


async def test_a_rollback_over_a_chain_of_runs_sets_all_of_them_aside(desk):
    first = await at_step_two(desk)
    await desk.says("ana", "look at DNS")
    await desk.settles(first, Cut((await desk.probes(first)).cut))
    second = await desk.claims()
    await step(desk, second, "write0003", grade=Grade.WRITE)

    await goes_back(desk, first.run.id, 3)
    await desk.ends_hung_stops(grace_s=0)

    whole, gone = await facts(desk, first.run.id), await facts(desk, second.run.id)
    assert await desk.states() == ["steered", "rolled_back"]
    assert (whole.rolled_back_to, gone.rolled_back_to, gone.rolled_back_by) == (1, None, "ana")
    assert (await sent(desk))[-1].count("done, not undone") == 2


async def test_going_back_twice_to_one_step_tells_the_writes_of_both_spans(desk):
    claimed = await answered(desk)
    await goes_back(desk, claimed.run.id, 3)
    following = await desk.is_asked("go on")
    await step(desk, following, "write0009", grade=Grade.WRITE)
    await desk.completes(following)

    wrong = await goes_back(desk, claimed.run.id, 3)

    assert wrong is None
    assert [text.count("done, not undone") for text in await sent(desk)] == [0, 0, 0, 2]


async def test_what_is_set_aside_and_what_never_was_a_step_are_refused_each_with_its_reason(desk):
    claimed = await answered(desk)
    await goes_back(desk, claimed.run.id, 3)
    before = await desk.event_seq(claimed.claim.thread_id)

    told = [await goes_back(desk, claimed.run.id, seq) for seq in (5, 2, 99)]
    other = await goes_back(desk, "no-such-run", 3)

    words = [Result.SET_ASIDE, Result.NO_SUCH_STEP, Result.NO_SUCH_STEP]
    assert told == [WORDS[each] for each in words]
    assert other == WORDS[Result.NO_SUCH_STEP]
    assert await desk.event_seq(claimed.claim.thread_id) == before


async def test_a_checkpoint_of_another_run_is_none_of_this_one(desk):
    claimed = await answered(desk)
    following = await desk.is_asked("and now?")
    await step(desk, following, "read00009")

    assert await goes_back(desk, following.run.id, 3) == WORDS[Result.NO_SUCH_STEP]
    assert await goes_back(desk, claimed.run.id, 9) == WORDS[Result.NO_SUCH_STEP]


@pytest.mark.parametrize(("who", "person_class"), [("bob", PersonClass.MEMBER), ("gus", PersonClass.GUEST)])
async def test_only_who_asked_and_approvers_are_offered_anything(desk, who, person_class):
    claimed = await answered(desk)

    offer = await offers(desk, who, claimed.run.id, person_class)

    assert (offer.checkpoints, offer.reply) == ((), REFUSED)
    assert await goes_back(desk, claimed.run.id, 3, who) == REFUSED
    assert (await offers(desk, "boss", claimed.run.id)).checkpoints


async def test_a_second_copy_of_a_submission_takes_nothing_back_again(desk):
    claimed = await answered(desk)
    await goes_back(desk, claimed.run.id, 3, view="V7")
    following = await desk.is_asked("go on")

    again = await goes_back(desk, claimed.run.id, 3, view="V7")

    assert again is None
    assert await desk.states() == ["completed", "running"]
    assert await desk.probes(following)


@pytest.mark.parametrize("command", [Command.STOP, None])
async def test_while_it_is_being_ended_a_rollback_says_so_and_may_be_tried_again_from_the_same_modal(desk, command):
    claimed = await at_step_two(desk)
    await (desk.says("ana", "stop") if command else goes_back(desk, claimed.run.id, 5))

    wrong = await goes_back(desk, claimed.run.id, 3, view="V7")
    await desk.ends_hung_stops(grace_s=0)
    then = await goes_back(desk, claimed.run.id, 3, view="V7")

    assert wrong == WORDS[Result.STOP_IS_AT_WORK if command else Result.ALREADY_TAKING_BACK]
    assert (then, (await events(desk))[-1].body["seq"]) == (None, 3)


async def test_a_stop_after_a_rollback_outranks_it_and_nothing_is_set_aside(desk):
    claimed = await at_step_two(desk)
    await goes_back(desk, claimed.run.id, 3)
    await desk.alerts("disk 99%")

    receipt = await desk.says("bob", "stop", mention=True)
    await desk.ends_hung_stops(grace_s=0)

    assert (receipt.reply, await desk.states()) == (None, ["stopped"])
    assert [each.kind for each in await events(desk)].count("rolled_back_to") == 0
    assert await desk.value("select state from interrupts where kind = 'rollback'") == "moot"


async def test_open_approvals_are_void_and_reports_of_sub_agents_become_notes(desk):
    claimed = await at_step_two(desk)
    thread, run = claimed.claim.thread_id, claimed.run.id
    for state, request in (("waiting", "req-read00001"), ("approved", "req-write0001")):
        await desk.raw.execute(
            "insert into approvals (id, thread_id, run_id, request_id, sha256, shown, state, approvers)"
            " values ($1, $2, $3, $4, 'x', 'x', $1, '[]')",
            state, thread, run, request,
        )  # fmt: skip
    await desk.raw.execute(
        "insert into inbox (thread_id, seq, source, author, text, verdict, state)"
        " values ($1, 90, 'subagent', 'child', 'done', 'queue', 'waiting')",
        thread,
    )

    await goes_back(desk, run, 3)
    (settled,) = await desk.ends_hung_stops(grace_s=0)

    assert {row["state"] for row in await desk.rows("select state from approvals")} == {"superseded"}
    assert (settled.next_run_id, (await desk.inbox_states())[-1]) == (None, ("note", "waiting"))
    assert await desk.value("select rolled_back_at is not null from threads")


async def test_a_stored_answer_that_was_not_settled_yet_is_set_aside_and_never_posted(desk):
    claimed = await at_step_two(desk)
    await desk.stores(claimed, final())

    await goes_back(desk, claimed.run.id, 3)
    await desk.ends_hung_stops(grace_s=0)

    assert await desk.states() == ["rolled_back"]
    assert await desk.value("select count(*) from posts") == 0
    assert not any("disk is full" in text for text in await sent(desk))


async def test_a_thread_that_was_never_taken_back_says_nothing_of_it_on_its_card(desk):
    claimed = await answered(desk)

    seen = await facts(desk, claimed.run.id)

    assert (seen.rolled_back_to, seen.rolled_back_by) == (None, "")
