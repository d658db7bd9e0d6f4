"""Field reports about approvals and repeated writes: who pressed what, in the order of the report.

The clicks are carried to the desk of presses; the target is a real server that counts.
"""

import json
from pathlib import Path

import pytest

from bot.rules.terms import Command, Verdict
from bot.rules.tool_policy import ApprovalTerms, Vote
from tests.agent.approvers import Approvers
from tests.agent.bench import says
from tests.agent.writing import Target, Writing, restarts

CASES = Path(__file__).parents[1] / "cases" / "field_reports.jsonl"
ANSWERS = "select body->>'text' from events where kind = 'tool_result' order by seq"


def given_by(name, kind):
    """What a report gives of one kind, in order."""
    (report,) = [each for each in map(json.loads, CASES.read_text("utf-8").splitlines()) if each["id"] == name]
    return [step[kind] for step in report["given"] if kind in step]


@pytest.fixture
async def target():
    """What the writes go to."""
    async with Target.running() as target:
        yield target


@pytest.fixture
def approvers(desk):
    """Who presses."""
    return Approvers(desk)


async def wants(bench, target, approvers, terms, *services):
    """A run that waits for people."""
    bench.more["restart"] = Writing(target, terms)
    claimed, task = await bench.begins(restarts(*services), says("done"))
    await bench.ended(task)
    await approvers.parked()
    return claimed


async def test_pb_003_the_approval_for_a_does_not_release_b(bench, desk, target, approvers):
    services = [call["args"]["name"] for call in given_by("PB-003", "llm")[1]["calls"]]
    claimed = await wants(bench, target, approvers, ApprovalTerms(("U0ANA",)), *services)

    await approvers.press(0, who="U0ANA")
    await bench.ended(bench.works(await desk.claims()))
    await desk.presses("U0ANA", Command.STOP, claimed.run.id)

    assert (services, target.received) == (["a", "b"], ["a"])
    assert await approvers.states() == ["used", "superseded"]
    assert await desk.states() == ["stopped"]


async def test_pb_005_a_message_overtakes_an_approval_and_the_late_click_says_so(bench, desk, target, approvers):
    said = given_by("PB-005", "slack_event")[1]["event"]["text"].partition("> ")[2]
    await wants(bench, target, approvers, ApprovalTerms(("U0ANA",)), "api")

    await desk.says("ana", said, mention=True)
    closed = await desk.outcomes()
    late = await approvers.press(0, who="U0ANA")

    assert [outcome for _, outcome in closed] == ["not_started"]
    assert late.reply == "That is no longer valid: something else was asked since."
    assert await desk.states() == ["steered", "queued"]
    assert (target.received, await approvers.states()) == ([], ["superseded"])


async def test_pb_013_a_stop_while_the_first_of_five_writes_is_out_lets_no_other_start(bench, desk, target, approvers):
    services = [call["args"] for call in given_by("PB-013", "llm")[0]["calls"]]
    names = [f"gate/{next(iter(args.values()))}" for args in services]
    bench.write_grace_s = 0.05
    claimed = await wants(bench, target, approvers, ApprovalTerms(("U0ANA",)), *names)
    for nth in range(len(names)):
        await approvers.press(nth, who="U0ANA")
    task = bench.works(await desk.claims())
    await target.gates.reached(names[0].removeprefix("gate/"))

    await bench.stops(claimed)
    await bench.ended(task)

    assert target.received == names[:1]
    assert sorted(outcome for _, outcome in await desk.outcomes()) == ["not_started"] * 4 + ["unknown"]


async def test_pb_029_a_write_without_an_answer_is_unknown_and_a_second_one_needs_its_own_yes(
    bench, desk, target, approvers
):
    assert given_by("PB-029", "tool")[0]["client_timeout_s"] < 12
    bench.more["restart"] = Writing(target, ApprovalTerms(("U0ANA",)), deadline_s=2.0)
    _, task = await bench.begins(restarts("gate/502"), restarts("gate/502"), says("done"))
    await bench.ended(task)
    await approvers.press(0, who="U0ANA")

    await bench.ended(bench.works(await desk.claims()))

    assert (await desk.value(ANSWERS)).startswith("outcome unknown")
    assert (len(target.received), len(set(target.keys))) == (1, 1)
    assert await approvers.states() == ["used", "waiting"]
    assert await desk.value("select parked_for from runs") == "approval"


async def test_pb_058_two_who_approve_and_one_who_denies_make_one_decision_and_one_execution(
    bench, desk, target, approvers
):
    clicks = given_by("PB-058", "click")
    await wants(bench, target, approvers, ApprovalTerms(("U0ANA", "U0BOB")), "api")

    told = []
    for click in clicks:
        vote = Vote.YES if click["action"] == "approve" else Vote.NO
        told.append((await approvers.press(0, vote, click["by"])).reply)
    await bench.ended(bench.works(await desk.claims()))

    assert told[0] is None
    assert told[1] == "It was already approved by <@U0ANA>."
    assert told[2].endswith("press Stop.")
    assert (target.received, await desk.value("select approved_by from tool_calls")) == (["api"], "U0ANA")


@pytest.mark.parametrize("approvers_named", [(), ("U0ANA",)])
async def test_pb_059_without_a_list_nobody_is_asked_and_who_is_not_on_it_approves_nothing(
    bench, desk, target, approvers, approvers_named
):
    clicks = given_by("PB-059", "click")
    bench.more["restart"] = Writing(target, ApprovalTerms(approvers_named))
    _, task = await bench.begins(restarts("api"), says("it was not done"))
    await bench.ended(task)

    replies = [await approvers.press(0, who=click["by"]) for click in clicks if approvers_named]

    assert target.received == []
    assert {each.verdict for each in replies} <= {Verdict.REFUSE}
    blocked_by = await desk.value("select blocked_by from tool_calls")
    assert blocked_by == (None if approvers_named else "no approvers configured")
