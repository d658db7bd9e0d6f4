"""What a card is told is one state of one moment."""

from decimal import Decimal

from bot.rules.card_facts import StepState
from bot.rules.messages import Usage
from bot.rules.terms import FailureClass, InterruptKind, ParkedFor, RunState, SettleReason
from bot.rules.turn_ends import Failed, Finished
from storage import card_facts, runs, usage
from storage.usage import Spent
from tests.storage.desk import final, ts


async def facts(desk, run_id):
    async with desk.database.transaction() as tx:
        return await card_facts.of_run(tx, run_id)


async def test_a_queued_run_says_how_many_are_before_it(desk):
    await desk.says("ana", "first", mention=True, thread=ts(500), at=ts(500))
    receipt = await desk.says("ana", "second", mention=True)

    told = await facts(desk, receipt.run_id)

    assert (told.run_state, told.queue_position, told.title) == (RunState.QUEUED, 2, "second")


async def test_the_steps_say_how_each_call_stands(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", "read00002", "read00003")
    await desk.starts(claimed, "read00001")
    await desk.starts(claimed, "read00002")
    await desk.ends_call("read00001")

    told = await facts(desk, claimed.run.id)

    assert [step.state for step in told.steps] == [StepState.OK, StepState.RUNNING, StepState.WAITING]
    assert (told.open_calls, told.calls, told.steps[0].status) == (2, 3, 200)


async def test_waiting_steers_are_counted_and_named_as_pending(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS")
    await desk.says("bob", "stop", mention=True)

    told = await facts(desk, claimed.run.id)

    assert told.waiting_messages == 1
    assert dict(told.pending) == {InterruptKind.STOP: "bob", InterruptKind.STEER: "ana"}


async def test_a_stamped_cut_is_named_although_its_message_is_used(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS")
    await desk.probes(claimed)

    told = await facts(desk, claimed.run.id)

    assert dict(told.pending) == {InterruptKind.STEER: "ana"}


async def test_a_paused_run_says_who_paused_it_and_what_is_held(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    await desk.probes(claimed)
    await desk.says("ana", "by the way")

    told = await facts(desk, claimed.run.id)

    assert (told.parked_for, told.acted_by, told.held_messages) == (ParkedFor.PAUSED, "ana", 1)
    assert told.pause_id == (await desk.run()).pause_id
    assert told.paused_at is not None


async def test_a_failed_run_says_what_failed(desk):
    claimed = await desk.is_asked()
    await desk.settles(claimed, Failed(FailureClass.MODEL_AUTH, "key refused", 401))

    told = await facts(desk, claimed.run.id)

    assert (told.settle_reason, told.failure, told.status_code) == (SettleReason.FAILED, FailureClass.MODEL_AUTH, 401)
    assert told.failure_detail == "key refused"


async def test_a_steered_run_links_on_to_the_next_card(desk):
    claimed = await desk.is_asked()
    await desk.gives_back(claimed)
    await desk.says("ana", "look at DNS")
    await desk.raw.execute("update cards set permalink = 'https://slack/next' where run_id <> $1", claimed.run.id)

    told = await facts(desk, claimed.run.id)

    assert (told.settle_reason, told.next_card_permalink) == (SettleReason.STEERED, "https://slack/next")


async def test_a_stopped_run_says_who_and_how_many_messages_became_notes(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "look at DNS")
    await desk.gives_back(claimed)
    await desk.says("bob", "stop", mention=True)

    told = await facts(desk, claimed.run.id)

    assert (told.settle_reason, told.acted_by, told.notes_count) == (SettleReason.STOPPED, "bob", 1)


async def test_cost_is_known_only_where_every_price_is(desk):
    claimed = await desk.is_asked()
    async with desk.database.transaction() as tx:
        await usage.add(tx, claimed.run.id, "k1", Spent("p", "m", Usage(10, 5), Decimal("0.01")))
    known = await facts(desk, claimed.run.id)
    async with desk.database.transaction() as tx:
        await usage.add(tx, claimed.run.id, "k2", Spent("p", "m", Usage(1, 1)))

    unknown = await facts(desk, claimed.run.id)

    assert (known.tokens, known.cost) == (15, 0.01)
    assert (unknown.tokens, unknown.cost) == (17, None)


async def test_the_facts_are_of_one_moment_although_the_run_is_settled_between_two_reads(desk, database):
    claimed = await desk.is_asked()
    await desk.stores(claimed, final())

    async with database.transaction() as tx:
        await card_facts.of_run(tx, claimed.run.id)
        await desk.settles(claimed, Finished(2))
        later = await runs.get(tx, claimed.run.id)

    assert later.state is RunState.RUNNING
    assert (await facts(desk, claimed.run.id)).settle_reason is SettleReason.COMPLETED


async def test_there_are_no_facts_of_a_run_that_nobody_knows(desk):
    assert await facts(desk, "nobody") is None


async def test_a_call_that_ends_after_its_run_changes_nothing_on_the_card(desk):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", start=True)
    await desk.says("ana", "stop")
    await desk.ends_hung_stops(grace_s=0)
    await desk.raw.execute("update cards set painted_rev = wanted_rev")

    await desk.ends_call_late(claimed, "read00001")

    assert (await facts(desk, claimed.run.id)).steps[0].state is StepState.CANCELLED
    assert await desk.value("select wanted_rev = painted_rev from cards")
