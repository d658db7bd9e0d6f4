"""`steersman demo`: its options, and what they mean together."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.running import run

PORT = 8911
LIMIT_S = 90.0
ENDED_BY_SIGNAL = 130


class Breakable(StrEnum):
    """What the demo can be run without, to see that its judge notices."""

    PUBLISHER = "publisher"


def demo(  # noqa: PLR0913, PLR0917 - an argument is an option of the command line
    data: Annotated[Path, typer.Option(help="Where PostgreSQL and the log are kept.")] = Path(".demo"),
    port: Annotated[int, typer.Option(min=1, max=65535, help="The page's port; if taken, the next free one.")] = PORT,
    once: Annotated[bool, typer.Option("--once", help="Tell five stories without a person, and judge them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --once: one JSON object a line on stdout.")] = False,
    broken: Annotated[
        Breakable | None, typer.Option("--break", help="With --once: leave a part out; the exit code is then 1.")
    ] = None,
    limit: Annotated[float, typer.Option(min=1, help="With --once: seconds that the stories may take.")] = LIMIT_S,
) -> None:
    """Run the whole flow on this machine: PostgreSQL, a playground in place of Slack, a sick service, the bot.

    A scripted model investigates; with STEERSMAN_MODEL and its key set, a real one does.

    --once tells five stories with the scripted model: completed, steered, stopped, paused and resumed, approved. It
    prints one line for each run that they settle. Each thread is then asked once more, and history_valid says whether
    the request that this caused keeps the pairing rules; the runs of those further questions are not printed. The exit
    code is 0 when all is as it should be, else 1.
    """
    if not once and (as_json or broken):
        raise typer.BadParameter("--json and --break are for --once")
    # Loading the bot takes seconds: what can be said without it is said first.
    from bot.cli.demo_acts import by_itself, for_a_person
    from bot.cli.demo_stage import StageOptions

    if not once:
        run(lambda: for_a_person(StageOptions(data, port, os.environ)))
        return
    options = StageOptions(data, port=0, environment={}, publishes=broken is not Breakable.PUBLISHER)
    code = run(lambda: by_itself(options, limit, as_json=as_json))
    raise typer.Exit(ENDED_BY_SIGNAL if code is None else code)
