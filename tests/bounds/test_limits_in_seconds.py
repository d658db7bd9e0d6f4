"""What the README promises in seconds. Alone on the machine (`make bounds`): a busy one misses limits by itself.

Slack, the model, the targets and the bot share one event loop and one clock here; a bot of its own is no slower.
"""

import asyncio
import itertools

import pytest

from benchmarks.figures import percentile
from benchmarks.noted_runs import NotedRuns
from tests.stories.stage import state_of

pytestmark = [pytest.mark.bounds, pytest.mark.timeout(400)]

STREAMING = """
[[plays]]
[[plays.rounds]]
say = "I am still talking when you stop me."
chunks = 3
gate = { name = "talking", at = "chunk:2" }
"""
READING = """
[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/log" } }]
[[plays.rounds]]
say = "That was the log."
"""
STOPS_OF_A_STREAM, OTHERS = 100, 20


def now() -> float:
    """Seconds on the clock that everything here shares."""
    return asyncio.get_running_loop().time()


async def start(stage) -> NotedRuns:
    """Start a bot at the pace at which it is delivered; its brakes are watched."""
    noted, ids = NotedRuns(), (f"bounds-{number}" for number in itertools.count())
    worker = await stage.start(works=False, publishes=False)
    worker.tasks.append(asyncio.create_task(worker.app.worker(noted).run(lambda: next(ids))))
    worker.tasks.append(asyncio.create_task(worker.app.publisher().run()))
    return noted


async def stopped_while_streaming(stage, noted: NotedRuns, number: int) -> tuple[float, float]:
    """Stop a run whose model is talking; the seconds from brake and from click until its server saw it leave."""
    thread = await stage.asks("why is checkout slow?")
    await stage.model.gate_reached("talking", number + 1)
    request = stage.model.requests[number]
    await thread.card("running")

    clicked = now()
    await thread.clicks("Stop")
    await request.ended.wait()

    (run,) = await thread.runs()
    assert request.left_at is not None
    return request.left_at - noted.pulled[run["id"]][1], request.left_at - clicked


async def test_a_stop_closes_the_models_connection_within_50_ms_of_the_brake_and_150_ms_of_the_click(stage):
    stage.plays(STREAMING)
    noted = await start(stage)

    waited = [await stopped_while_streaming(stage, noted, number) for number in range(STOPS_OF_A_STREAM)]

    of_brake, of_click = zip(*waited, strict=True)
    assert len(stage.model.requests) == STOPS_OF_A_STREAM
    assert percentile(of_brake, 99) <= 0.050, sorted(of_brake)[-5:]
    assert percentile(of_click, 95) <= 0.150, sorted(of_click)[-10:]


async def shown_after_stop(stage, number: int) -> float:
    """Stop a run whose tool is reading; the seconds until its card says so."""
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/log", number + 1)
    await thread.card("running")

    clicked = now()
    await thread.clicks("Stop")
    await stage.slack.wait_for(lambda: state_of(thread.cards()[-1]) in {"stopping", "stopped"}, 20)
    return now() - clicked


async def test_after_a_stop_the_card_says_so_within_a_second(stage):
    stage.plays(READING)
    await start(stage)

    waited = [await shown_after_stop(stage, number) for number in range(OTHERS)]

    assert percentile(waited, 95) <= 1.0, sorted(waited)[-5:]
    assert len(stage.targets.left) == OTHERS


async def shown_after_question(stage) -> float:
    """Ask in a new thread; the seconds until a card is in it."""
    asked = now()
    thread = await stage.asks("why is checkout slow?")
    await stage.slack.wait_for(thread.cards, 20)
    waited = now() - asked
    await thread.card("done")
    return waited


async def test_within_a_second_of_a_question_a_card_is_in_the_thread(stage):
    stage.plays(READING)
    stage.targets.open("gate/log")
    await start(stage)

    waited = [await shown_after_question(stage) for _ in range(OTHERS)]

    assert percentile(waited, 95) <= 1.0, sorted(waited)[-5:]
