"""The halt of everything: every run of every worker is braked, and nothing starts by itself, now or afterwards."""

import asyncio
import contextlib

import pytest

from bot.app.operator import operator
from tests.stories.outside import processes
from tests.stories.stage import ANA, BEN, INCIDENTS, lines_of, words_of

SCRIPT = """
[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/log" } }]
[[plays.rounds]]
say = "It was the pool."
"""
AT_WORK = "select count(distinct owner) from threads where state = 'running'"
REASON = "a bad deploy"


@contextlib.asynccontextmanager
async def two_workers(stage, folder):
    """Two workers in processes of their own, each with one run at work, and a third run that waits for a place."""
    stage.plays(SCRIPT)
    stage.limits = {"runs_at_once": 1, "lease_s": 15.0}
    await stage.start(works=False)
    async with processes(stage, folder) as start:
        workers = [await start("work") for _ in range(2)]
        await asyncio.gather(*(worker.works(stage) for worker in workers))
        threads = [await stage.asks(f"why is checkout {number} slow?") for number in range(3)]
        await stage.targets.reached("gate/log", 2)
        assert await stage.reader.fetchval(AT_WORK) == 2
        yield threads


async def by_command(stage):
    async with operator(stage.settings(), "olga") as desk:
        await desk.halt(REASON)


async def by_the_row_alone(stage):
    """Nobody sends a hint, and nobody records a stop for any run: what a command does that dies after its first row."""
    await stage.reader.execute("insert into halts (id, set_by, reason) values ('h1', 'olga', $1)", REASON)


@pytest.mark.parametrize("halt", [by_command, by_the_row_alone])
async def test_a_halt_brakes_the_runs_of_all_workers_and_begins_none_that_waits(stage, tmp_path, halt):
    async with two_workers(stage, tmp_path) as threads:
        await halt(stage)

        settled = [(await thread.settled())[0] for thread in threads]

        assert [(each.reason, each.decided_by) for each in settled] == [("stopped", "olga")] * 3
        await stage.slack.wait_for(lambda: len(stage.targets.left) == 2, 20)
        assert await stage.reader.fetchval("select count(started_at) from runs") == 2
        assert (len(stage.targets.paths), len(stage.model.requests)) == (2, 2)
        card = await threads[0].card("stopped")
        assert "stopped by olga" in words_of(card) + " ".join(lines_of(card))


async def test_while_a_halt_stands_who_asks_is_told_by_whom_and_why_and_afterwards_asks_again(stage):
    stage.plays(SCRIPT)
    stage.targets.open("gate/log")
    await stage.start()
    await by_command(stage)

    refused = await stage.asks("why is checkout slow?", by=ANA)

    (told,) = await stage.slack.wait_for(lambda: stage.slack.ephemerals(ANA), 20)
    assert told.text == (
        "All analyses are halted by olga: a bad deploy. Ask again when whoever runs Steersman has lifted it."
    )
    assert (refused.cards(), await refused.runs()) == ([], [])

    async with operator(stage.settings(), "olga") as desk:
        await desk.unhalt()
    asked = await stage.asks("why is checkout slow now?", by=BEN)

    (run,) = await asked.settled()
    assert run.reason == "completed"
    assert await refused.runs() == []


async def test_while_a_halt_stands_an_alert_is_answered_in_its_thread_and_starts_nothing(stage):
    stage.sections = {"policy": {"alert_apps": ["A0ALERTS"]}}
    await stage.start()
    await by_command(stage)

    alert = await stage.slack.say("U0ALERTS", INCIDENTS, "the disk of db-1 is full")

    def replies():
        return [each.text for each in stage.slack.thread(INCIDENTS, alert.ts) if "halted by olga" in each.text]

    assert len(await stage.slack.wait_for(replies, 20)) == 1
    assert await stage.reader.fetchval("select count(*) from runs") == 0
