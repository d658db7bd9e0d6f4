"""The kill switch: two seconds after a halt nothing of any run is at work, with hints between processes or without."""

import asyncio

import pytest

from bot.app.operator import operator
from tests.stories.outside import processes

pytestmark = [pytest.mark.bounds, pytest.mark.timeout(400)]

READING = """
[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/log" } }]
"""
RUNS, WITHIN_S = 6, 2.0
LAST = """
select extract(epoch from max(s.settled_at) - min(h.set_at))::float
from settlements s cross join halts h where s.reason = 'stopped'
"""


async def by_command(stage):
    async with operator(stage.settings(), "olga") as desk:
        await desk.halt("")


async def by_the_row_alone(stage):
    await stage.reader.execute("insert into halts (id, set_by) values ('h1', 'olga')")


@pytest.mark.parametrize("halt", [by_command, by_the_row_alone])
async def test_two_seconds_after_a_halt_every_run_of_every_worker_is_settled(stage, tmp_path, halt):
    stage.plays(READING)
    stage.limits |= {"runs_at_once": RUNS // 2}
    await stage.start(works=False)
    async with processes(stage, tmp_path) as start:
        workers = [await start("work") for _ in range(2)]
        await asyncio.gather(*(worker.works(stage) for worker in workers))
        threads = [await stage.asks("why is checkout slow?") for _ in range(RUNS)]
        await stage.targets.reached("gate/log", RUNS)

        await halt(stage)
        for thread in threads:
            await thread.settled()

        waited = await stage.reader.fetchval(LAST)
        assert await stage.reader.fetchval("select count(*) from settlements where reason = 'stopped'") == RUNS
        await stage.slack.wait_for(lambda: len(stage.targets.left) == RUNS, 20)
        assert waited <= WITHIN_S, waited
