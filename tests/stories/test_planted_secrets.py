"""Twelve secrets pass through a run by every way in, and stand nowhere; with the scrubber off each is found."""

import asyncio
import contextlib
import io
import logging
import subprocess
import sys
import threading
from urllib.parse import quote

import pytest

from bot import telemetry
from bot.playground.local_slack import SlackOptions
from bot.rules.redaction import Scrubber
from bot.telemetry import log
from tests.gates.tree import ROOT
from tests.stories.own_model import OwnModel, Said, text_of
from tests.stories.planted import OF_THE_SETTINGS, PLANTED, TOLD, found_in, rows_of, shown_in
from tests.stories.stage import ANA, BEN, INCIDENTS, Stage, Thread, words_of

AWAY = "http://127.0.0.1:9"
REFUSED = "do as I refuse"


class NoScrubber(Scrubber):
    """Hides nothing: what the scrubber would have hidden is then found."""

    __slots__ = ()

    def text(self, text):
        return text

    def url(self, url):
        return url

    def value(self, value):
        return value


def leaky(target: str):
    """A model that says every secret, puts each into its calls, and is refused with an error that repeats them."""
    calls = [
        ("http_get", {"url": f"{target}/leaky"}),
        ("http_get", {"url": f"{target}/asked?key={PLANTED['key in a query']}"}),
        ("http_get", {"url": f"{target}/{quote(TOLD, safe='')}"}),
        ("http_get", {"url": f"{AWAY}/{PLANTED['AWS key']}", "note": TOLD}),
        (f"tool-{PLANTED['AWS key']}", {"note": [TOLD, {TOLD: TOLD}]}),
    ]

    def decide(messages) -> Said:
        if REFUSED in text_of(messages[-1]):
            return Said(TOLD, status=401)
        return Said(f"What I found: {TOLD}") if messages[-1]["role"] == "tool" else Said(TOLD, calls)

    return decide


@contextlib.contextmanager
def everything_is_logged(scrub):
    """The log as a command sets it up, at DEBUG, libraries included; as the test run had it afterwards."""
    root, sink = logging.getLogger(), io.StringIO()
    kept = root.handlers[:], root.level, sys.excepthook, sys.unraisablehook, threading.excepthook
    telemetry.configure(scrub, level="DEBUG", to=sink)
    root.setLevel(logging.DEBUG)
    try:
        yield sink
    finally:
        root.handlers[:], level, sys.excepthook, sys.unraisablehook, threading.excepthook = kept
        root.setLevel(level)
        telemetry.set_up_events(Scrubber().text)


def logs_all_it_can() -> None:
    """What nobody should log: each secret in a field, in a record of a library, and in a traceback."""
    log.debug("told", text=TOLD, deep={"deep": [TOLD]})
    logging.getLogger("some.library").debug("told %s", {"said": TOLD})
    try:
        raise RuntimeError(TOLD)
    except RuntimeError:
        log.exception("told")
        logging.getLogger("some.library").exception("told")
    asyncio.get_running_loop().call_exception_handler({"message": TOLD, "exception": ValueError(TOLD)})


@contextlib.asynccontextmanager
async def passed_through(database_url, scrubber: Scrubber):
    """Every secret has come in by every way, and everything that came of it is there to be read."""
    options = SlackOptions(bot_token=PLANTED["bot token"], app_token=PLANTED["app token"], retry_delays=(0, 1, 5))
    address = database_url.replace("postgres:@", f"postgres:{PLANTED['database password']}@")
    async with Stage.open(database_url, options) as stage, OwnModel.running(leaky(stage.targets.url)) as model:
        stage.targets.bodies["/leaky"] = (TOLD.encode(), "text/plain")
        stage.environment |= OF_THE_SETTINGS | {"DATABASE_URL": address, "OPENAI_BASE_URL": model.url}
        stage.scrubber = scrubber
        with everything_is_logged(scrubber.text) as sink:
            await stage.start()
            root = await stage.slack.say(BEN, INCIDENTS, f"before you came: {TOLD}")
            thread = Thread(stage, INCIDENTS, root.ts)
            await thread.says(f"@Steersman look: {TOLD}", by=ANA)
            await thread.settled()
            await thread.card("done")
            await thread.says(f"@Steersman {REFUSED}: {TOLD}", by=ANA)
            await thread.settled(2)
            await thread.card("failed")
            await stage.slack.wait_for(thread.answers)
            logs_all_it_can()
        yield stage, model, thread, sink.getvalue()


async def all_that_can_be_read(stage, model, logged) -> dict[str, str]:
    """Every place in which something is written down or shown."""
    return {
        "log": logged,
        "database": await rows_of(stage.reader),
        "Slack": shown_in(stage.slack),
        "prompts": model.prompts,
        "targets": "\n".join(stage.targets.asked),
    }


def scrubber_of(stage_environment) -> Scrubber:
    return Scrubber([*stage_environment.values(), PLANTED["database password"]])


async def test_twelve_secrets_pass_through_a_run_and_none_stands_anywhere(database_url):
    async with passed_through(database_url, scrubber_of(OF_THE_SETTINGS)) as (stage, model, thread, logged):
        places = await all_that_can_be_read(stage, model, logged)
        answer = words_of(thread.answers()[0])

        # Each has come in: with the settings, from people, from a tool and from the model.
        people = "\n".join(message.text for message in stage.slack.workspace.messages.values() if message.user == ANA)
        assert found_in(people) == found_in(model.said[0].text) == set(PLANTED)
        assert model.said[0].calls[4][1]["note"] == [TOLD, {TOLD: TOLD}]
        assert "/leaky" in stage.targets.paths
        assert model.keys == {PLANTED["model key"]}
        assert {place: found_in(text) for place, text in places.items() if found_in(text)} == {}
        assert "What I found" in answer
        assert "[redacted]" in answer


async def test_a_call_that_would_carry_a_secret_out_is_refused_and_says_so(database_url):
    async with passed_through(database_url, scrubber_of(OF_THE_SETTINGS)) as (stage, model, _thread, _logged):
        rows = await stage.reader.fetch("select tool, outcome, blocked_by from tool_calls order by round, position")

        assert [tuple(row) for row in rows] == [
            ("http_get", "ok", None),
            ("http_get", "blocked", "secret"),
            ("http_get", "blocked", "secret"),
            ("http_get", "blocked", "secret"),
            ("tool-[redacted]", "blocked", "unknown tool"),
        ]
        assert stage.targets.paths == ["/leaky"]
        assert "stands where a secret was taken out" in model.prompts


async def test_with_the_scrubber_off_each_secret_is_found_in_every_place(database_url):
    async with passed_through(database_url, NoScrubber()) as (stage, model, _thread, logged):
        places = await all_that_can_be_read(stage, model, logged)

        for place in ("log", "database", "Slack", "prompts"):
            assert found_in(places[place]) == set(PLANTED), place
        assert found_in(places["targets"]) >= {"key in a query"}


@pytest.mark.parametrize("command", ["serve", "work", "migrate"])
def test_a_command_that_cannot_begin_says_one_line_without_the_secrets_of_its_settings(command):
    address = f"postgresql://ana:{PLANTED['database password']}@127.0.0.1:9/none"
    environment = {"PATH": "", **OF_THE_SETTINGS, "DATABASE_URL": address, "STEERSMAN_MODEL": "openai:m"}

    ended = subprocess.run(
        [sys.executable, "-m", "bot", command], cwd=ROOT, env=environment, text=True, capture_output=True, check=False
    )

    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert found_in(ended.stdout + ended.stderr) == set()
