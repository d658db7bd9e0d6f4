"""A change that needs a yes, from the words of a person to the service that is restarted: who says it decides."""

from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import bot.playground
from bot.cli.demo_stage import restart_action, restart_rule
from bot.playground.faults import Fault
from bot.playground.sick_service import SickService
from tests.stories.field.replay import Replay
from tests.stories.stage import BEN, GUS, Stage, buttons_of, words_of

DEMO = Path(bot.playground.__file__).parent / "scripts" / "demo.toml"
ORDER = "restart checkout"


@asynccontextmanager
async def demo_world(database_url):
    """The sick service, the demo's script, and the demo's one action."""
    async with (
        SickService.running(slow_seconds=0.1) as sick,
        Stage.open(database_url, variables={"SICK_URL": sick.url}) as stage,
    ):
        stage.readable.append(sick.url)
        stage.writable.append(restart_rule(sick.url))
        stage.actions["restart_service"] = restart_action(sick.url)
        stage.plays(DEMO.read_text("utf-8"))
        await stage.start()
        yield stage, sick


def restarts_asked(sick):
    return sick.visits_of("/admin/restart")


async def request_ids(stage):
    return {row["request_id"] for row in await stage.reader.fetch("select request_id from approvals")}


async def test_the_whole_call_stands_on_the_card_before_anything_is_sent(database_url):
    async with demo_world(database_url) as (stage, sick):
        thread = await stage.asks(ORDER)
        card = await thread.card("wants approval")

    words = words_of(card)
    assert f"POST {sick.url}/admin/restart?service=checkout" in words
    assert 'service = "checkout"' in words
    assert '"reason": "requests wait for a gateway connection since d-' in words
    assert "may approve: <!subteam^S0ONCALL>" in words
    assert "0 of 1 yes" in words
    assert "needs a yes: restart checkout" in words
    assert {"Approve", "Deny", "Stop"} <= buttons_of(card).keys()
    assert restarts_asked(sick) == []


async def test_a_yes_lets_it_run_once_and_the_run_goes_on_and_says_what_came_of_it(database_url):
    async with demo_world(database_url) as (stage, sick):
        thread = await stage.asks(ORDER)
        await thread.clicks("Approve", by=BEN)
        (settled,) = await thread.settled()
        card = await thread.card("done")
        (answer,) = await stage.slack.wait_for(thread.answers, 20)
        expected = await request_ids(stage)

    (visit,) = restarts_asked(sick)
    assert (settled.reason, sick.restarts, visit.status) == ("completed", 1, 200)
    assert {visit.idempotency_key, visit.request_id} == expected
    assert '"restarted": "checkout"' in str(answer.blocks)
    assert "Approve" not in buttons_of(card)


async def test_a_no_is_told_as_a_no_and_nothing_is_sent(database_url):
    async with demo_world(database_url) as (stage, sick):
        thread = await stage.asks(ORDER)
        await thread.clicks("Deny", by=BEN)
        (settled,) = await thread.settled()
        card = await thread.card("done")
        (answer,) = await stage.slack.wait_for(thread.answers, 20)

    assert (settled.reason, restarts_asked(sick)) == ("completed", [])
    assert "a person was asked and said no" in str(answer.blocks)
    assert "denied" in words_of(card)


async def test_who_is_not_named_is_told_so_and_changes_nothing(database_url):
    async with demo_world(database_url) as (stage, sick):
        thread = await stage.asks(ORDER)
        await thread.clicks("Approve", by=GUS)
        whispers = await stage.slack.wait_for(lambda: stage.slack.ephemerals(GUS), 20)
        card = await thread.card("wants approval")

    assert "Only the approvers named on the card can decide this" in whispers[-1].text
    assert "0 of 1 yes" in words_of(card)
    assert restarts_asked(sick) == []


async def test_where_slack_does_not_say_who_is_on_call_nobody_is(database_url):
    async with demo_world(database_url) as (stage, sick):
        thread = await stage.asks(ORDER)
        await thread.card("wants approval")
        stage.slack.fail(Fault("usergroups.users.list", error="internal_error"))
        await thread.clicks("Approve", by=BEN)
        await stage.slack.wait_for(lambda: stage.slack.ephemerals(BEN), 20)

    assert restarts_asked(sick) == []


async def test_a_stop_while_it_waits_sends_nothing_and_the_step_says_so(database_url):
    async with demo_world(database_url) as (stage, sick):
        thread = await stage.asks(ORDER)
        await thread.card("wants approval")
        await thread.clicks("Stop")
        (settled,) = await thread.settled()
        card = await thread.card("stopped")

    assert (settled.reason, restarts_asked(sick)) == ("stopped", [])
    assert "Not started" in words_of(card)


async def test_slack_is_told_that_the_agent_waits_for_a_person(database_url):
    async with demo_world(database_url) as (stage, _):
        thread = await stage.asks(ORDER)
        await thread.card("wants approval")
        await stage.slack.wait_for(lambda: statuses(stage, thread)[-1:] == ["suspended"], 20)
        await thread.clicks("Approve", by=BEN)
        await thread.settled()
        told = await stage.slack.wait_for(lambda: (found := statuses(stage, thread))[-1:] == ["active"] and found, 20)

    assert told == ["processing", "suspended", "processing", "active"]


def statuses(stage, thread):
    calls = stage.slack.calls("agents.sessions.setStatus")
    return [call.arguments["status"] for call in calls if call.arguments["thread_ts"] == thread.ts]


async def test_pb_050_a_slow_update_is_never_applied_after_the_question_to_the_approvers(database_url):
    async with demo_world(database_url) as (stage, _):
        # A second process paints as well.
        await stage.start(works=False, listens=False)
        stage.slack.fail(Fault("chat.update", delay_s=1.2))

        asker = Replay(stage, "PB-050").event("Ev001")["user"]
        thread = await stage.asks(ORDER, by=asker)

        card = await thread.card("wants approval")
        await stage.until(lambda: stage.reader.fetchval("select wanted_rev = painted_rev from cards"))
        calls = sorted(stage.slack.calls("chat.update"), key=lambda call: call.at)

    assert max(call.answered_at - call.at for call in calls) > 1.0
    assert all(one.answered_at <= next_one.at for one, next_one in pairwise(calls))
    assert "Approve" in buttons_of(card)
    assert "Approve" in buttons_of(thread.cards()[0])
