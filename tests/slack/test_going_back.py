"""From the menu to the modal and back: what is offered, what Slack is answered, and what happens when Slack fails."""

import pytest

from bot.playground.clicks import view_submission
from bot.playground.faults import Fault
from bot.rules.inbound_message import Press
from bot.rules.terms import EventKind
from bot.slack.going_back import NOT_OPENED
from bot.slack.inbound import parse_action
from bot.slack.listeners.back import NO_CHOICE
from storage import history, queue, threads, workers
from storage.history import NewEvent
from tests.slack.door import ANA, BEN, INCIDENTS, Door


@pytest.fixture
async def door(database_url):
    async with Door.open(database_url) as door:
        yield door


class Acknowledged:
    """Keeps what Slack was answered."""

    def __init__(self):
        self.answers = []

    async def __call__(self, **answer):
        self.answers.append(answer)


async def with_a_step(door):
    """A thread whose run has made one step, its card in Slack; returns the root, the run and the card's press."""
    root = (await door.says(ANA, "@Steersman why?")).ts
    async with door.database.transaction() as tx:
        await workers.register(tx, "w1")
    async with door.database.transaction() as tx:
        claimed = await queue.claim(tx, "w1", None)
    call = {"id": "call00001", "name": "http_get", "arguments": {}, "broken_arguments": None}
    new = [
        NewEvent(EventKind.ASSISTANT, {"text": "I look.", "calls": [call]}),
        NewEvent(EventKind.TOOL_RESULT, {"call_id": "call00001", "name": "http_get", "text": "200", "outcome": "ok"}),
    ]
    async with door.database.transaction() as tx:
        thread = await threads.lock(tx, claimed.claim.thread_id)
        await history.insert(tx, thread, claimed.run.id, new)
    return root, claimed.run.id, await door.card_of(root)


async def chosen(door, card, run, who=ANA):
    """Somebody's press on the menu, as Slack sends it."""
    envelope = await door.slack.click(who, INCIDENTS, card, "steersman_stop", f"back:v1:{run}")
    press = parse_action(envelope.payload)
    assert isinstance(press, Press)
    return press


async def submits(door, view, value):
    """Ana submits the modal; what Slack is answered."""
    field = next(block for block in view.view["blocks"] if block["type"] == "input")
    answer = {"type": "radio_buttons", "selected_option": {"value": value}}
    values = {field["block_id"]: {field["element"]["action_id"]: answer}}
    ack = Acknowledged()
    await door.back.submit(ack, view_submission(door.slack.workspace.user(ANA), view.id, view.view, values))
    return ack.answers


async def test_the_menu_opens_a_modal_with_the_steps_for_whoever_pressed(door):
    _, run, card = await with_a_step(door)

    await door.back.open(await chosen(door, card, run))

    view = door.slack.workspace.open_view(ANA)
    options = view.view["blocks"][1]["element"]["options"]
    assert [option["text"]["text"] for option in options] == [
        "Step 1 · http_get", "The start · the question, before any step",
    ]  # fmt: skip
    assert door.slack.workspace.open_view(BEN) is None


async def test_who_may_not_is_told_so_in_private_and_sees_no_modal(door):
    _, run, card = await with_a_step(door)

    await door.back.open(await chosen(door, card, run, BEN))

    assert await door.whispers(BEN) == [
        "Only who asked for this analysis, or an approver, can take it back. Ask one of them."
    ]
    assert door.slack.workspace.open_view(BEN) is None


async def test_a_card_that_is_not_of_this_run_offers_nothing(door):
    root, _, card = await with_a_step(door)

    await door.back.open(await chosen(door, card, "another"))

    assert (await door.whispers(ANA), root != card) == (["There is no step to go back to here."], True)


@pytest.mark.parametrize("fault", [Fault("views.open", error="expired_trigger_id"), Fault("views.open", drop=True)])
async def test_a_modal_that_could_not_be_opened_is_told_of(door, fault):
    _, run, card = await with_a_step(door)
    door.slack.fail(fault)

    await door.back.open(await chosen(door, card, run))

    assert await door.whispers(ANA) == [NOT_OPENED]


async def test_a_choice_is_carried_out_and_closes_the_modal(door):
    _, run, card = await with_a_step(door)
    await door.back.open(await chosen(door, card, run))

    answers = await submits(door, door.slack.workspace.open_view(ANA), "1")

    assert answers == [{}]
    assert await door.raw.fetchval("select checkpoint from interrupts where kind = 'rollback'") == 1


@pytest.mark.parametrize(
    ("value", "words"),
    [("77", "This analysis has no such step. Open the menu again and choose another."), ("", NO_CHOICE)],
)
async def test_a_choice_that_does_not_stand_is_answered_with_what_is_wrong(door, value, words):
    _, run, card = await with_a_step(door)
    await door.back.open(await chosen(door, card, run))

    answers = await submits(door, door.slack.workspace.open_view(ANA), value)

    assert answers == [{"response_action": "errors", "errors": {"steersman:back": words}}]
    assert await door.raw.fetchval("select count(*) from interrupts") == 0
