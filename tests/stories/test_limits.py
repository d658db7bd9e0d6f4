"""Limits: a run ends where it may go no further and says why; one too many waits, says for what, and then begins."""

from tests.stories.stage import ANA, BEN, words_of

HANGS = """
[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/log" } }]
[[plays.rounds]]
say = "It was the pool."
"""
TALKS = """
[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/log" } }]
[[plays.rounds]]
say = "I read the pool."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/pool" } }]
[[plays.rounds]]
say = "It was the pool."
"""


async def test_a_run_that_hangs_is_ended_by_its_time_and_says_so(stage):
    stage.plays(HANGS)
    stage.limits = {"run_minutes": 0.02}
    await stage.start()
    thread = await stage.asks("why is checkout slow?")

    (run,) = await thread.settled()

    assert (run.reason, run.decided_by) == ("timed_out", "the limit of 0.02 minutes")
    assert "It took longer than an analysis may take." in words_of(await thread.card("failed"))
    await stage.slack.wait_for(lambda: stage.targets.left == ["/gate/log"], 20)
    assert await stage.reader.fetchval("select source from interrupts") == "timeout"


async def test_a_run_that_has_used_its_tokens_asks_the_model_no_more_and_says_which_limit(stage):
    stage.plays(TALKS)
    stage.limits = {"run_tokens": 5}
    await stage.start()
    thread = await stage.asks("why is checkout slow?")

    (run,) = await thread.settled()

    assert (run.reason, run.error, run.final_event_id) == ("failed", "budget", None)
    assert len(stage.model.requests) == 1
    assert "the limit of 5 tokens" in words_of(await thread.card("failed"))


async def test_a_run_that_has_cost_what_it_may_is_ended(stage):
    stage.plays(TALKS)
    stage.limits = {"run_cost_usd": 0.5}
    stage.sections = {"models": {"prices": [{"name": "scripted", "input": 1e6, "output": 1e6}]}}
    await stage.start()
    thread = await stage.asks("why is checkout slow?")

    (run,) = await thread.settled()

    assert (run.reason, run.error) == ("failed", "budget")
    assert "the limit of 0.5 USD" in words_of(await thread.card("failed"))


async def test_with_a_price_the_card_says_what_the_run_cost(stage):
    stage.plays(TALKS)
    stage.sections = {"models": {"prices": [{"name": "scripted", "input": 1000.0, "output": 2000.0}]}}
    await stage.start()
    thread = await stage.asks("why is checkout slow?")

    card = await thread.card("done")

    cost = await stage.reader.fetchval(
        "select round(sum(input_tokens * 0.001 + output_tokens * 0.002), 2)::float from usage"
    )
    assert cost > 0
    assert f"2 calls · {max(cost, 0.01):.2f} USD" in words_of(card).replace("under ", "")


async def test_a_second_run_of_a_person_waits_its_turn_says_why_and_holds_up_nobody(stage):
    stage.plays(HANGS)
    stage.limits = {"live_runs_per_person": 1}
    await stage.start()
    await stage.asks("why is checkout slow?", by=ANA)
    await stage.targets.reached("gate/log", 1)

    second = await stage.asks("and the basket?", by=ANA)
    third = await stage.asks("and the search?", by=BEN)
    await stage.targets.reached("gate/log", 2)

    held = await stage.slack.wait_for(
        lambda: next((card for card in second.cards() if "waiting for its turn" in words_of(card)), None), 20
    )
    assert "One person may have no more analyses at work." in words_of(held)
    assert (await third.runs())[0]["state"] == "running"
    stage.targets.open("gate/log")
    (run,) = await second.settled()
    assert run.reason == "completed"
    assert (await second.runs())[0]["held_by"] is None
