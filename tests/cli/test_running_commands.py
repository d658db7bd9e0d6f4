"""serve, work and listen: they start on a database with the newest tables only, and end at a signal with code 0."""

import asyncio
import signal

import asyncpg
import pytest

from bot.playground.local_slack import LocalSlack, SlackOptions
from tests.cli.console import GOOD, started, steersman

SIGNS = {"serve": ("slack.connected", "worker.started"), "work": ("worker.started",), "listen": ("slack.connected",)}
"""Command -> what it says when it is at work, in its order."""


@pytest.mark.parametrize(
    ("command", "by"), [*((command, signal.SIGTERM) for command in SIGNS), ("serve", signal.SIGINT)]
)
async def test_a_signal_ends_a_command_with_code_0_and_no_traceback(command, by, settings, database_url):
    async with started(command, **{**settings, "DATABASE_URL": database_url}) as running:
        for sign in SIGNS[command]:
            await running.until(sign)

        code = await running.ended(by)

    assert code == 0, running.said
    assert "Traceback" not in "\n".join(running.said)


async def test_sigterm_hands_a_run_back_with_its_thread_ready(settings, database_url, slack, model):
    async with started("serve", **{**settings, "DATABASE_URL": database_url}) as running:
        await running.until("worker.started")
        await slack.say("U0ANA", "C0INCIDENTS", "@Steersman why is checkout slow?")
        await model.gate_reached("hold")

        code = await running.ended(signal.SIGTERM)

    connection = await asyncpg.connect(database_url)
    thread = await connection.fetchrow("select state, owner from threads")
    settled = await connection.fetchval("select count(*) from settlements")
    await connection.close()
    assert (code, dict(thread), settled) == (0, {"state": "ready", "owner": None}, 0)


async def test_a_listener_and_a_worker_share_the_work_of_one_database(settings, database_url, slack, model):
    shared = {**settings, "DATABASE_URL": database_url}
    async with started("listen", **shared) as listening, started("work", **shared) as working:
        await asyncio.gather(listening.until("slack.connected"), working.until("worker.started"))
        await slack.say("U0ANA", "C0INCIDENTS", "@Steersman why is checkout slow?")

        await model.gate_reached("hold")

        assert "why is checkout slow?" in str(model.requests[0].messages)
        assert [await each.ended(signal.SIGTERM) for each in (listening, working)] == [0, 0]


@pytest.mark.parametrize("command", ["serve", "work"])
async def test_a_database_that_is_not_migrated_is_refused_with_what_to_run(command, settings, bare_database_url):
    wanted = {**settings, "DATABASE_URL": bare_database_url}

    ended = await asyncio.to_thread(steersman, command, **wanted)

    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("DATABASE_URL: ")
    assert "run steersman migrate" in ended.stderr


async def test_migrate_makes_the_tables_and_does_nothing_the_second_time(bare_database_url):
    first = await asyncio.to_thread(steersman, "migrate", DATABASE_URL=bare_database_url)

    second = await asyncio.to_thread(steersman, "migrate", DATABASE_URL=bare_database_url)

    connection = await asyncpg.connect(bare_database_url)
    assert await connection.fetchval("select count(*) from runs") == 0
    await connection.close()
    assert (first.returncode, first.stdout) == (0, "The database has the newest tables now.\n")
    assert (second.returncode, second.stdout) == (0, "The database has the newest tables already.\n")


async def test_a_database_of_a_newer_steersman_is_left_alone(new_database_url):
    connection = await asyncpg.connect(new_database_url)
    await connection.execute("update alembic_version set version_num = 'of_tomorrow'")
    await connection.close()

    ended = await asyncio.to_thread(steersman, "migrate", DATABASE_URL=new_database_url)

    assert ended.returncode == 2
    assert ended.stderr.startswith("DATABASE_URL: its tables are newer than this Steersman")


async def test_the_embedded_database_is_migrated_by_serve_and_used_again(settings, folder):
    embedded = {**settings, "STEERSMAN_DATA": str(folder)}
    async with started("serve", **embedded) as running:
        await running.until("worker.started")
        assert await running.ended(signal.SIGTERM) == 0

    again = await asyncio.to_thread(steersman, "migrate", **embedded)

    assert (again.returncode, again.stdout) == (0, "The database has the newest tables already.\n")
    assert not (folder / "postgres" / "postmaster.pid").exists()


@pytest.mark.parametrize("name", ["bot_token", "app_token"])
async def test_a_token_that_slack_refuses_is_one_line(name, settings, database_url):
    prefix = "xoxb" if name == "bot_token" else "xapp"
    async with LocalSlack.running(SlackOptions(**{name: f"{prefix}-another"})) as strict:
        wanted = {**settings, "DATABASE_URL": database_url, "SLACK_API_URL": f"{strict.url}/api/"}

        ended = await asyncio.to_thread(steersman, "serve", **wanted)

    lines = [line for line in ended.stderr.splitlines() if not line.startswith("timestamp=")]
    assert ended.returncode == 2
    assert len(lines) == 1, ended.stderr
    assert lines[0].startswith(f"SLACK_{name.upper()}: Slack answers")
    assert GOOD[f"SLACK_{name.upper()}"] not in ended.stderr
