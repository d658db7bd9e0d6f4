"""A worker that hangs whole, its event loop included, in the middle of a run: Stop works, and it holds nothing.

It is another process that ends the run, four seconds after the stop, though the worker is still believed to live.
"""

import contextlib

import pytest

from tests.stories.outside import processes
from tests.stories.stage import BEN, words_of

SCRIPT = """
[[plays]]
when = "look at the gateway"
[[plays.rounds]]
say = "The gateway, then."

[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/log" } }]
[[plays.rounds]]
say = "That was the log."
"""


@pytest.fixture
async def outside(stage, tmp_path):
    """Processes on the stage; a worker is believed for as long as in service, so that no lease is what ends it."""
    stage.plays(SCRIPT)
    stage.limits["lease_s"] = 15.0
    async with processes(stage, tmp_path) as start:
        yield start


async def hangs(stage, outside):
    """A run whose worker, a process of its own, was frozen while its tool reads."""
    worker = await outside("work")
    await worker.works(stage)
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/log")
    await thread.card("running")
    worker.freeze()
    return worker, thread


@pytest.mark.parametrize("other", ["work", "listen"])
async def test_another_process_ends_a_stop_that_hangs_in_a_frozen_worker(stage, outside, other):
    await stage.start(works=False)
    worker, thread = await hangs(stage, outside)
    sockets = len(stage.slack.socket_mode.sockets)
    second = await outside(other)
    if other == "listen":
        await stage.slack.wait_for(lambda: len(stage.slack.socket_mode.sockets) >= sockets + 2, 30)
    else:
        await second.works(stage)

    await thread.clicks("Stop", by=BEN)

    (stopped,) = await thread.settled()
    card = await thread.card("stopped")
    seconds = "select extract(epoch from s.settled_at - i.requested_at)::float8 from settlements s, interrupts i"
    assert (stopped.reason, stopped.decided_by) == ("stopped", BEN)
    assert 4.0 <= await stage.reader.fetchval(seconds) < 10.0
    assert "Dropped: " in words_of(card)
    await nothing_comes_of_it(stage, worker, thread)


async def nothing_comes_of_it(stage, worker, thread):
    """Let the frozen worker go on: what it brings is late, and the thread goes on without it."""
    asked, events = len(stage.model.requests), len(await thread.events())
    worker.thaw()
    stage.targets.open("gate/log")
    await stage.until(lambda: _has_noticed(worker))
    assert (len(stage.model.requests), len(await thread.events())) == (asked, events)
    with contextlib.suppress(ProcessLookupError):
        await worker.kill()
    await stage.start(listens=False, publishes=False)
    await thread.says("@Steersman look at the gateway")
    assert [each.reason for each in await thread.settled(2)] == ["stopped", "completed"]
    assert {request.broken_rule for request in stage.model.requests} == {None}


async def _has_noticed(worker):
    return any(word in worker.log for word in ("run.let_go", "run.lost", "call.answered_late", "run.handed_back"))
