"""runs list and runs stop as an operator gives them: over the database alone, with every worker down."""

import asyncio
import json

import pytest

from tests.cli.console import steersman
from tests.storage.conftest import desk, raw, watch
from tests.storage.desk import ROOT, ts

__all__ = ["desk", "raw", "watch"]


@pytest.fixture
def gives(database_url):
    async def give(*arguments):
        return await asyncio.to_thread(steersman, "runs", *arguments, DATABASE_URL=database_url)

    return give


async def test_runs_that_have_not_ended_are_listed_a_line_each(desk, gives):
    claimed = await desk.is_asked("why is\tcheckout \x1b[31mslow?")

    ended = await gives("list")

    heading, line = ended.stdout.splitlines()
    assert heading.split() == ["ID", "THREAD", "STATE", "SINCE", "REQUESTED", "BY", "WORKER", "TITLE"]
    assert line.split()[:3] == [claimed.claim.run_id, f"C1/{ROOT}", "running"]
    assert "\x1b" not in line
    assert line.endswith("slow?")


async def test_runs_are_listed_as_json_for_programs(desk, gives):
    claimed = await desk.is_asked("why?")
    await desk.says("ben", "and the disk?", mention=True, thread=ts(50), at=ts(50))

    ended = await gives("list", "--json")

    first, second = map(json.loads, ended.stdout.splitlines())
    assert first.pop("since")
    assert first == {
        "id": claimed.claim.run_id, "channel": "C1", "thread": ROOT, "state": "running", "requested_by": "ana",
        "title": "why?", "worker": "w1", "held_by": None,
    }  # fmt: skip
    assert (second["state"], second["worker"], second["requested_by"]) == ("queued", None, "ben")


@pytest.mark.parametrize(("flags", "said"), [((), "Every run has ended.\n"), (("--json",), "")])
async def test_where_every_run_has_ended_the_list_says_so_and_for_programs_is_empty(gives, flags, said):
    ended = await gives("list", *flags)

    assert (ended.returncode, ended.stdout) == (0, said)


async def test_a_run_is_stopped_by_its_id_with_every_worker_down(desk, gives):
    claimed = await desk.is_asked()
    await desk.gives_back(claimed)

    ended = await gives("stop", claimed.claim.run_id, "--reason", "too loud")

    assert (ended.returncode, ended.stdout) == (0, f"{claimed.claim.run_id}  stopped\n")
    assert await desk.states() == ["stopped"]
    (asked,) = await desk.rows("select source, reason from interrupts")
    assert tuple(asked) == ("api", "too loud")
    assert await desk.value("select requested_by from interrupts") == await desk.value(
        "select decided_by from settlements"
    )


async def test_all_runs_are_stopped_and_later_ones_start_as_ever(desk, gives):
    await desk.is_asked()
    await desk.says("ben", "and the disk?", mention=True, thread=ts(50), at=ts(50))

    ended = await gives("stop", "--all")

    assert sorted(line.split("  ")[1] for line in ended.stdout.splitlines()) == ["stopped", "stopping"]
    assert await desk.states() == ["cancelling", "stopped"]
    await desk.says("cem", "and the network?", mention=True, thread=ts(60), at=ts(60))
    assert await desk.states() == ["cancelling", "stopped", "queued"]


async def test_a_run_that_nobody_knows_is_said_to_be_unknown(gives):
    ended = await gives("stop", "no-such-run")

    assert (ended.returncode, ended.stderr) == (1, "There is no run no-such-run.\n")


@pytest.mark.parametrize("arguments", [(), ("r1", "--all")])
async def test_stop_wants_one_run_or_all_of_them(gives, arguments):
    ended = await gives("stop", *arguments)

    assert ended.returncode == 2
    assert "name one run, or --all" in ended.stderr
