"""From a gesture in Slack to one committed transaction and an answer in private that can harm nothing."""

import asyncio

import pytest

from bot.playground.faults import Fault
from tests.slack.door import ANA, BEN, EVE, GUS, INCIDENTS, PASSWORD

RUNS = "select count(*) from runs"


async def asked(door, text="@Steersman why is it slow?"):
    """Ana has asked in a new thread; gives its root."""
    return (await door.says(ANA, text)).ts


async def test_a_mention_and_its_second_copy_make_one_run(door):
    await asked(door)

    assert await door.raw.fetchval(RUNS) == 1
    assert await door.verdicts() == ["start"]


async def test_nobody_is_asked_about_for_the_words_of_a_channel_that_are_not_for_us(door):
    root = (await door.says(BEN, "good morning")).ts
    await door.says(GUS, "good morning to you", root)

    assert door.asked_about() == []
    assert await door.verdicts() == ["ignore", "ignore"]


async def test_who_writes_in_a_thread_of_ours_is_asked_about(door):
    root = await asked(door)

    await door.says(BEN, "it began at noon", root)

    assert door.asked_about() == [ANA, BEN]
    assert await door.verdicts() == ["start", "note"]


async def test_who_writes_to_us_alone_is_asked_about(door):
    await door.says(ANA, "why is it slow?", channel="dm")

    assert door.asked_about() == [ANA]
    assert await door.raw.fetchval(RUNS) == 1


@pytest.mark.parametrize("secret", [PASSWORD, "xoxb-123456789-abcdef", "api_key=0123456789abcdef"])
async def test_what_people_paste_is_scrubbed_before_it_is_stored(door, secret):
    root = await asked(door, f"@Steersman why does {secret} fail?")
    note = await door.says(ANA, f"I mean {secret} here", root)

    await door.slack.edit(ANA, INCIDENTS, note.ts, f"@Steersman no, {secret} there")
    await door.carry()

    tables = ("inbox", "runs", "ingress", "people", "events")
    stored = [str(row) for table in tables for row in await door.raw.fetch(f"select {table}::text from {table}")]
    assert "no, " in " ".join(stored)
    assert secret not in " ".join(stored)


async def test_the_words_of_somebody_unknown_are_scrubbed_while_they_wait(door):
    door.slack.fail(Fault("users.info", error="internal_error", times=9))

    await door.says(ANA, f"@Steersman why does {PASSWORD} fail?")

    (row,) = await door.raw.fetch("select inbox::text as row, state from inbox")
    assert row["state"] == "unjudged"
    assert PASSWORD not in row["row"]


async def test_an_edit_of_words_that_wait_is_scrubbed_too(door):
    door.slack.fail(Fault("users.info", error="internal_error", times=9))
    root = await asked(door)

    await door.slack.edit(ANA, INCIDENTS, root, f"@Steersman why does {PASSWORD} fail?")
    await door.carry()

    (row,) = await door.raw.fetch("select inbox::text as row from inbox")
    assert "[redacted] fail" in row["row"]
    assert PASSWORD not in row["row"]


async def test_somebody_unknown_is_judged_when_slack_says_who_they_are(door):
    door.slack.fail(Fault("users.info", error="internal_error", times=2))
    await door.says(ANA, "@Steersman why is it slow?")
    before = await door.raw.fetchval(RUNS)

    await door.edge.judge_waiting()

    assert (before, await door.raw.fetchval(RUNS)) == (0, 1)


async def test_a_refused_request_is_answered_in_private(door):
    await door.says(EVE, "@Steersman why is it slow?")

    (told,) = await door.whispers(EVE)
    assert "nothing from outside the workspace" in told
    assert await door.raw.fetchval(RUNS) == 0


async def test_an_answer_that_slack_refuses_fails_no_event(door):
    door.slack.fail(Fault("chat.postEphemeral", error="user_not_in_channel"))

    await door.says(EVE, "@Steersman why is it slow?")

    await door.slack.wait_for(lambda: door.slack.calls("chat.postEphemeral"), 10)
    assert await door.verdicts() == ["refuse"]


async def test_an_answer_is_never_waited_for(door):
    door.slack.fail(Fault("chat.postEphemeral", delay_s=30))

    async with asyncio.timeout(10):
        await door.says(EVE, "@Steersman why is it slow?")

    assert await door.verdicts() == ["refuse"]


async def test_the_word_status_tells_the_state_with_the_way_to_the_card(door):
    root = await asked(door)

    await door.says(ANA, "@Steersman status", root)

    (told,) = await door.whispers(ANA)
    assert "Why is it slow?" in told
    assert "waiting for a free worker" in told


async def test_the_word_status_is_answered_where_nothing_ever_ran(door):
    await door.says(ANA, "@Steersman status")

    assert await door.whispers(ANA) == ["No analysis has run in this thread. Mention me with a question to start one."]


async def test_the_button_stops_the_run_and_a_second_press_is_answered(door):
    root = await asked(door)
    card = await door.card_of(root)
    for who in (BEN, ANA):
        await door.slack.click(who, INCIDENTS, card, "steersman_stop")
        await door.carry()

    assert await door.raw.fetchval("select reason from settlements") == "stopped"
    assert await door.whispers(ANA) == ["That run already ended."]
    assert door.slack.ephemerals(BEN) == []
    assert door.acknowledged == 2


async def test_a_press_that_is_not_allowed_is_answered_and_changes_nothing(door):
    root = await asked(door)
    card = await door.card_of(root)

    await door.slack.click(EVE, INCIDENTS, card, "steersman_stop")
    await door.carry()

    assert "Only people of the workspace" in (await door.whispers(EVE))[0]
    assert await door.raw.fetchval("select count(*) from settlements") == 0


@pytest.mark.parametrize("action_id", ["steersman_of_old", "steersman_stop_all"])
async def test_a_button_that_we_no_longer_know_is_answered(door, action_id):
    root = await asked(door)
    card = await door.card_of(root)

    await door.slack.click(BEN, INCIDENTS, card, action_id)
    await door.carry()

    assert "earlier version" in (await door.whispers(BEN))[0]
    assert door.acknowledged == 1
    assert await door.raw.fetchval("select count(*) from settlements") == 0


async def test_our_own_echo_says_where_the_card_stands(door):
    root = await asked(door)

    card = await door.card_of(root)

    assert await door.raw.fetchval("select ts from cards") == card
    assert await door.verdicts() == ["start"]


async def test_our_own_updates_are_no_messages(door):
    root = await asked(door)
    card = await door.card_of(root)

    await door.calls.update(INCIDENTS, card, {"text": "another", "blocks": []})
    await door.carry()

    assert await door.verdicts() == ["start"]


async def test_an_edit_of_a_message_that_waits_replaces_its_text(door):
    root = await asked(door)

    await door.slack.edit(ANA, INCIDENTS, root, "@Steersman why is it so slow?")
    await door.carry()

    assert await door.raw.fetchval("select text from inbox") == "why is it so slow?"


async def test_deleting_the_request_stops_the_run(door):
    root = await asked(door)

    await door.slack.delete(ANA, INCIDENTS, root)
    await door.carry()

    assert await door.raw.fetchval("select reason from settlements") == "stopped"


async def test_deleting_a_request_that_has_replies_stops_the_run_too(door):
    root = await asked(door)
    await door.says(BEN, "I see it too", root)

    await door.slack.delete(ANA, INCIDENTS, root)
    await door.carry()

    assert door.slack.deliveries()[-1].event["subtype"] == "message_changed"
    assert await door.raw.fetchval("select reason from settlements") == "stopped"


async def test_slacks_own_stop_stops_the_run(door):
    root = await asked(door)
    await door.calls.session(INCIDENTS, root, "processing")

    await door.slack.native_stop(BEN, INCIDENTS, root)
    await door.carry()

    reason, who = await door.raw.fetchrow("select reason, decided_by from settlements")
    assert (reason, who) == ("stopped", BEN)


async def test_a_bot_is_never_answered_in_private(door):
    root = await asked(door)

    await door.says("Alertmanager", "@Steersman status", root)
    await door.says(ANA, "@Steersman status", root)

    await door.whispers(ANA)
    assert door.slack.ephemerals("Alertmanager") == []


async def leaves(door, root, status="active"):
    """Wait until Slack was told what the thread is doing, which the card's painter is not there to say."""
    session = await door.slack.wait_for(lambda: _in(door, root, status), 2)
    return session.status


def _in(door, root, status):
    session = door.slack.session(INCIDENTS, root)
    return session if session is not None and session.status == status else None


async def test_a_native_stop_ends_slacks_own_spinning_without_a_card(door):
    root = await asked(door)
    await door.calls.session(INCIDENTS, root, "processing")

    await door.slack.native_stop(BEN, INCIDENTS, root)
    await door.carry()

    assert await leaves(door, root) == "active"
    assert door.slack.deliveries()[-1].payload["event"]["streaming_message_ts"] == []


async def test_a_native_stop_that_finds_nothing_ends_the_spinning_too(door):
    root = (await door.says(ANA, "hello")).ts
    await door.calls.session(INCIDENTS, root, "processing")

    await door.slack.native_stop(BEN, INCIDENTS, root)
    await door.carry()

    assert await leaves(door, root) == "active"


async def test_after_a_native_stop_of_somebody_who_may_not_slacks_own_stop_is_still_there(door):
    root = await asked(door)
    await door.calls.session(INCIDENTS, root, "processing")
    await door.slack.native_stop(EVE, INCIDENTS, root)
    told = len(door.slack.calls("agents.sessions.setStatus"))

    await door.carry()

    await door.slack.wait_for(lambda: len(door.slack.calls("agents.sessions.setStatus")) > told, 2)
    assert door.slack.session(INCIDENTS, root).status == "processing"
