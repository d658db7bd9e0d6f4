"""The demo's parts in this process: the model quotes what it really read and follows a steer; where the data lives."""

import re
import tempfile
from pathlib import Path

import asyncpg
import pytest

from bot.cli.demo_stage import StageOptions, postgres_folder, real_model, staged
from bot.cli.demo_stories import HINT, Scene, tell_stories
from bot.cli.demo_watch import Watch, card_of
from bot.errors import SettingsError
from bot.playground.cast import INCIDENTS
from bot.rules.terms import SettleReason
from storage.embedded import EmbeddedPostgres

LIMIT_S = 60.0
ONCE_DONE = ((SettleReason.COMPLETED, "done"),)
FIGURE = re.compile(r"\d+ of (\d+) (?:gateway )?connections")


@pytest.fixture
async def stage(demo_folder):
    told = []
    async with staged(StageOptions(demo_folder, 0, {}, pace=0), lambda *step: told.append(step)) as stage:
        yield stage
    assert [step for step, _ in told] == ["PostgreSQL", "sick service", "playground", "model", "bot", "page"]


@pytest.fixture
async def scene(stage):
    async with Watch.on(stage.database_url) as watch:
        yield Scene(stage, watch, "of a test", LIMIT_S)


async def answer(scene: Scene) -> str:
    """What the bot has posted besides cards, as soon as there is something."""

    def look() -> str:
        thread = scene.stage.slack.thread(INCIDENTS.id, scene.root)
        return "".join(message.text for message in thread if message.user == "UBOT" and card_of(message) is None)

    return await scene.stage.slack.wait_for(look, LIMIT_S)


async def test_the_answer_quotes_what_was_really_read(scene):
    state = scene.stage.sick.state
    await scene.ask()
    await scene.until_over(ONCE_DONE)

    text = await answer(scene)

    read = {visit.path for visit in scene.stage.sick.visits if visit.status == 200}
    assert {"/metrics", "/logs", "/deploys", "/slow", "/gateway/config", "/gateway/metrics"} <= read
    assert FIGURE.search(text)[1] == str(state.pool_size)
    assert "d-4100" in text
    assert "not found" not in text


async def test_a_reply_steers_the_run_and_the_next_one_follows_it(scene):
    await scene.ask()
    await scene.until_it_reads()
    await scene.reply(HINT)
    await scene.until_over(((SettleReason.STEERED, "steered"), *ONCE_DONE))

    text = await answer(scene)

    assert "yes, it is the gateway client" in text
    assert await scene.history_is_valid()


async def test_each_demo_has_a_database_of_its_own_that_ends_with_it(demo_folder):
    urls = []
    for _ in range(2):
        async with staged(StageOptions(demo_folder, 0, {}), lambda *_: None) as stage:
            urls.append(stage.database_url)

    server = EmbeddedPostgres(postgres_folder(demo_folder))
    connection = await asyncpg.connect(server.url())
    left = await connection.fetchval("select count(*) from pg_database where datname like 'demo%'")
    await connection.close()
    server.stop()
    assert urls[0] != urls[1]
    assert left == 0


async def test_a_story_that_waits_in_vain_gives_up_and_says_what_for(stage):
    told = []

    lines = await tell_stories(stage, 0.001, lambda *said: told.append(said))

    assert [line for line in lines if line.history_valid] == []
    assert {story for story, what in told if what.startswith("given up after 0.001 s; it waited for")} == {
        "completed", "steered", "stopped", "paused and resumed", "approved",
    }  # fmt: skip


def test_data_lives_in_its_folder_unless_a_socket_could_not(tmp_path):
    short, long = Path("/tmp/st-demo"), tmp_path / ("x" * 100)

    assert postgres_folder(short) == short.resolve() / "postgres"
    assert postgres_folder(long).is_relative_to(tempfile.gettempdir())
    assert len(str(postgres_folder(long))) < 80
    assert postgres_folder(long) == postgres_folder(long)
    assert postgres_folder(long) != postgres_folder(tmp_path / ("y" * 100))
    assert " " not in str(postgres_folder(Path("/tmp/a demo")))


def test_a_real_model_brings_its_settings_and_no_others():
    environment = {"STEERSMAN_MODEL": "openai:x", "OPENAI_API_KEY": "k", "DATABASE_URL": "postgresql://somebody's"}

    found = real_model(environment)

    assert found == {"STEERSMAN_MODEL": "openai:x", "OPENAI_API_KEY": "k"}
    assert real_model({"OPENAI_API_KEY": "k"}) == {}
    with pytest.raises(SettingsError, match="names no model"):
        real_model({"STEERSMAN_MODEL": "x"})
