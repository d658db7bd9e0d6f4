"""halt and unhalt as an operator gives them: over the database alone, with every worker down."""

import asyncio

import pytest

from tests.cli.console import steersman
from tests.storage.conftest import desk, raw, watch
from tests.storage.desk import ts

__all__ = ["desk", "raw", "watch"]


@pytest.fixture
def gives(database_url):
    """Gives a command on the desk's database, and waits for its end; nothing but the database is known to it."""

    async def give(*arguments, **settings):
        return await asyncio.to_thread(steersman, *arguments, DATABASE_URL=database_url, **settings)

    return give


async def test_halt_stops_runs_with_every_worker_down_and_says_so(desk, gives):
    claimed = await desk.is_asked()
    await desk.gives_back(claimed)
    await desk.says("ben", "and the disk?", mention=True, thread=ts(50), at=ts(50))

    ended = await gives("halt", "--reason", "a bad deploy")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "(a bad deploy)" in ended.stdout
    assert ended.stdout.rstrip().endswith("No run is left.")
    assert await desk.states() == ["stopped", "stopped"]
    assert [tuple(row) for row in await desk.rows("select source, reason from interrupts")] == [
        ("halt", "a bad deploy")
    ] * 2


async def test_a_run_with_a_worker_is_told_and_said_to_be_still_ending(desk, gives):
    await desk.is_asked()

    ended = await gives("halt")

    assert ended.stdout.rstrip().endswith("1 run still ending.")
    assert await desk.states() == ["cancelling"]


async def test_status_says_by_its_exit_code_too_whether_a_halt_stands(gives):
    before = await gives("halt", "--status")
    await gives("halt", "--reason", "a bad deploy")

    after = await gives("halt", "--status")

    assert (before.returncode, before.stdout) == (1, "No halt stands.\n")
    assert after.returncode == 0
    assert after.stdout.startswith("A halt stands: by ")
    assert "(a bad deploy)" in after.stdout


async def test_after_unhalt_nothing_starts_by_itself_and_people_may_ask_again(desk, gives):
    await desk.says("ana", "why?", mention=True)
    await gives("halt")

    ended = await gives("unhalt")

    assert (ended.returncode, "Nothing starts by itself." in ended.stdout) == (0, True)
    assert await desk.states() == ["stopped"]
    await desk.is_asked("and now?", at=ts(9_999_999_999))
    assert await desk.states() == ["stopped", "running"]


async def test_unhalt_stops_first_what_slipped_past_the_halt(desk, gives):
    # A message that was being taken in while the halt was set: its transaction had seen none.
    await desk.says("ana", "why?", mention=True)
    await desk.raw.execute("insert into halts (id, set_by) values ('h1', 'olga')")

    await gives("unhalt")

    assert await desk.states() == ["stopped"]


async def test_unhalt_where_no_halt_stood_says_so(gives):
    ended = await gives("unhalt")

    assert (ended.returncode, ended.stdout) == (0, "No halt stood.\n")


@pytest.mark.parametrize("command", [("halt",), ("unhalt",), ("halt", "--status"), ("runs", "list")])
async def test_without_a_database_the_operator_is_told_in_one_line(command):
    away = "postgresql://nobody@127.0.0.1:1/none"

    ended = await asyncio.to_thread(steersman, *command, DATABASE_URL=away)

    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
