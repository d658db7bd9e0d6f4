"""The two ways in which the demo runs: for a person at the page, and by itself, with what it says of each."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from bot import telemetry
from bot.cli.demo_stage import StageOptions, real_model, staged
from bot.cli.demo_stories import Line, are_as_they_should_be, tell_stories
from bot.errors import SettingsError
from bot.rules.redaction import Scrubber
from bot.settings.environment import Settings
from bot.settings.sections import ConfigFile

QUICK_PACE = 0.1
"""Of the scripted model where nobody reads along."""
WHAT_TO_DO = """
Open the page and write in #incidents:  @Steersman why is checkout slow?
Any reply in the thread steers it:      look at the gateway
To see a change that needs a yes:       @Steersman restart checkout
Pause and Stop are buttons on the card. Ctrl-C ends the demo.
"""


async def for_a_person(options: StageOptions) -> None:
    """Set the demo up, say what can be done, and run until cancelled."""
    model = Settings(real_model(options.environment), ConfigFile())
    _log_to_file(options.data, model.secrets())
    async with staged(options, _tell_person):
        typer.echo(WHAT_TO_DO)
        await asyncio.Event().wait()


async def by_itself(options: StageOptions, limit_s: float, *, as_json: bool) -> int:
    """Tell the stories and print a line for each settled run; gives the exit code."""
    _log_to_file(options.data, ())
    async with staged(replace(options, pace=QUICK_PACE), _tell_apart) as stage:
        lines = await tell_stories(stage, limit_s, _tell_apart)
    _print_json(lines) if as_json else _print_table(lines)
    return 0 if are_as_they_should_be(lines) else 1


def _log_to_file(data: Path, secrets: Sequence[str]) -> None:
    """Keep the bot's log out of the way of what the demo says."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        log = (data / "demo.log").open("a", encoding="utf-8")
    except OSError as error:
        raise SettingsError("--data", f"{data}: {error.strerror}", "Name a folder that can be written") from error
    telemetry.configure(Scrubber(secrets).text, to=log)


def _tell_person(step: str, what: str) -> None:
    typer.echo(f"{step:<14}{what}")


def _tell_apart(step: str, what: str) -> None:
    """Progress goes to stderr: stdout is for the lines alone."""
    typer.echo(f"{step:<20}{what}", err=True)


def _print_json(lines: Sequence[Line]) -> None:
    for line in lines:
        typer.echo(json.dumps(line.to_json()))


def _print_table(lines: Sequence[Line]) -> None:
    table = Table("story", "run", "reason", "final event", "card", "history")
    for line in lines:
        final = "-" if line.run.final_event_id is None else str(line.run.final_event_id)
        card = line.card.state if line.card else "none"
        history = "valid" if line.history_valid else "not valid"
        table.add_row(line.story, line.run.run_id[-8:], str(line.run.reason), final, card, history)
    Console().print(table)
