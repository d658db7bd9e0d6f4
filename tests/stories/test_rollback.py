"""Going back to a step: a live run and a settled one, what the next run is told, and who is refused."""

import json

import pytest

from bot.agent.history import SET_ASIDE, mend, project
from bot.agent.mending import FixKind
from bot.llm.validate import check_messages
from bot.rules.checkpoints import NOTHING_CHANGED
from tests.llm import mistral
from tests.stories import going_back
from tests.stories.going_back import errors_of, goes_back, opens, options_of
from tests.stories.stage import ANA, BEN, lines_of
from tests.stories.transcript import events_of

SCRIPT = """
[[plays]]
when = "look at the gateway"
[[plays.rounds]]
say = "The gateway, then."

[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/log" } }]
[[plays.rounds]]
say = "I read the metrics."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/metrics" } }]
[[plays.rounds]]
say = "I read the pool."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/pool" } }]
[[plays.rounds]]
say = "It was the pool."

"""


async def at_step_three(stage):
    """A thread whose run waits for the tool of its third step."""
    stage.plays(SCRIPT)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/pool")
    return thread


async def answered(stage):
    """A thread whose run is done, in four steps."""
    stage.targets.open("gate/pool")
    thread = await at_step_three(stage)
    await thread.settled()
    await thread.card("done")
    return thread


async def valid(thread):
    """The stored history passes every judge at every event where no call is open."""
    events = events_of(await thread.events())
    for count in range(1, len(events) + 1):
        mended = mend(project(events[:count]))
        if FixKind.NO_RESULT not in {fix.kind for fix in mended.fixes}:
            assert {fix.kind for fix in mended.fixes} <= {FixKind.GO_ON}
        check_messages(mended.messages)
        assert mistral.refusal(mended.messages) is None


def last_request(stage) -> str:
    return json.dumps(stage.model.requests[-1].messages)


async def test_a_live_run_is_taken_back_and_the_next_one_goes_on_from_that_step(stage):
    thread = await at_step_three(stage)

    view = await opens(stage, thread)
    offered = list(options_of(view))
    await going_back.chooses(stage, view, "Step 1")
    (rolled_back,) = await thread.settled()
    card = await thread.card("rolled back")
    await thread.says("@Steersman look at the gateway")
    _, completed = await thread.settled(2)

    host = stage.targets.url.removeprefix("http://")
    assert offered == [
        f"Step 2 · Read /metrics of {host} · 200",
        f"Step 1 · Read /log of {host} · 200",
        "The start · the question, before any step",
    ]
    assert (rolled_back.reason, rolled_back.final_event_id, rolled_back.decided_by) == ("rolled_back", None, ANA)
    assert f"taken back to step 1 by {ANA}" in lines_of(card)[0]
    assert lines_of(card)[1] == "Steps 2 to 3 are set aside. Say where to go next."
    assert (completed.reason, stage.targets.left) == ("completed", ["/gate/pool"])
    asked = last_request(stage)
    assert ("this is log" in asked, "this is metrics" in asked, SET_ASIDE in asked) == (True, False, True)
    assert {request.broken_rule for request in stage.model.requests} == {None}
    await valid(thread)


async def test_a_settled_run_keeps_its_reason_and_its_card_says_how_far_it_was_taken_back(stage):
    thread = await answered(stage)

    await goes_back(stage, thread, "Step 2")
    line = f"Taken back to step 2 by {ANA}. Steps 3 to 4 are set aside."
    await stage.slack.wait_for(lambda: line in lines_of(thread.cards()[0]))
    await thread.says("@Steersman look at the gateway")
    completed, again = await thread.settled(2)
    await stage.slack.wait_for(lambda: len(thread.answers()) == 2)

    asked = last_request(stage)
    assert (completed.reason, again.reason) == ("completed", "completed")
    assert ("this is metrics" in asked, "It was the pool." in asked, NOTHING_CHANGED in asked) == (True, False, True)
    assert {request.broken_rule for request in stage.model.requests} == {None}
    await valid(thread)


async def test_a_steer_after_a_rollback_cuts_the_run_that_goes_on_from_there(stage):
    thread = await at_step_three(stage)
    await goes_back(stage, thread, "The start")
    await thread.card("rolled back")
    await thread.says("@Steersman try again")
    await stage.targets.reached("gate/pool", times=2)

    await thread.says("no, look at the gateway")

    reasons = [each.reason for each in await thread.settled(3)]
    assert reasons == ["rolled_back", "steered", "completed"]
    assert {request.broken_rule for request in stage.model.requests} == {None}
    await valid(thread)


async def test_a_message_that_waits_starts_the_next_run_by_itself(stage):
    thread = await at_step_three(stage)
    view = await opens(stage, thread)

    await going_back.chooses(stage, view, "Step 2")
    await thread.says("look at the gateway, @Steersman")

    reasons = [each.reason for each in await thread.settled(2)]
    assert reasons == ["rolled_back", "completed"]
    card = await thread.card("rolled back", 0)
    await stage.slack.wait_for(lambda: any("Continued below." in line for line in lines_of(thread.cards()[0])))
    assert state_is_over(card)


def state_is_over(card) -> bool:
    return not any(element["type"] == "button" for block in card.blocks for element in block.get("elements", ()))


async def test_only_who_asked_or_an_approver_is_shown_the_steps(stage):
    thread = await answered(stage)
    card = thread.cards()[0]
    run = (await thread.runs())[0]

    await stage.slack.click(BEN, thread.channel, card.ts, going_back.MENU, f"back:v1:{run['id']}")
    told = await stage.slack.wait_for(lambda: stage.slack.ephemerals(BEN))

    assert [each.text for each in told] == [
        "Only who asked for this analysis, or an approver, can take it back. Ask one of them."
    ]
    assert stage.slack.workspace.open_view(BEN) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("stale", "That step is set aside already. Open the menu again to see what there is to go back to."),
        ("999", "This analysis has no such step. Open the menu again and choose another."),
        ("no number", "Choose a step to go back to, or leave it."),
    ],
)
async def test_a_choice_that_does_not_stand_any_more_is_refused_in_the_modal_and_changes_nothing(stage, value, words):
    thread = await answered(stage)
    view = await opens(stage, thread)
    newest = next(iter(options_of(view).values()))
    await goes_back(stage, thread, "Step 1")
    before = len(await thread.events())

    await going_back.submits(stage, view, newest if value == "stale" else {**newest, "value": value})

    assert list(errors_of(stage, view).values()) == [words]
    assert stage.slack.workspace.views[view.id].state == "open"
    assert len(await thread.events()) == before
