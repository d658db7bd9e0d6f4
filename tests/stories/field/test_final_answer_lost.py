"""Field reports of the class final-answer-lost."""

from dataclasses import replace

import pytest

from bot.llm.script import Call, Gate, Play, Round
from bot.playground.faults import Fault
from bot.rules.settle_effects import EFFECTS
from bot.rules.terms import SettleReason
from tests.stories.field.replay import FOUND, Replay, gated, outcomes, stored
from tests.stories.stage import lines_of, words_of

STEPS, AT_ONCE = 60, 10
CLOCK = 100
"""How much slower the report's clock goes than ours."""
INTERVAL_S, STATES = 0.2, 4
"""The stage paints progress so often; a change of state is painted besides."""
LOGS = "gate/get_logs"


def _sixty_steps(replay):
    (answer,) = replay.rounds()
    calls = [Call("http_get", {"url": f"{{{{var TARGET}}}}/step/{n}"}) for n in range(STEPS)]
    rounds = [Round(calls=tuple(calls[n : n + AT_ONCE])) for n in range(0, STEPS, AT_ONCE)]
    replay.follow(rounds=(*rounds, replace(answer, gate=Gate("answers", "before_end"))))


async def test_pb_025_updates_are_merged_and_a_refused_answer_is_sent_after_the_wait_and_once(stage):
    replay = Replay(stage, "PB-025")
    _sixty_steps(replay)
    await stage.start()
    thread = await replay.ask()
    await stage.model.gate_reached("answers")
    updates = stage.slack.calls("chat.update")
    wanted = await stage.reader.fetchval("select wanted_rev from cards")
    stage.slack.fail(Fault("chat.postMessage", retry_after=1.0))
    stage.slack.fail(Fault("chat.update", retry_after=1.0))

    stage.model.open_gate("answers")

    await thread.settled()
    await thread.card("done")
    (answer,) = await stage.slack.wait_for(thread.answers, 20)
    tried = [each for each in stage.slack.calls("chat.postMessage") if "Root cause" in str(each.arguments)]
    assert await outcomes(stage) == ["ok"] * STEPS
    assert STEPS < wanted > len(updates)
    assert len(updates) <= (updates[-1].at - updates[0].at) * CLOCK / INTERVAL_S + STATES
    assert "Root cause" in words_of(answer)
    assert [each.error for each in tried] == ["ratelimited", ""]
    assert (tried[1].at - tried[0].answered_at) * CLOCK >= 0.99
    assert await stage.reader.fetchval("select array_agg(state) from posts") == ["sent"]


async def test_pb_025_a_refusal_with_status_200_is_no_delivery(stage):
    replay = Replay(stage, "PB-025")
    (given,) = replay.all_of("slack_api")
    replay.follow()
    first = await stage.start()
    stage.slack.fail(Fault("chat.postMessage", times=1))
    stage.slack.fail(Fault("chat.postMessage", error=given["respond"]["error"]))

    thread = await replay.ask()
    await thread.settled()
    await stage.until(lambda: stage.reader.fetchval("select count(*) = 1 from posts where next_at > now() + '9 s'"))
    waiting = thread.answers()
    await first.stop()
    stage.workers.remove(first)
    # Half a minute later.
    await stage.reader.execute("update posts set next_at = now()")
    await stage.start(works=False, listens=False)

    (answer,) = await stage.slack.wait_for(thread.answers, 20)
    assert waiting == []
    assert "Root cause" in words_of(answer)
    await stage.until(lambda: stage.reader.fetchval("select state = 'sent' from posts"))
    assert len(thread.answers()) == 1


async def test_pb_025_stop_is_answered_while_slack_asks_to_wait(stage):
    replay = Replay(stage, "PB-025")
    replay.follow(rounds=(Round(calls=(Call("http_get", {"url": "{{var TARGET}}/gate/step"}),)), Round(FOUND)))
    await stage.start()
    thread = await replay.ask()
    await stage.targets.reached("gate/step")
    await thread.card("running")
    stage.slack.fail(Fault("chat.update", retry_after=60.0, times=1000))

    press = await thread.clicks("Stop")

    assert await press.acked(3)
    (run,) = await thread.settled()
    assert run.reason == "stopped"


async def test_pb_026_an_empty_end_posts_nothing_and_says_so_with_what_was_found(stage):
    replay = Replay(stage, "PB-026")
    replay.follow()
    stage.targets.open(LOGS)
    await stage.start()

    thread = await replay.ask()

    (run,) = await thread.settled()
    card = await thread.card("no answer")
    assert (run.reason, run.final_event_id) == ("empty", None)
    assert await stage.reader.fetchval("select count(*) from posts") == 0
    assert thread.answers() == []
    assert not [each for each in stage.slack.calls("chat.postMessage") if each.error]
    assert "ended without an answer" in words_of(card)
    assert any(line.startswith("Finished: Read /gate/get_logs") for line in lines_of(card))
    assert [reason for reason in SettleReason if EFFECTS[reason].no_reply_alarm] == [run.reason]


@pytest.mark.parametrize("answer", ["The gateway is slow.", "   "])
async def test_pb_026_only_the_last_run_of_a_steered_chain_answers_or_is_missed(stage, answer):
    replay = Replay(stage, "PB-026")
    plays = Play("look at the gateway", (Round(answer),))
    replay.follow(plays, rounds=gated(replay.rounds(), 1, Gate("ends", "before_end")))
    stage.targets.open(LOGS)
    await stage.start()
    thread = await replay.ask()
    await stored(stage, 1)
    await stage.model.gate_reached("ends")

    await thread.says("look at the gateway")

    steered, last = await thread.settled(2)
    await thread.card("steered", 0)
    await thread.card("done" if answer.strip() else "no answer", 1)
    assert (steered.reason, steered.final_event_id) == ("steered", None)
    assert last.reason == ("completed" if answer.strip() else "empty")
    posts = await stage.reader.fetch("select run_id from posts")
    assert [row["run_id"] for row in posts] == ([last.run_id] if answer.strip() else [])
    missed = [run for run in (steered, last) if EFFECTS[SettleReason(run.reason)].no_reply_alarm]
    assert missed == ([] if answer.strip() else [last])
