"""A deploy: the old process is asked to end while a run is at work, a new one goes on, and nobody in Slack notices."""

import asyncio

import pytest

from tests.stories.outside import processes
from tests.stories.stage import words_of

SCRIPT = """
[[plays]]
[[plays.rounds]]
calls = [
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/metrics" }} }},
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/log" }} }},
]
[[plays.rounds]]
say = "It was {{{{find this is (.*)}}}}."
{gate}
[[plays]]
when = "and now"
[[plays.rounds]]
say = "Still the same."
"""


async def deployed(stage, folder, gate, arrive):
    """Ask in a thread, end the process that works on it while the run is at `gate`, with a successor at hand."""
    stage.plays(SCRIPT.format(gate=gate))
    await stage.start(works=False)
    async with processes(stage, folder) as start:
        old = await start("work")
        await old.works(stage)
        thread = await stage.asks("why is checkout slow?")
        async with asyncio.timeout(20):
            await arrive()
        new = await start("work")
        await new.works(stage)
        ending = asyncio.create_task(old.ends())
        await stage.until(lambda: stage.reader.fetchval("select count(*) from workers where state <> 'alive'"))
        stage.targets.open("gate/log")
        code = await ending
        stage.model.open_gate("here")
        (run,) = await thread.settled()
        await thread.card("done")
    return thread, run, code


@pytest.mark.parametrize("where", ["a tool is at work", "the model speaks"])
async def test_a_run_goes_on_in_the_next_process_on_the_same_card_and_repeats_no_call(stage, tmp_path, where):
    if where == "the model speaks":
        stage.targets.open("gate/log")
        gate = 'chunks = 2\ngate = { name = "here", at = "chunk:1" }'
        thread, run, code = await deployed(stage, tmp_path, gate, lambda: stage.model.gate_reached("here"))
    else:
        thread, run, code = await deployed(stage, tmp_path, "", lambda: stage.targets.reached("gate/log"))

    (answer,) = await stage.slack.wait_for(thread.answers, 20)
    assert (code, run.reason, len(await thread.runs()), len(thread.cards())) == (0, "completed", 1, 1)
    assert sorted(stage.targets.paths) == ["/gate/log", "/metrics"]
    assert words_of(answer).startswith("It was ")
    assert await stage.reader.fetchval("select attempts from runs") == 0


async def test_a_message_that_comes_while_a_process_drains_is_not_lost(stage, tmp_path):
    stage.plays(SCRIPT.format(gate=""))
    async with processes(stage, tmp_path) as start:
        old = await start("serve")
        await old.works(stage)
        await stage.slack.wait_for(lambda: len(stage.slack.socket_mode.sockets) >= 2, 20)
        thread = await stage.asks("why is checkout slow?")
        await stage.targets.reached("gate/log")
        ending = asyncio.create_task(old.ends())
        await stage.until(lambda: stage.reader.fetchval("select count(*) from workers where state = 'draining'"))
        await stage.slack.say("U0ANA", thread.channel, "@Steersman and now the gateway", thread_ts=thread.ts)
        stage.targets.open("gate/log")
        code = await ending
        await start("serve")
        runs = await thread.settled(2)

    assert code == 0
    assert [run.reason for run in runs] == ["steered", "completed"]
