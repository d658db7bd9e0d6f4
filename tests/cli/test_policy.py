"""`steersman policy`: what the rules forbid is not stored, and a message's verdict is explained."""

import asyncio

import pytest

from tests.cli.console import steersman
from tests.storage.desk import Desk

NOTE = ("--channel", "C1", "--source", "requester", "--interject", "no", "--phase", "running")


@pytest.fixture
async def desk(database, raw):
    desk = Desk(database, raw, raw)
    await desk.is_asked(at="1001.000001")
    return desk


@pytest.fixture
def policy(desk, database_url):
    """Runs the command on that database."""

    async def command(*arguments):
        return await asyncio.to_thread(steersman, "policy", *arguments, DATABASE_URL=database_url)

    return command


async def test_a_row_is_set_shown_in_effect_and_given_back(policy, desk):
    done = await policy("set", *NOTE, "--verdict", "note", "--by", "ana")
    shown = await policy("show", "--channel", "C1")
    receipt = await desk.says("ana", "look at DNS")
    back = await policy("unset", *NOTE)
    none = await policy("show")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "C1 requester/no/running: note (set by ana)\n"
    assert "note*" in shown.stdout
    assert "set by ana at" in shown.stdout
    assert receipt.verdict == "note"
    assert "steer again, the default" in back.stdout
    assert (none.stdout, none.stderr) == ("", "No row is a channel's own.\n")


@pytest.mark.parametrize(
    ("source", "interject", "phase", "verdict"),
    [
        ("external", "yes", "idle", "start"),
        ("other_bot", "no", "running", "steer"),
        ("requester", "no", "running", "start"),
        ("requester", "no", "untouched", "note"),
        ("subagent", "no", "idle", "ignore"),
        ("requester", "no", "running", "command"),
    ],
)
async def test_what_the_design_forbids_is_refused_and_nothing_is_stored(
    policy, desk, source, interject, phase, verdict
):
    asked = ("--source", source, "--interject", interject, "--phase", phase, "--verdict", verdict)

    ended = await policy("set", "--channel", "C1", *asked)

    assert ended.returncode == 2
    assert ended.stderr.startswith(f"--verdict: {verdict} is not allowed for {source}/{interject}/{phase}")
    assert await desk.value("select count(*) from policy_overrides") == 0


async def test_a_channel_or_an_answer_that_is_none_is_named(policy):
    wrong_channel = await policy("set", "--channel", "#incidents", *NOTE[2:], "--verdict", "note")
    wrong_answer = await policy("set", *NOTE[:4], "--interject", "maybe", *NOTE[6:], "--verdict", "note")

    assert wrong_channel.stderr.startswith("--channel: '#incidents' is no channel's id")
    assert wrong_answer.stderr.startswith("--interject: 'maybe' is neither")


async def test_a_message_is_explained_by_its_link(policy):
    ended = await policy("explain", "https://acme.slack.com/archives/C1/p1001000001?thread_ts=1000.000000&cid=C1")

    assert ended.returncode == 0
    assert "verdict   start" in ended.stdout
    assert "row       teammate/yes/untouched" in ended.stdout
    assert "A message that addresses the bot, of a teammate" in ended.stdout


@pytest.mark.parametrize("link", ["what?", "https://acme.slack.com/archives/C1/p9999000001"])
async def test_a_message_that_cannot_be_explained_is_one_line(policy, link):
    ended = await policy("explain", link)

    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith("LINK: ")
