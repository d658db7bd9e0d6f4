"""The command line: which commands there are. Each has a file of its own; nothing is decided here."""

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from bot.cli.audit import audit
from bot.cli.demo import demo
from bot.cli.egress import egress
from bot.cli.halt import halt, unhalt
from bot.cli.listen import listen
from bot.cli.migrate import migrate
from bot.cli.policy import policy
from bot.cli.runs import runs
from bot.cli.serve import serve
from bot.cli.work import work

commands = typer.Typer(
    name="steersman",
    help="A Slack bot for SRE teams: analysis runs that you can watch, steer, pause and stop.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    # A drawn traceback shows the values of variables, and some of them are secrets.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (serve, work, listen, migrate, halt, unhalt, demo):
    commands.command()(_command)
commands.add_typer(runs, name="runs")
commands.add_typer(audit, name="audit")
commands.add_typer(policy, name="policy")
commands.add_typer(egress, name="egress")


def _show_version(wanted: bool) -> None:
    if not wanted:
        return
    try:
        typer.echo(f"steersman {version('steersman')}")
    except PackageNotFoundError:
        typer.echo("steersman, from a checkout that is not installed")
    raise typer.Exit


@commands.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass
