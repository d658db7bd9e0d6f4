"""`steersman halt` and `steersman unhalt`: everything stops, and starts again only when it is asked for."""

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.running import run, settings_of_environment
from bot.cli.who import who

if TYPE_CHECKING:
    from storage.halts import Halt

Reason = Annotated[str, typer.Option("--reason", help="Why; everybody who asks meanwhile is told.")]
Status = Annotated[
    bool, typer.Option("--status", help="Only say whether a halt stands; exit code 0 if one does, else 1.")
]


def halt(reason: Reason = "", status: Status = False) -> None:
    """Stop every run, and let none start until `steersman unhalt`.

    It needs the database alone, and works with every worker down.
    """
    if status and not run(_status):
        raise typer.Exit(1)
    if not status:
        run(lambda: _halt(reason))


def unhalt() -> None:
    """Let runs start again; nothing starts by itself, people ask again."""
    run(_unhalt)


async def _halt(reason: str) -> None:
    # Loading the bot takes seconds: what can be said without it is said first.
    settings = settings_of_environment()
    from bot.app.operator import operator

    async with operator(settings, who()) as desk:
        stands = await desk.halt(reason)
        left = len(await desk.runs())
    typer.echo(f"Halted: {_told(stands)}. {_runs(left)}")


async def _unhalt() -> None:
    settings = settings_of_environment()
    from bot.app.operator import operator

    async with operator(settings, who()) as desk:
        was = await desk.unhalt()
    typer.echo(f"Lifted: {_told(was)}. Nothing starts by itself." if was else "No halt stood.")


async def _status() -> bool:
    settings = settings_of_environment()
    from bot.app.operator import operator

    async with operator(settings, who()) as desk:
        stands = await desk.halted()
    typer.echo(f"A halt stands: {_told(stands)}." if stands else "No halt stands.")
    return stands is not None


def _told(halt: "Halt") -> str:
    why = f" ({halt.reason})" if halt.reason else ""
    return f"by {halt.set_by} since {halt.set_at:%Y-%m-%d %H:%M:%S %Z}{why}"


def _runs(left: int) -> str:
    return f"{left} run{'' if left == 1 else 's'} still ending." if left else "No run is left."
