"""`steersman runs list` and `steersman runs stop`: the runs that have not ended, for whoever runs Steersman."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.running import run, settings_of_environment
from bot.cli.who import who

if TYPE_CHECKING:
    from collections.abc import Sequence

    from storage.commands import Commanded
    from storage.unsettled import Unsettled

runs = typer.Typer(help="List runs that have not ended, and stop them.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
RunId = Annotated[str | None, typer.Argument(metavar="ID", help="The id of a run, as `runs list` shows it.")]
All = Annotated[bool, typer.Option("--all", help="Every run that has not ended.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, for the record.")]

NO_SUCH_RUN = 1


@runs.command("list")
def show(as_json: AsJson = False) -> None:
    """List the runs that have not ended, the oldest first."""
    run(lambda: _show(as_json))


@runs.command()
def stop(run_id: RunId = None, every: All = False, reason: Reason = "") -> None:
    """Stop a run, or all of them.

    It needs the database alone, and works with every worker down. Runs that are asked for afterwards start as ever;
    `steersman halt` is what keeps them from starting.
    """
    if (run_id is None) is not every:
        raise typer.BadParameter("name one run, or --all")
    found = run(lambda: _stop(run_id, reason))
    if run_id is not None and not found:
        typer.echo(f"There is no run {run_id}.", err=True)
        raise typer.Exit(NO_SUCH_RUN)


async def _show(as_json: bool) -> None:
    # Loading the bot takes seconds: what can be said without it is said first.
    settings = settings_of_environment()
    from bot.app.operator import operator

    async with operator(settings, who()) as desk:
        found = await desk.runs()
    lines = [json.dumps(_facts(each)) for each in found] if as_json else _table(found)
    for line in lines:
        typer.echo(line)


async def _stop(run_id: str | None, reason: str) -> "Sequence[tuple[str, Commanded]]":
    settings = settings_of_environment()
    from bot.app.operator import operator

    async with operator(settings, who()) as desk:
        done = await desk.stop(run_id, reason) if run_id else None
        stopped = [(run_id, done)] if run_id and done else [] if run_id else await desk.stop_all(reason)
    for each, what in stopped:
        typer.echo(f"{each}  {what.result.value.replace('_', ' ')}")
    return stopped


def _facts(each: "Unsettled") -> dict[str, object]:
    return {
        "id": each.run_id,
        "channel": each.channel_id,
        "thread": each.thread_ts,
        "state": each.state.value,
        "since": each.since.isoformat(),
        "requested_by": each.requested_by,
        "title": each.title,
        "worker": each.worker,
        "held_by": each.held_by,
    }


def _table(found: "Sequence[Unsettled]") -> list[str]:
    """A line a run; a title is what somebody wrote, so it stands last and on one line."""
    if not found:
        return ["Every run has ended."]
    rows = [("ID", "THREAD", "STATE", "SINCE", "REQUESTED BY", "WORKER", "TITLE")]
    rows += [
        (
            each.run_id,
            f"{each.channel_id}/{each.thread_ts}",
            f"{each.state.value}{f' ({each.held_by})' if each.held_by else ''}",
            f"{each.since:%Y-%m-%d %H:%M:%S}",
            each.requested_by,
            each.worker or "-",
            "".join(letter if letter.isprintable() else " " for letter in each.title)[:80],
        )
        for each in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
    ]
