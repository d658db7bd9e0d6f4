"""The pen of a claim: what it stores it knows, and what was refused leaves its history as it was."""

import pytest

from bot.agent.run_writer import RunWriter
from bot.interrupts.brake import Brake
from bot.rules.closing_words import Closing
from bot.rules.messages import AssistantMessage, ToolCall, Usage
from bot.rules.terms import CallOutcome, Command, Grade, InterruptKind
from bot.tools.batch_calls import Answered
from storage import history
from storage.audit import CallEnd, PlannedCall
from storage.history import Appended
from storage.interrupts import ProbeAnswer
from storage.usage import Spent

SPENT = Spent("scripted", "m1", Usage(10, 2))
CALL = ToolCall("call00001", "read", {"what": "log"})
PLANNED = PlannedCall("req-1", "call00001", "read", Grade.READ, "Read log", "site", {"what": "log"})
ANSWERED = Answered("this is log", CallOutcome.OK, CallEnd("req-1", CallOutcome.OK, 5))


async def pen(desk, claimed, brake=None):
    async with desk.database.transaction() as tx:
        events = await history.load(tx, claimed.claim.thread_id)
    return RunWriter(desk.database, claimed.claim, brake or Brake(), events)


async def calling(desk, claimed, brake=None):
    writer = await pen(desk, claimed, brake)
    await writer.message(AssistantMessage("I look.", (CALL,)), [PLANNED], SPENT)
    return writer


async def test_what_is_stored_is_what_the_writer_knows(desk):
    claimed = await desk.is_asked()
    writer = await calling(desk, claimed)
    await writer.answer(CALL, ANSWERED)
    await writer.context("it began at noon")

    assert writer.events == (await pen(desk, claimed)).events
    assert writer.rounds == 1


async def test_a_message_is_stored_with_its_calls_its_cost_and_its_round(desk):
    await calling(desk, await desk.is_asked())

    assert await desk.audited() == [("call00001", None)]
    assert await desk.value("select input_tokens from usage") == 10
    assert await desk.value("select round from runs") == 1


async def test_a_call_that_never_started_is_closed_in_the_history_and_the_audit(desk):
    writer = await calling(desk, await desk.is_asked())

    kept = await writer.close(CALL, PLANNED, Closing(CallOutcome.NOT_STARTED, "not started: paused"))

    assert kept is Appended.STORED
    assert await desk.outcomes() == await desk.audited() == [("call00001", "not_started")]


async def test_an_answer_after_a_stop_goes_to_the_audit_and_leaves_the_history_as_it_was(desk):
    claimed = await desk.is_asked()
    writer = await calling(desk, claimed)
    known = list(writer.events)
    await desk.presses("ana", Command.STOP, claimed.claim.run_id)

    kept = await writer.answer(CALL, ANSWERED)

    assert (kept, writer.events) == (Appended.CANCELLING, known)
    assert (await desk.outcomes(), await desk.audited()) == ([], [("call00001", None)])
    assert await desk.value("select late->>'outcome' from tool_calls") == "ok"


async def test_a_write_of_a_claim_that_is_lost_says_so_and_brakes_the_run(desk):
    claimed, brake = await desk.is_asked(), Brake()
    writer = await calling(desk, claimed, brake)
    await desk.gives_back(claimed)

    kept = await writer.answer(CALL, ANSWERED)

    assert (kept, brake.is_lost) == (Appended.LOST, True)
    assert await desk.outcomes() == []


async def test_a_message_that_a_stop_refused_is_paid_for_once(desk):
    claimed = await desk.is_asked()
    writer = await pen(desk, claimed)
    await desk.presses("ana", Command.STOP, claimed.claim.run_id)

    kept = await writer.message(AssistantMessage("It is the disk."), [], SPENT)

    assert kept is Appended.CANCELLING
    assert await desk.value("select count(*) from usage") == 1


async def test_the_calls_of_two_claims_are_booked_apart(desk):
    claimed = await desk.is_asked()
    await (await pen(desk, claimed)).spent(SPENT)
    await desk.gives_back(claimed)
    again = await desk.claims()

    await (await pen(desk, again)).spent(SPENT)

    assert await desk.value("select count(*) from usage") == 2


@pytest.mark.parametrize("command", [Command.STOP, Command.PAUSE])
async def test_a_look_between_two_cut_points_says_what_is_asked_and_carries_nothing_out(desk, command):
    claimed = await desk.is_asked()
    writer = await pen(desk, claimed)
    before = await writer.asked()
    await desk.presses("ana", command, claimed.claim.run_id)

    asked = await writer.asked()

    assert before is None
    assert asked.kind is InterruptKind(command.value)
    assert await desk.value("select cut_by from runs") is None
    assert await desk.value("select state from threads") == "running"


async def test_what_goes_with_a_look_is_written_only_where_the_run_goes_on(desk):
    claimed = await desk.is_asked()
    writer = await pen(desk, claimed)
    written = []

    async def also(_):
        written.append("written")

    went_on = await writer.probe(also)
    await desk.presses("ana", Command.STOP, claimed.claim.run_id)
    cut = await writer.probe(also)

    assert (went_on.answer, cut.answer) == (ProbeAnswer.GO_ON, ProbeAnswer.CUT)
    assert written == ["written"]


async def test_a_look_brings_the_news_that_a_used_message_was_withdrawn(desk):
    await desk.says("ana", "why?", mention=True)
    at = desk.now()
    await desk.says("ana", "and the pool", at=at)
    claimed = await desk.claims()
    writer = await pen(desk, claimed)
    await desk.deletes(at)

    probed = await writer.probe()

    assert (probed.answer, len(probed.news)) == (ProbeAnswer.GO_ON, 1)
    assert writer.events == (await pen(desk, claimed)).events
