"""`steersman demo`: the whole flow on this machine, for a person at the page or as four stories without one."""

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bot import telemetry
from bot.cli.demo_stage import StageOptions, real_model, staged
from bot.cli.demo_stories import Line, are_as_they_should_be, tell_stories
from bot.cli.running import run
from bot.errors import SettingsError
from bot.rules.redaction import Scrubber
from bot.settings import ConfigFile, Settings

PORT = 8911
LIMIT_S = 90.0
ONCE_PACE = 0.1
"""Nobody reads along, so the scripted model needs no person's pace."""
ENDED_BY_SIGNAL = 130
WHAT_TO_DO = """
Open the page and write in #incidents:  @Steersman why is checkout slow?
Any reply in the thread steers it:      look at the gateway
Pause and Stop are buttons on the card. Ctrl-C ends the demo.
"""


class Breakable(StrEnum):
    """What the demo can be run without, to see that its judge notices."""

    PUBLISHER = "publisher"


def demo(  # noqa: PLR0913, PLR0917 - an argument is an option of the command line
    data: Annotated[Path, typer.Option(help="Where PostgreSQL and the log are kept.")] = Path(".demo"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The page's port; the next free one where it is taken.")] = PORT,
    once: Annotated[bool, typer.Option("--once", help="Tell four stories without a person, and judge them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --once: one JSON object a line on stdout.")] = False,
    broken: Annotated[
        Breakable | None, typer.Option("--break", help="With --once: leave a part out; the exit code is then 1.")
    ] = None,
    limit: Annotated[float, typer.Option(min=1.0, help="With --once: seconds that the stories may take.")] = LIMIT_S,
) -> None:  # fmt: skip
    """Run the whole flow on this machine: PostgreSQL, a playground in place of Slack, a sick service, the bot.

    A scripted model investigates; with STEERSMAN_MODEL and its key set, a real one does.

    --once tells four stories with the scripted model: completed, steered, stopped, paused and resumed. It prints one
    line for each run that they settle. Each thread is then asked once more, and history_valid says whether the request
    that this caused keeps the pairing rules; the runs of those further questions are not printed. The exit code is 0
    when all is as it should be, else 1.
    """
    options = StageOptions(data, 0 if once else port, os.environ, publishes=broken is not Breakable.PUBLISHER)
    if not once:
        run(lambda: _show(options))
        return
    lines = run(lambda: _once(replace(options, environment={}, pace=ONCE_PACE), limit))
    if lines is None:
        raise typer.Exit(ENDED_BY_SIGNAL)
    _print(lines, as_json)
    raise typer.Exit(0 if are_as_they_should_be(lines) else 1)


async def _show(options: StageOptions) -> None:
    chosen = real_model(options.environment)
    _log_to_file(options.data, Settings(chosen, ConfigFile()).secrets())
    async with staged(options, _tell_person):
        typer.echo(WHAT_TO_DO)
        await asyncio.Event().wait()


async def _once(options: StageOptions, limit_s: float) -> list[Line]:
    _log_to_file(options.data, ())
    async with staged(options, _tell_apart) as stage:
        return await tell_stories(stage, limit_s, _tell_apart)


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


def _print(lines: Sequence[Line], as_json: bool) -> None:
    if as_json:
        for line in lines:
            typer.echo(json.dumps(line.to_json()))
        return
    table = Table("story", "run", "reason", "final event", "card", "history")
    for line in lines:
        final = "-" if line.run.final_event_id is None else str(line.run.final_event_id)
        card = line.card.state if line.card else "none"
        history = "valid" if line.history_valid else "not valid"
        table.add_row(line.story, line.run.run_id[-8:], str(line.run.reason), final, card, history)
    Console().print(table)
