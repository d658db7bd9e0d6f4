"""A worker that is killed in the middle of a run: another goes on, same run, same card, and does nothing twice."""

import asyncio
import contextlib

import pytest

from tests.stories.holding import held
from tests.stories.outside import Outside, processes
from tests.stories.stage import Stage, Thread, words_of

SCRIPT = """
[[plays]]
[[plays.rounds]]
say = "I read the metrics and the log."
chunks = 2
calls = [
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/metrics" }} }},
  {{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/gate/log" }} }},
]
{first}
[[plays.rounds]]
say = "It was {{{{find this is (.*)}}}}."
{second}
"""
SHOWN = "select wanted_rev = painted_rev and paint_token is null from cards"
RESULTS = "select count(*) from events where kind = 'tool_result'"


def script(first="", second=""):
    """The recorded run, with a barrier in one of its rounds."""
    gate = 'gate = {{ name = "here", at = "{}" }}'
    return SCRIPT.format(first=first and gate.format(first), second=second and gate.format(second))


async def nothing_to_paint(stage: Stage) -> None:
    """Wait until no card is being painted: a killed painter keeps its card for as long as a call may take."""
    await stage.until(lambda: stage.reader.fetchval(SHOWN))


async def all_well(stage: Stage, thread: Thread) -> None:
    """Wait for the end: one run, one card, one answer, settled once, and every request was accepted."""
    (run,) = await thread.settled()
    await thread.card("done")
    (answer,) = await stage.slack.wait_for(thread.answers, 20)
    assert (run.reason, len(await thread.runs()), len(thread.cards())) == ("completed", 1, 1)
    assert "It was gate/log." in words_of(answer) or "It was metrics." in words_of(answer)
    assert {request.broken_rule for request in stage.model.requests} == {None}


@contextlib.asynccontextmanager
async def investigated(stage: Stage, folder, lease_s=2.5, **limits):
    """A run at work in a process of its own; gives its thread, its process and a way to start more.

    The lease is as short as a busy machine bears: a worker that cannot beat for so long is taken for lost.
    """
    stage.limits = {"lease_s": lease_s, **limits}
    await stage.start(works=False)
    async with processes(stage, folder) as start:
        worker = await start("work")
        await worker.works(stage)
        thread = await stage.asks("why is checkout slow?")
        # Whoever is started later may not be quicker: then nobody would be killed who has the run.
        await stage.until(lambda: stage.reader.fetchval("select owner is not null from threads"))
        yield thread, worker, start


async def killed(stage: Stage, worker: Outside) -> None:
    """Kill a worker that paints nothing right now."""
    await nothing_to_paint(stage)
    await worker.kill()


async def test_killed_while_the_model_speaks(stage, tmp_path):
    stage.plays(script(second="chunk:2"))
    stage.targets.open("gate/log")
    async with investigated(stage, tmp_path) as (thread, worker, _):
        await stage.start(listens=False)
        async with asyncio.timeout(20):
            await stage.model.gate_reached("here")
        await killed(stage, worker)
        stage.model.open_gate("here")

        await all_well(stage, thread)

        assert sorted(stage.targets.paths) == ["/gate/log", "/metrics"]
        assert len(stage.model.requests) == 3


@pytest.mark.parametrize("other", ["another worker alive", "a restart after it"])
async def test_killed_while_a_tool_is_at_work(stage, tmp_path, other):
    stage.plays(script())
    async with investigated(stage, tmp_path) as (thread, worker, _):
        if other == "another worker alive":
            await stage.start(listens=False)
        await stage.targets.reached("gate/log")
        await stage.until(lambda: _results(stage, 1))
        await killed(stage, worker)
        if other != "another worker alive":
            await stage.start(listens=False)
        await stage.targets.reached("gate/log", 2)
        stage.targets.open("gate/log")

        await all_well(stage, thread)

        assert sorted(stage.targets.paths) == ["/gate/log", "/gate/log", "/metrics"]
        assert len(set(stage.targets.request_ids)) == 2
        assert len(stage.model.requests) == 2


async def test_killed_between_two_rounds(stage, tmp_path):
    stage.plays(script())
    async with investigated(stage, tmp_path) as (thread, worker, _), contextlib.AsyncExitStack() as later:
        await stage.targets.reached("gate/log")
        await stage.until(lambda: _results(stage, 1))
        async with held(stage, thread) as queued:
            stage.targets.open("gate/log")
            await queued(1)
            ours = asyncio.create_task(later.enter_async_context(held(stage, thread)))
            await queued(2)
        await ours
        # The last result is stored, and the worker waits to be told whether it may go on.
        await queued(1)
        asked = (len(stage.model.requests), await _results(stage, 2))
        await killed(stage, worker)
        await later.aclose()
        await stage.start(listens=False)

        await all_well(stage, thread)

        assert (asked, len(stage.model.requests)) == ((1, True), 2)
        assert sorted(stage.targets.paths) == ["/gate/log", "/metrics"]


async def _results(stage: Stage, count: int) -> bool:
    return await stage.reader.fetchval(RESULTS) == count


async def test_a_worker_whose_time_to_end_is_over_answers_what_is_open_and_hands_its_run_over(stage, tmp_path):
    stage.plays(script())
    async with investigated(stage, tmp_path, lease_s=600.0, drain_s=2.0) as (thread, worker, start):
        other = await start("work")
        await stage.targets.reached("gate/log")
        await other.works(stage)

        code = await worker.ends()

        await all_well(stage, thread)
        assert code == 0
        assert stage.targets.paths.count("/gate/log") == 1
        assert "cancelled: the service was restarted; no result" in str(stage.model.requests[-1].messages)


async def _owner(stage: Stage, alive: list[Outside]) -> Outside | None:
    """The process that works on the only run."""
    owner = await stage.reader.fetchval("select owner from threads")
    return next((each for each in alive if each.worker_id == owner), None)


async def test_a_run_that_three_workers_did_not_survive_is_given_up(stage, tmp_path):
    stage.plays(script(first="before_first_chunk"))
    async with investigated(stage, tmp_path) as (thread, worker, start):
        alive = [worker, *[await start("work") for _ in range(2)]]
        for each in alive:
            await each.works(stage)

        for number in (1, 2, 3):
            async with asyncio.timeout(20):
                await stage.model.gate_reached("here", number)
            victim = await stage.until(lambda: _owner(stage, alive))
            await killed(stage, victim)
            alive.remove(victim)
        await stage.start(listens=False)

        (run,) = await thread.settled()
        card = await thread.card("failed")
        assert (run.reason, run.final_event_id, thread.answers()) == ("abandoned", None, [])
        assert "broke off each time" in words_of(card)
        assert len(stage.model.requests) == 3
