"""`steersman audit`: what is exported can be relied on, and what was done to the rows is found from outside."""

import asyncio
import json

import pytest

from bot.rules.audit_export import ATTEMPT_FIELDS, FIELDS
from storage import attempts
from storage.attempts import AttemptRow
from tests.cli.console import steersman
from tests.gates import tree
from tests.storage.desk import Desk


@pytest.fixture
async def desk(database, raw):
    """A thread in which a run was asked for, made two calls and was stopped."""
    desk = Desk(database, raw, raw)
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", "read00002", start=True)
    async with database.transaction() as tx:
        await attempts.add(tx, [AttemptRow("req-read00001", 1, "GET", "http://site/a", "127.0.0.1", 200, "answered")])
    await desk.ends_call("read00001")
    await desk.says("ana", "stop")
    await desk.completes(claimed)
    return desk


@pytest.fixture
def audit(desk, database_url):
    """Runs the command on that database."""

    async def command(*arguments):
        return await asyncio.to_thread(steersman, "audit", *arguments, DATABASE_URL=database_url)

    return command


async def test_every_call_is_a_line_of_json_with_its_requests(audit):
    ended = await audit("export")

    first, second = map(json.loads, ended.stdout.splitlines())
    assert (ended.returncode, ended.stderr) == (0, "")
    assert list(first) == list(FIELDS)
    assert (first["person"], first["request_id"], first["outcome"]) == ("ana", "req-read00001", "ok")
    assert [list(each) for each in first["attempts"]] == [list(ATTEMPT_FIELDS)]
    assert (first["attempts"][0]["address"], second["attempts"]) == ("127.0.0.1", [])
    assert first["time"].endswith("Z")


async def test_a_run_a_thread_and_a_time_can_be_asked_for(audit, desk):
    run_id, thread_id = (await desk.run()).id, (await desk.run()).thread_id
    link = "https://acme.slack.com/archives/C1/p1000000000"
    asked = [("--run", run_id), ("--run", "no"), ("--thread", thread_id), ("--thread", link), ("--since", "2999-01-01")]

    ended = [await audit("export", *each) for each in asked]

    assert [each.stdout.count("\n") for each in ended] == [2, 0, 2, 2, 0]


@pytest.mark.parametrize(
    "asked", [("--since", "yesterday"), ("--thread", "https://acme.slack.com/archives/C9/p1000000000")]
)
async def test_what_cannot_be_found_out_is_one_line_that_says_what_to_do(audit, asked):
    ended = await audit("export", *asked)

    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith(asked[0])


async def test_a_whole_chain_is_said_to_be_whole(audit):
    ended = await audit("verify")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "8 entries in 1 chains: each follows the one before\n"


async def test_a_changed_row_is_found(audit, desk):
    await desk.raw.execute("set session_replication_role = replica")
    await desk.raw.execute("update audit_entries set body = '{}' where kind = 'settled'")

    ended = await audit("verify")

    assert ended.returncode == 1
    assert "does not say what it said" in ended.stderr
    assert "not whole" in ended.stdout


async def test_an_end_that_was_cut_off_is_found_by_what_was_kept(audit, desk, tmp_path):
    printed = (await audit("head")).stdout
    kept = tmp_path / "heads"
    kept.write_text(printed)
    before = await audit("verify", "--heads", str(kept))
    await desk.raw.execute("set session_replication_role = replica")
    await desk.raw.execute("delete from audit_entries where kind = 'settled'")

    plain, by_file = await audit("verify"), await audit("verify", "--heads", str(kept))
    by_hash = await audit("verify", "--head", printed.split()[0])

    assert (before.returncode, plain.returncode, by_file.returncode, by_hash.returncode) == (0, 0, 1, 1)
    assert printed.split()[0] in by_hash.stderr


def test_the_fields_of_a_line_are_explained_where_operators_read():
    page = tree.read("docs/operating.md")

    unexplained = [
        name for name, said in {**FIELDS, **ATTEMPT_FIELDS}.items() if f"| `{name}` | {said} |" not in page
    ]  # fmt: skip

    assert unexplained == []
