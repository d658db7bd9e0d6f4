"""A local Slack and a model that a command under test talks to, and folders with paths that fit a socket."""

import shutil
import tempfile
from pathlib import Path

import asyncpg
import pytest

from bot.llm.script import Gate, Play, Round, Script
from bot.playground.local_slack import LocalSlack
from bot.playground.model_server import ModelServer
from tests.cli.console import GOOD

HOLDS = Script((Play("", (Round(say="never said", gate=Gate("hold", "before_first_chunk")),)),))
"""A model that takes the question and never answers."""


def short_folder() -> Path:
    # A test's own folder is longer than the path of a socket may be.
    return Path(tempfile.mkdtemp(prefix="st-", dir="/tmp"))


@pytest.fixture
def folder():
    """A folder with a short path."""
    made = short_folder()
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="session")
def demo_folder():
    """The data folder of all demos, so that PostgreSQL is set up once."""
    made = short_folder()
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
async def slack():
    async with LocalSlack.running() as running:
        yield running


@pytest.fixture
async def model():
    async with ModelServer.running(HOLDS, GOOD["OPENAI_API_KEY"]) as running:
        yield running


@pytest.fixture
def settings(slack, model):
    """Settings with which everything but the database is found."""
    urls = {"SLACK_API_URL": f"{slack.url}/api/", "OPENAI_BASE_URL": f"{model.url}/v1"}
    return {**GOOD, **urls, "DATABASE_URL": None}


@pytest.fixture
async def raw(database_url):
    """A connection that commits each statement, for what only SQL can do or see."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()
