"""What Slack sends, however often, however late and in whatever order: one run for one request, and none lost."""

import json

from bot.playground.faults import Fault
from bot.playground.local_slack import SlackOptions
from tests.stories.cut_wire import CutWire
from tests.stories.outside import processes
from tests.stories.stage import ANA, BEN, CHECKOUT, INCIDENTS, Stage, Thread, words_of

HELLO = """
[[plays]]
[[plays.rounds]]
say = "All is well."
"""
ALWAYS = 100_000
RUNS = "select count(*) from runs"


async def acknowledged(stage, count):
    """Wait until Slack has sent so many envelopes in all and every one was acknowledged."""

    def look():
        sent = stage.slack.deliveries()
        return len(sent) >= count and all(each.acked_at is not None for each in sent)

    return await stage.slack.wait_for(look, 20)


async def inbox(stage):
    """The messages that are kept, as (text, state, verdict)."""
    rows = await stage.reader.fetch("select text, state, verdict from inbox order by seq")
    return [tuple(row) for row in rows]


async def test_twenty_copies_over_four_sockets_of_two_processes_start_one_run(stage, tmp_path):
    stage.plays(HELLO)
    async with processes(stage, tmp_path) as start:
        await start("listen")
        await stage.start()
        await stage.slack.wait_for(lambda: len(stage.slack.socket_mode.sockets) == 4, 20)
        stage.slack.pause_delivery()
        thread = await stage.asks("why is checkout slow?")
        message, mention = stage.slack.deliveries()[-2:]
        for _ in range(9):
            stage.slack.repeat(mention)
            stage.slack.repeat(message)

        stage.slack.resume_delivery()

        await acknowledged(stage, 20)
        (run,) = await thread.settled()
        await thread.card("done")
        sent = [each for each in stage.slack.deliveries() if each.event.get("ts") == thread.ts]
        assert len({each.event_id for each in sent}) == len(sent) == 20
        assert len({each.attempts[0].socket for each in sent}) == 4
        assert (run.reason, await stage.reader.fetchval(RUNS), len(stage.model.requests)) == ("completed", 1, 1)
        assert (len(thread.cards()), len(await stage.slack.wait_for(thread.answers))) == (1, 1)


async def test_a_mention_sent_while_the_database_is_away_is_sent_again_and_starts_one_run(database_url):
    options = SlackOptions(ack_timeout=0.5, retry_delays=(0.0, 0.5, 1.0, 2.0, 4.0, 8.0))
    async with Stage.open(database_url, options) as stage, CutWire.to(database_url) as wire:
        stage.url = wire.url
        stage.plays(HELLO)
        await stage.start()
        await wire.cut()
        thread = await stage.asks("why is checkout slow?")
        message, mention = stage.slack.deliveries()[-2:]
        await stage.slack.wait_for(lambda: min(len(message.attempts), len(mention.attempts)) >= 2, 20)
        early = (message.acked_at, mention.acked_at, await stage.reader.fetchval(RUNS))

        await wire.mend()

        (run,) = await thread.settled()
        await thread.card("done")
        await acknowledged(stage, 2)
        assert early == (None, None, 0)
        assert (run.reason, await stage.reader.fetchval(RUNS), len(thread.answers())) == ("completed", 1, 1)


async def test_a_request_of_somebody_unknown_waits_until_slack_says_who_it_is(stage):
    stage.plays(HELLO)
    stage.slack.fail(Fault("users.info", error="internal_error", times=ALWAYS))
    await stage.start()

    thread = await stage.asks("why is checkout slow?")
    await acknowledged(stage, 2)
    kept, runs = await inbox(stage), await stage.reader.fetchval(RUNS)
    stage.slack.web_api.faults.clear()

    (run,) = await thread.settled()
    assert ([state for _, state, _ in kept], runs) == (["unjudged"], 0)
    assert (run.reason, await stage.reader.fetchval(RUNS)) == ("completed", 1)


async def test_a_slow_answer_about_a_person_delays_the_run_and_not_the_acknowledgement(stage):
    stage.plays(HELLO)
    stage.slack.fail(Fault("users.info", delay_s=2.5, times=2))
    await stage.start()

    thread = await stage.asks("why is checkout slow?")
    await acknowledged(stage, 2)

    (run,) = await thread.settled()
    attempts = [len(each.attempts) for each in stage.slack.deliveries()[:2]]
    assert (run.reason, await stage.reader.fetchval(RUNS), attempts) == ("completed", 1, [1, 1])


async def test_a_mention_that_only_the_second_copy_shows_starts_the_run(stage):
    stage.plays(HELLO)
    await stage.start()
    stage.slack.pause_delivery()
    thread = await stage.asks("why is checkout slow?")
    message, mention = stage.slack.deliveries()[-2:]
    stage.slack.socket_mode.paused = False

    bare = {**message.event, "text": "why is checkout slow?", "blocks": []}
    assert await stage.slack.publish(bare).acked(10)
    before = await stage.reader.fetchval(RUNS)
    stage.slack.socket_mode.release(mention.id)

    (run,) = await thread.settled()
    stage.slack.resume_delivery()
    await acknowledged(stage, 3)
    assert (before, run.reason, await stage.reader.fetchval(RUNS)) == (0, "completed", 1)


async def test_a_reply_that_is_shown_in_the_channel_too_is_taken_in_once(stage):
    stage.plays(HELLO)
    await stage.start()
    root = await stage.slack.say(BEN, CHECKOUT, "checkout is slow")

    await stage.slack.say(ANA, CHECKOUT, "@Steersman why?", root.ts, broadcast=True)

    thread = Thread(stage, CHECKOUT, root.ts)
    (run,) = await thread.settled()
    await thread.card("done")
    assert (run.reason, await stage.reader.fetchval(RUNS)) == ("completed", 1)
    assert "checkout is slow" in json.dumps(stage.model.requests[0].messages)


async def test_the_edit_of_a_message_that_waits_replaces_what_the_model_is_asked(stage):
    stage.plays(HELLO)
    await stage.start(works=False)
    thread = await stage.asks("why is chekcout slow?")
    await thread.card("queued")

    await stage.slack.edit(ANA, INCIDENTS, thread.ts, "@Steersman why is checkout slow?")
    await stage.until(lambda: stage.reader.fetchval("select count(*) = 1 from inbox where text like '%checkout%'"))
    await stage.start(listens=False, publishes=False)

    (run,) = await thread.settled()
    asked = json.dumps(stage.model.requests[0].messages)
    card = await thread.card("done")
    assert (run.reason, "why is checkout slow?" in asked, "chekcout" in asked) == ("completed", True, False)
    assert "Why is checkout slow?" in words_of(card)


async def test_deleting_the_request_stops_its_run(stage):
    stage.plays(HELLO + 'gate = { name = "here", at = "before_end" }')
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.model.gate_reached("here")
    card = await thread.card("running")

    await stage.slack.delete(ANA, INCIDENTS, thread.ts)

    (run,) = await thread.settled()
    await stage.until(lambda: _left(stage))
    await stage.slack.wait_for(lambda: _state_at(stage, card.ts) == "stopped", 10)
    assert (run.reason, run.decided_by, thread.answers()) == ("stopped", ANA, [])


async def _left(stage):
    return stage.model.requests[0].left_at is not None


def _state_at(stage, ts):
    shown = stage.slack.workspace.message(INCIDENTS, ts)
    return shown.metadata["event_payload"]["state"]


async def test_our_own_words_and_those_of_other_bots_start_nothing(stage):
    stage.plays(HELLO)
    await stage.start()

    await stage.slack.call("chat.postMessage", {"channel": INCIDENTS, "text": "<@UBOT> why is checkout slow?"})
    await stage.slack.say("U0ALERTS", INCIDENTS, "@Steersman disk full on db-1")
    thread = await stage.asks("why is checkout slow?")
    await stage.slack.say("U0ALERTS", INCIDENTS, "@Steersman and on db-2", thread.ts)

    await thread.settled()
    await acknowledged(stage, 5)
    await thread.card("done")
    assert [row["thread_ts"] for row in await stage.reader.fetch("select thread_ts from threads")] == [thread.ts]
    assert [text for text, _, _ in await inbox(stage)] == ["why is checkout slow?"]
    assert await stage.reader.fetchval(RUNS) == 1
