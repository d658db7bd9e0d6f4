"""The operator's way in: a worker alone, with its port, and no token to listen with."""

import contextlib
import re

import aiohttp

from tests.stories.outside import processes
from tests.stories.stage import words_of

SCRIPT = """
[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/log" } }]
"""
TOKEN = "token-of-the-operator"


@contextlib.asynccontextmanager
async def worker_with_a_port(stage, folder):
    """A worker in a process of its own; gives the address of its port, and the process."""
    stage.plays(SCRIPT)
    await stage.start(works=False)
    stage.environment = {"STEERSMAN_HTTP_PORT": "0", "STEERSMAN_API_TOKEN": TOKEN, "SLACK_APP_TOKEN": ""}
    async with processes(stage, folder) as start:
        worker = await start("work")
        await worker.works(stage)
        (number,) = re.findall(r"port\.open .*port=(\d+)", worker.log)
        yield f"http://127.0.0.1:{number}", worker


async def test_the_operator_stops_a_run_over_http_and_sees_it_in_the_numbers(stage, tmp_path):
    async with worker_with_a_port(stage, tmp_path) as (url, worker), aiohttp.ClientSession() as session:
        thread = await stage.asks("why is checkout slow?")
        await stage.targets.reached("gate/log")
        (run,) = await thread.runs()

        headers = {"Authorization": f"Bearer {TOKEN}"}
        path = f"{url}/v1/runs/{run['id']}/interrupts"
        async with session.post(path, json={"kind": "stop", "reason": "too loud"}, headers=headers) as answer:
            said = await answer.json()

        (settled,) = await thread.settled()
        assert (answer.status, said["result"]) == (200, "stopping")
        assert (settled.reason, settled.decided_by) == ("stopped", "operator")
        assert "stopped by operator" in words_of(await thread.card("stopped"))
        await stage.slack.wait_for(lambda: stage.targets.left == ["/gate/log"], 20)
        async with session.get(f"{url}/metrics") as answer:
            numbers = await answer.text()
        assert 'steersman_stops_total{source="api"} 1.0' in numbers
        assert 'steersman_runs_settled_total{reason="stopped"} 1.0' in numbers
        assert "steersman_stop_to_quiet_seconds_count 1.0" in numbers
        async with session.get(f"{url}/readyz") as answer:
            assert answer.status == 200
        assert TOKEN not in worker.log + numbers
        assert await worker.ends() == 0


async def test_a_port_that_is_taken_is_one_line_that_says_which(stage, tmp_path):
    async with worker_with_a_port(stage, tmp_path) as (url, _):
        stage.environment = {**stage.environment, "STEERSMAN_HTTP_PORT": url.rpartition(":")[2]}
        (tmp_path / "second").mkdir()
        async with processes(stage, tmp_path / "second") as start:
            second = await start("work")

            code = await second.over()

            assert code == 2
            assert "STEERSMAN_HTTP_PORT: 127.0.0.1:" in second.log
            assert "Traceback" not in second.log
