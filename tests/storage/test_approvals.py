"""An approval lets one call run, once, if those who may have said yes in time and nothing else was asked since."""

import pytest

from bot.rules.command_words import DECISION_WORDS, Decided
from bot.rules.terms import ApprovalState, Command, PersonClass, Verdict
from bot.rules.tool_policy import ApprovalTerms, Vote
from bot.rules.turn_ends import Cut
from storage.approvals import Park, Use
from storage.queue import Claimed, Unclaimed
from tests.storage.approving import BOSS, CHIEF, TERMS, Approving
from tests.storage.desk import stale

ONE, TWO = "write0001", "write0002"


@pytest.fixture
def approving(desk):
    """Approvals of a fresh desk."""
    return Approving(desk)


async def test_an_approved_write_is_used_and_started_together_and_the_audit_names_who_said_yes(approving, desk):
    claimed = await approving.is_asked(ONE)
    await approving.presses(BOSS, claimed.run.id, ONE)

    used = await approving.uses(claimed, ONE)

    assert used.use is Use.GO
    row = await desk.raw.fetchrow("select a.state, c.started_at, c.approved_by from approvals a, tool_calls c")
    assert (row["state"], row["started_at"] is not None, row["approved_by"]) == ("used", True, BOSS)


async def test_a_write_that_nobody_has_decided_does_not_start(approving):
    claimed = await approving.is_asked(ONE)

    used = await approving.uses(claimed, ONE)

    assert (used.use, await approving.started()) == (Use.WAITING, 0)


async def test_a_yes_is_used_once_and_only_the_same_attempt_may_be_repeated_after_a_lost_reply(approving):
    claimed = await approving.is_asked(ONE)
    await approving.presses(BOSS, claimed.run.id, ONE)
    await approving.uses(claimed, ONE, token="first")

    again = await approving.uses(claimed, ONE, token="first")
    other = await approving.uses(claimed, ONE, token="second")

    assert (again.use, other.use, other.state) == (Use.GO, Use.ENDED, ApprovalState.USED)


@pytest.mark.parametrize(
    "changes",
    [
        {"arguments": {"service": "checkout", "count": 2}},
        {"arguments": {"service": "checkout"}},
        {"target": "POST elsewhere"},
        {"tool": "stop"},
        {"shown": "restart checkout, gently"},
        {"call_id": TWO},
        {"run_id": "another"},
    ],
)
async def test_what_is_not_exactly_what_was_approved_does_not_start_and_voids_the_yes(approving, changes):
    claimed = await approving.is_asked(ONE)
    await approving.presses(BOSS, claimed.run.id, ONE)
    part = {key: value for key, value in changes.items() if key != "call_id"}

    used = await approving.uses(claimed, ONE, **part) if part else None
    other = used or await approving.uses(claimed, TWO)

    assert other.use in {Use.CHANGED, Use.MISSING}
    assert await approving.started() == 0
    assert await approving.states() == ["superseded" if used else "approved"]


async def test_an_old_claim_starts_nothing(approving):
    claimed = await approving.is_asked(ONE)
    await approving.presses(BOSS, claimed.run.id, ONE)

    used = await approving.uses(stale(claimed, fence=claimed.claim.fence - 1), ONE)

    assert (used.use, await approving.started()) == (Use.LOST, 0)


@pytest.mark.parametrize(
    ("who", "person", "words"),
    [
        ("ana", PersonClass.MEMBER, "Only the approvers named on the card"),
        ("bob", PersonClass.MEMBER, "Only the approvers named on the card"),
        ("gus", PersonClass.GUEST, "Only the approvers named on the card"),
        (BOSS, PersonClass.EXTERNAL, "Only people of the workspace"),
    ],
)
async def test_who_is_not_named_or_comes_from_outside_decides_nothing_and_is_told_so(approving, who, person, words):
    claimed = await approving.waits(ONE)

    receipts = [await approving.presses(who, claimed.run.id, ONE, vote, person=person) for vote in Vote]

    assert {each.verdict for each in receipts} == {Verdict.REFUSE}
    assert all(words in each.reply for each in receipts)
    assert await approving.states() == ["waiting"]


async def test_an_empty_list_lets_nobody_decide(approving):
    claimed = await approving.waits(ONE, terms=ApprovalTerms())

    receipts = [await approving.presses(who, claimed.run.id, ONE) for who in ("ana", BOSS)]

    assert {each.verdict for each in receipts} == {Verdict.REFUSE}


async def test_a_user_group_names_its_members_of_this_moment_and_nobody_when_it_is_not_known(approving):
    claimed = await approving.waits(ONE, terms=ApprovalTerms(("SOPS",)))

    unknown = await approving.presses("ben", claimed.run.id, ONE)
    other = await approving.presses("ben", claimed.run.id, ONE, groups={"SOPS": frozenset({"kim"})})
    member = await approving.presses("ben", claimed.run.id, ONE, groups={"SOPS": frozenset({"ben"})})

    assert [each.verdict for each in (unknown, other, member)] == [Verdict.REFUSE, Verdict.REFUSE, Verdict.COMMAND]
    assert await approving.states() == ["approved"]


async def test_who_asked_may_not_approve_where_the_terms_say_so_but_may_deny(approving):
    claimed = await approving.waits(ONE, terms=ApprovalTerms(("ana", BOSS), not_requester=True))

    yes = await approving.presses("ana", claimed.run.id, ONE)
    no = await approving.presses("ana", claimed.run.id, ONE, Vote.NO)

    assert yes.reply == DECISION_WORDS[Decided.OWN_REQUEST]
    assert (no.verdict, await approving.states()) == (Verdict.COMMAND, ["denied"])


async def test_two_people_have_to_say_yes_where_two_are_needed_and_one_counts_once(approving, desk):
    claimed = await approving.waits(ONE, terms=ApprovalTerms((BOSS, CHIEF), needed=2))

    first = await approving.presses(BOSS, claimed.run.id, ONE)
    again = await approving.presses(BOSS, claimed.run.id, ONE)
    between = await approving.states()
    await approving.presses(CHIEF, claimed.run.id, ONE)

    assert (first.reply, again.reply) == (DECISION_WORDS[Decided.YES_COUNTED], DECISION_WORDS[Decided.VOTED_ALREADY])
    assert (between, await approving.states()) == (["waiting"], ["approved"])
    assert await desk.value("select decided_by from approvals") == "boss,chief"


async def test_one_no_is_enough_though_another_has_said_yes(approving):
    claimed = await approving.waits(ONE, terms=ApprovalTerms((BOSS, CHIEF), needed=2))
    await approving.presses(BOSS, claimed.run.id, ONE)

    await approving.presses(CHIEF, claimed.run.id, ONE, Vote.NO)

    assert await approving.states() == ["denied"]


@pytest.mark.parametrize(
    ("first", "then", "words"),
    [
        (Vote.YES, Vote.YES, "It was already approved by <@boss>."),
        (Vote.YES, Vote.NO, "It was already approved by <@boss>. To keep it from going on, press Stop."),
        (Vote.NO, Vote.YES, "It was already denied by <@boss>."),
        (Vote.NO, Vote.NO, "It was already denied by <@boss>."),
    ],
)
async def test_whoever_comes_second_is_told_who_decided_and_changes_nothing(approving, first, then, words):
    claimed = await approving.waits(ONE)
    await approving.presses(BOSS, claimed.run.id, ONE, first)
    states = await approving.states()

    late = await approving.presses(CHIEF, claimed.run.id, ONE, then)

    assert (late.reply, await approving.states()) == (words, states)


async def test_a_press_on_another_message_of_another_run_or_of_an_old_card_decides_nothing(approving, desk):
    claimed = await approving.waits(ONE)
    await desk.raw.execute("update cards set ts = '1.1'")

    elsewhere = await approving.presses(BOSS, claimed.run.id, ONE, message_ts="2.2")
    other_run = await approving.presses(BOSS, "id999", ONE)
    unknown = await approving.presses(BOSS, claimed.run.id, ONE, ref="a-older")
    nameless = await approving.presses(BOSS, claimed.run.id, ONE, ref=None)

    assert elsewhere.reply == DECISION_WORDS[Decided.OTHER_MESSAGE]
    assert other_run.reply == "That run already ended."
    assert {unknown.reply, nameless.reply} == {DECISION_WORDS[Decided.UNKNOWN]}
    assert await approving.states() == ["waiting"]


async def test_a_second_delivery_of_a_press_does_nothing(approving):
    claimed = await approving.waits(ONE, terms=ApprovalTerms((BOSS, CHIEF), needed=2))

    await approving.presses(BOSS, claimed.run.id, ONE, dedupe_key="same")
    copy = await approving.presses(CHIEF, claimed.run.id, ONE, dedupe_key="same")

    assert (copy.is_copy, await approving.states()) == (True, ["waiting"])


async def test_a_run_that_waits_for_people_holds_no_worker_and_a_decision_makes_it_ready(approving, desk):
    claimed = await approving.waits(ONE, TWO)
    parked = await desk.raw.fetchrow("select r.state, r.parked_for, t.owner, t.state as thread from runs r, threads t")
    idle = await desk.claims()

    await approving.presses(BOSS, claimed.run.id, ONE)

    assert tuple(parked) == ("parked", "approval", None, "parked")
    assert idle is Unclaimed.NONE_READY
    assert isinstance(await desk.claims(), Claimed)
    assert await approving.states() == ["approved", "waiting"]


@pytest.mark.parametrize("vote", list(Vote))
async def test_a_run_does_not_park_when_one_of_its_calls_was_just_decided(approving, vote):
    claimed = await approving.is_asked(ONE, TWO)
    await approving.presses(BOSS, claimed.run.id, TWO, vote)

    parked = await approving.parks(claimed, ONE, TWO)

    assert parked.park is Park.DECIDED


async def test_a_run_does_not_park_when_the_time_of_an_approval_is_over(approving):
    claimed = await approving.is_asked(ONE)
    await approving.time_is_over(ONE)

    assert (await approving.parks(claimed, ONE)).park is Park.DECIDED


@pytest.mark.parametrize("word", ["stop", "pause", "look at DNS"])
async def test_a_run_does_not_park_when_something_else_is_asked(approving, desk, word):
    claimed = await approving.is_asked(ONE)
    await desk.says("ana", word)

    parked = await approving.parks(claimed, ONE)

    assert parked.park is Park.HELD_BACK
    assert await desk.value("select state from threads") == "running"


async def test_an_overdue_question_expires_wakes_the_run_and_can_no_longer_be_answered(approving, desk):
    claimed = await approving.waits(ONE)
    early = await approving.expires()
    await approving.time_is_over(ONE)

    late = await approving.expires()
    receipt = await approving.presses(BOSS, claimed.run.id, ONE)

    assert (early, late) == ([], [True])
    assert receipt.reply == DECISION_WORDS[Decided.WAS_EXPIRED]
    assert isinstance(await desk.claims(), Claimed)


async def test_a_press_after_the_time_is_over_expires_the_question_though_the_reaper_has_not_looked(approving, desk):
    claimed = await approving.waits(ONE)
    await approving.time_is_over(ONE)

    receipt = await approving.presses(BOSS, claimed.run.id, ONE)

    assert receipt.reply == DECISION_WORDS[Decided.WAS_EXPIRED]
    assert await approving.states() == ["expired"]
    assert isinstance(await desk.claims(), Claimed)


async def test_a_yes_that_was_not_used_in_time_is_refused_at_use(approving):
    claimed = await approving.is_asked(ONE)
    await approving.presses(BOSS, claimed.run.id, ONE)
    await approving.time_is_over(ONE)

    used = await approving.uses(claimed, ONE)

    assert (used.use, used.state, await approving.started()) == (Use.ENDED, ApprovalState.EXPIRED, 0)


@pytest.mark.parametrize(
    ("word", "states", "outcome"),
    [("stop", ["stopped"], "not_started"), ("look at DNS", ["steered", "queued"], "not_started")],
)
async def test_a_stop_or_a_steer_of_a_waiting_run_is_carried_out_at_once(approving, desk, word, states, outcome):
    claimed = await approving.waits(ONE, TWO)

    await desk.says("ana", word)

    assert await desk.states() == states
    assert await approving.states() == ["superseded", "superseded"]
    assert await desk.outcomes() == [(ONE, outcome), (TWO, outcome)]
    late = await approving.presses(BOSS, claimed.run.id, ONE)
    assert late.reply == DECISION_WORDS[Decided.WAS_SUPERSEDED]


async def test_a_pause_of_a_waiting_run_answers_its_writes_takes_the_questions_back_and_can_be_resumed(approving, desk):
    claimed = await approving.waits(ONE)

    await desk.presses("ana", Command.PAUSE, claimed.run.id)
    late = await approving.presses(BOSS, claimed.run.id, ONE)
    paused = await desk.raw.fetchrow("select state, parked_for from runs")
    await desk.says("ana", "resume")

    assert tuple(paused) == ("parked", "paused")
    assert late.reply == DECISION_WORDS[Decided.WAS_SUPERSEDED]
    assert await desk.outcomes() == [(ONE, "not_started")]
    assert "paused" in await desk.value("select body->>'text' from events where kind = 'tool_result'")
    assert isinstance(await desk.claims(), Claimed)


async def test_resume_of_a_run_that_waits_for_people_says_what_it_waits_for(approving, desk):
    await approving.waits(ONE)

    receipt = await desk.says("ana", "resume")

    assert "Use the buttons on the card" in receipt.reply
    assert await approving.states() == ["waiting"]


@pytest.mark.parametrize("word", ["yes", "approve", "OK", "deny", "no", "go"])
@pytest.mark.parametrize("parked", [True, False])
async def test_a_word_that_answers_an_approval_is_no_answer_and_no_steer(approving, desk, word, parked):
    claimed = await approving.is_asked(ONE)
    if parked:
        await approving.parks(claimed, ONE)

    receipt = await desk.says("ana", word)

    assert (receipt.verdict, receipt.reply) == (Verdict.COMMAND, "Use the buttons on the card.")
    assert await approving.states() == ["waiting"]
    assert await desk.value("select count(*) from inbox where state = 'waiting'") == 0


async def test_deleting_a_used_message_takes_the_questions_back_and_wakes_the_run(approving, desk):
    at = desk.now()
    claimed = await desk.is_asked()
    await desk.says("ana", "look at the gateway", at=at)
    await desk.settles(claimed, (await _cut(desk, claimed)))
    following = await desk.claims()
    await approving.asks(following, ONE)
    await approving.parks(following, ONE)

    await desk.deletes(at)

    assert await approving.states() == ["superseded"]
    assert isinstance(await desk.claims(), Claimed)


async def _cut(desk, claimed):
    return Cut((await desk.probes(claimed)).cut)


@pytest.mark.parametrize("state", ["denied", "expired"])
async def test_what_was_decided_before_a_stop_is_told_as_what_it_was(approving, desk, state):
    claimed = await approving.waits(ONE, TWO)
    if state == "denied":
        await approving.presses(BOSS, claimed.run.id, ONE, Vote.NO)
    else:
        await approving.time_is_over(ONE)
        await approving.expires()

    await desk.says("ana", "stop")

    words = "said no" if state == "denied" else "nobody said yes in time"
    assert words in await desk.value("select body->>'text' from events where body->>'call_id' = $1", ONE)
    assert await desk.outcomes() == [(ONE, "blocked"), (TWO, "not_started")]


async def test_a_write_that_was_begun_by_a_lost_worker_is_told_as_unknown_and_never_begun_again(approving, desk):
    claimed = await approving.is_asked(ONE)
    await approving.presses(BOSS, claimed.run.id, ONE)
    await approving.uses(claimed, ONE)
    await desk.falls_silent()
    await desk.reaps()

    again = await desk.claims("w2")
    used = await approving.uses(again, ONE, token="other")

    assert await desk.outcomes() == [(ONE, "unknown")]
    assert used.use is Use.ENDED


async def test_terms_are_kept_as_they_were_when_people_were_asked(approving, desk):
    await approving.is_asked(ONE, terms=ApprovalTerms((BOSS,), 1, not_requester=True, expires_s=90))

    row = await desk.raw.fetchrow("select *, extract(epoch from expires_at - requested_at) as stands from approvals")

    assert (row["approvers"], row["not_requester"], row["needed"]) == ('["boss"]', True, 1)
    assert abs(float(row["stands"]) - 90) < 1
    assert TERMS.expires_s == 1800
