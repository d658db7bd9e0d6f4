"""A run that wants to change something: people decide, and each yes makes one request to the real target."""

import asyncio
import json

import pytest

from bot.llm.script import Call
from bot.rules.terms import Command
from bot.rules.tool_policy import ApprovalTerms, Vote
from storage.queue import Claimed
from tests.agent.approvers import Approvers
from tests.agent.bench import SECRET, says
from tests.agent.writing import BOSS, Target, Writing, restarts
from tests.storage.waits import until

FIVE = ("gate/one", "two", "three", "four", "five")
ANSWERS = "select body->>'text' from events where kind = 'tool_result' order by seq"


@pytest.fixture
async def target():
    """What the writes go to."""
    async with Target.running() as target:
        yield target


@pytest.fixture
def approvers(desk):
    """Who may say yes."""
    return Approvers(desk)


@pytest.fixture
def writer(bench, target):
    """A bench whose runs may restart services."""
    bench.more["restart"] = Writing(target)
    return bench


async def waits_for_people(writer, approvers, *rounds):
    """A run that has let its worker go."""
    claimed, task = await writer.begins(*rounds)
    await writer.ended(task)
    await approvers.parked()
    return claimed


async def outcomes(desk):
    return [row[0] for row in await desk.rows("select outcome from tool_calls order by round, position")]


async def told(desk):
    return [row[0] for row in await desk.rows(ANSWERS)]


async def test_an_approved_write_is_made_once_with_its_request_id_and_the_run_goes_on(writer, approvers, desk, target):
    await waits_for_people(writer, approvers, restarts("checkout"), says("done"))
    before = list(target.received)

    await approvers.press(0)
    await writer.ended(writer.works(await desk.claims()))

    assert (before, target.received) == ([], ["checkout"])
    assert target.keys == [await desk.value("select request_id from tool_calls")]
    assert await desk.states() == ["completed"]
    assert await desk.value("select approved_by from tool_calls") == BOSS
    assert await told(desk) == ["restarted"]


async def test_the_reads_of_a_batch_run_while_its_writes_wait_and_the_run_parks_after_the_last(
    writer, approvers, desk, target
):
    also = (Call("read", {"what": "log a"}),)
    _, task = await writer.begins(restarts("checkout", also=also), says("done"))
    await writer.reached("a")
    asked = await approvers.asked()
    is_at_work = not task.done()

    writer.tool.gates.open("a")
    await writer.ended(task)

    assert ([row["state"] for row in asked], is_at_work) == (["waiting"], True)
    assert await desk.value("select parked_for from runs") == "approval"
    assert (await told(desk), target.received) == (["this is log a"], [])


async def test_a_yes_that_comes_while_reads_are_at_work_is_used_without_parking(writer, approvers, desk, target):
    also = (Call("read", {"what": "log a"}),)
    _, task = await writer.begins(restarts("checkout", also=also), says("done"))
    await writer.reached("a")
    await approvers.press(0)

    writer.tool.gates.open("a")
    await writer.ended(task)

    assert (await desk.states(), target.received) == (["completed"], ["checkout"])


@pytest.mark.parametrize(("vote", "words"), [(Vote.NO, "said no"), (None, "nobody said yes in time")])
async def test_what_was_denied_or_expired_is_told_as_what_it_was_and_never_made(
    writer, approvers, desk, target, vote, words
):
    await waits_for_people(writer, approvers, restarts("checkout"), says("as you wish"))
    if vote is not None:
        await approvers.press(0, vote)
    else:
        await desk.raw.execute("update approvals set expires_at = clock_timestamp()")
        await approvers.press(0)

    await writer.ended(writer.works(await desk.claims()))

    assert target.received == []
    assert words in (await told(desk))[0]
    assert (await desk.states(), await outcomes(desk)) == (["completed"], ["blocked"])


async def test_each_decision_brings_the_run_back_and_the_rest_goes_on_waiting(writer, approvers, desk, target):
    await waits_for_people(writer, approvers, restarts("one", "two", "three"), says("done"))

    for nth, vote in ((1, Vote.YES), (2, Vote.NO), (0, Vote.YES)):
        await approvers.press(nth, vote)
        await writer.ended(writer.works(await desk.claims()))

    assert target.received == ["two", "one"]
    assert (await desk.states(), await outcomes(desk)) == (["completed"], ["ok", "ok", "blocked"])


async def test_approved_writes_are_made_one_after_another_in_the_models_order(writer, approvers, desk, target):
    await waits_for_people(writer, approvers, restarts("gate/a", "gate/b", "c"), says("done"))
    for nth in (2, 1, 0):
        await approvers.press(nth)
    task = writer.works(await desk.claims())

    order = []
    for gate in "ab":
        await asyncio.wait_for(target.gates.reached(gate), 20)
        order.append(list(target.received))
        target.gates.open(gate)
    await writer.ended(task)

    assert order == [["gate/a"], ["gate/a", "gate/b"]]
    assert target.received == ["gate/a", "gate/b", "c"]


@pytest.mark.parametrize("grace_s", [0.05, 20.0], ids=["the write is given up", "the write ends within its grace"])
async def test_five_approved_writes_and_a_stop_while_the_first_is_out_make_one_request(
    writer, approvers, desk, target, grace_s
):
    writer.write_grace_s = grace_s
    claimed = await waits_for_people(writer, approvers, restarts(*FIVE), says("never"))
    for nth in range(5):
        await approvers.press(nth)
    task = writer.works(await desk.claims())
    await asyncio.wait_for(target.gates.reached("one"), 20)

    await writer.stops(claimed)
    if grace_s > 1:
        target.gates.open("one")
    await writer.ended(task)

    first = "ok" if grace_s > 1 else "unknown"
    assert target.received == ["gate/one"]
    assert (await desk.states(), await outcomes(desk)) == (["stopped"], [first, *["not_started"] * 4])
    assert await approvers.states() == ["used", *["superseded"] * 4]
    assert [each.split(":")[0] for each in await told(desk)][1:] == ["not started"] * 4
    assert "done (status 200)" in (await told(desk))[0] if grace_s > 1 else "outcome unknown" in (await told(desk))[0]
    assert not isinstance(await desk.claims(), Claimed)


@pytest.mark.parametrize("kind", ["steer", "pause"])
async def test_a_running_write_is_waited_for_by_a_steer_and_a_pause_and_the_rest_is_not_started(
    writer, approvers, desk, target, kind
):
    claimed = await waits_for_people(writer, approvers, restarts(*FIVE[:3]), says("never"))
    for nth in range(3):
        await approvers.press(nth)
    task = writer.works(await desk.claims())
    await asyncio.wait_for(target.gates.reached("one"), 20)

    await (writer.steers(claimed) if kind == "steer" else writer.stops(claimed, Command.PAUSE))
    await writer.counts("events where kind = 'tool_result'", 2)
    meanwhile = await outcomes(desk)
    target.gates.open("one")
    await writer.ended(task)

    assert target.received == ["gate/one"]
    assert meanwhile == [None, "not_started", "not_started"]
    assert await outcomes(desk) == ["ok", "not_started", "not_started"]
    assert (await desk.states())[0] == ("steered" if kind == "steer" else "parked")


@pytest.mark.parametrize("kind", ["steer", "pause"])
async def test_writes_that_wait_for_people_are_answered_as_soon_as_something_is_asked_while_a_read_is_out(
    writer, approvers, desk, kind
):
    also = (Call("read", {"what": "log a"}),)
    claimed, task = await writer.begins(restarts("one", also=also), says("never"), patience_s=None)
    await writer.reached("a")

    await (writer.steers(claimed) if kind == "steer" else writer.stops(claimed, Command.PAUSE))
    await writer.counts("events where kind = 'tool_result'", 1)

    assert (await outcomes(desk), await approvers.states()) == ([None, "not_started"], ["superseded"])
    assert not task.done()
    writer.tool.gates.open("a")
    await writer.ended(task)


async def test_an_answer_that_does_not_come_in_time_may_have_happened_and_is_not_tried_again(
    bench, approvers, desk, target
):
    bench.more["restart"] = Writing(target, deadline_s=2.0)
    await waits_for_people(bench, approvers, restarts("gate/one"), says("done"))
    await approvers.press(0)

    await bench.ended(bench.works(await desk.claims()))

    assert target.received == ["gate/one"]
    assert await outcomes(desk) == ["unknown"]
    assert "check what happened before trying again" in (await told(desk))[0]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"service": "checkout", "why": "x" * 3000}, "too large to review"),
        ({"service": SECRET}, "contains a secret"),
        ({"service": "checkout", "token": "abcdefgh"}, "secret"),
        ({"service": "check\x00out"}, "cannot be stored as it is"),
        ({"count": 1}, None),
    ],
)
async def test_a_write_that_nobody_could_review_is_refused_and_nobody_is_asked(writer, desk, target, arguments, reason):
    also = (Call("restart", arguments),)
    _, task = await writer.begins(restarts(also=also), says("done"))

    await writer.ended(task)

    assert await desk.value("select count(*) from approvals") == 0
    assert (await desk.states(), target.received) == (["completed"], [])
    assert await desk.value("select blocked_by from tool_calls") == reason


async def test_without_approvers_a_write_is_refused_and_the_reason_is_said(bench, desk, target):
    bench.more["restart"] = Writing(target, ApprovalTerms())
    _, task = await bench.begins(restarts("checkout"), says("it was not done"))

    await bench.ended(task)

    assert await desk.value("select blocked_by from tool_calls") == "no approvers configured"
    assert (target.received, await desk.value("select count(*) from approvals")) == ([], 0)


async def test_a_pause_that_is_there_before_a_waiting_run_is_worked_on_again_takes_its_questions_back(
    writer, approvers, desk, target
):
    claimed = await waits_for_people(writer, approvers, restarts("one", "two"), says("done"))
    await approvers.press(0, Vote.NO)
    again = await desk.claims()
    await desk.presses("ana", Command.PAUSE, claimed.claim.run_id)

    await writer.ended(writer.works(again))

    assert await approvers.states() == ["denied", "superseded"]
    assert await outcomes(desk) == ["blocked", "not_started"]
    await desk.says("ana", "resume")
    await writer.ended(writer.works(await desk.claims()))
    assert (await desk.states(), target.received) == (["completed"], [])


async def test_a_write_that_changed_since_it_was_approved_is_not_made(writer, approvers, desk, target):
    await waits_for_people(writer, approvers, restarts("checkout"), says("done"))
    await approvers.press(0)
    changed = "jsonb_set(body, '{calls,0,arguments,service}', '\"payments\"')"
    await desk.raw.execute(f"update events set body = {changed} where kind = 'assistant'")

    await writer.ended(writer.works(await desk.claims()))

    assert (target.received, await approvers.states()) == ([], ["superseded"])
    assert "not what was approved" in (await told(desk))[0]


async def test_a_call_that_another_process_never_asked_about_is_not_made(writer, desk, target):
    claimed = await desk.is_asked()
    await _planned_without_question(desk, claimed)
    await desk.gives_back(claimed)

    await writer.ended(writer.works(await desk.claims()))

    assert target.received == []
    await until(lambda: desk.value("select blocked_by = 'approval' from tool_calls"))


async def _planned_without_question(desk, claimed):
    """What a version without approvals would have left behind."""
    calls = [{"id": "call00001", "name": "restart", "arguments": {"service": "one"}, "broken_arguments": None}]
    event = "insert into events (thread_id, seq, run_id, fence, kind, body) select $1, event_seq + 1, $2, fence,"
    await desk.raw.execute(
        f"{event} 'assistant', $3 from threads", claimed.claim.thread_id, claimed.run.id, _body(calls)
    )
    await desk.raw.execute("update threads set event_seq = event_seq + 1")
    await desk.raw.execute(
        "insert into tool_calls (request_id, thread_id, run_id, fence, call_id, round, position, tool, grade, title,"
        " target, arguments) values ('r1', $1, $2, 1, 'call00001', 1, 0, 'restart', 'write', '', '', '{}')",
        claimed.claim.thread_id,
        claimed.run.id,
    )


def _body(calls):
    return json.dumps({"text": "", "calls": calls})
