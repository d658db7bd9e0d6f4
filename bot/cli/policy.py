"""`steersman policy`: a channel's own rows of the steer policy, and why a message got its verdict.

A row is checked by the rules before it is stored, and holds within a second in every process.
"""

import getpass
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.running import run, settings_of_environment
from bot.errors import SettingsError
from bot.rules.audit_chain import at_text
from bot.rules.permalinks import parse_link
from bot.rules.policy_words import sentence
from bot.rules.steer_policy import PHASES, STEER_POLICY, may_be
from bot.rules.terms import Phase, Source, Verdict

if TYPE_CHECKING:
    from storage.engine import Transaction
    from storage.policies import OwnRow, RowKey

policy = typer.Typer(help="Show and change what messages do in a channel.", no_args_is_help=True)

CHANNEL_FORM = "Give the channel's id, such as C0INCIDENTS: in Slack it stands at the end of the channel's details"
Channel = Annotated[str, typer.Option(help="The channel's id.")]
From = Annotated[Source, typer.Option(help="Who writes.")]
Interject = Annotated[str, typer.Option(help="Whether it addresses the bot: yes or no.")]
While = Annotated[Phase, typer.Option(help="What the thread is doing.")]
Team = Annotated[str | None, typer.Option(help="The workspace's id, where the database knows more than one.")]
By = Annotated[str | None, typer.Option(help="Who changes it; the user of this machine unless given.")]


@policy.command()
def show(
    channel: Annotated[str | None, typer.Option(help="One channel, with every row; else all channels' own.")] = None,
    team: Team = None,
) -> None:
    """Print what messages do in a channel, its own rows marked with *; or every channel's own rows."""
    run(lambda: _show(channel, team))


@policy.command("set")
def set_row(  # noqa: PLR0913, PLR0917 - each one is an option of the command
    channel: Channel,
    source: From,
    interject: Interject,
    phase: While,
    verdict: Annotated[Verdict, typer.Option(help="What becomes of such a message.")],
    team: Team = None,
    by: By = None,
) -> None:
    """Give a channel a row of its own."""
    run(lambda: _set((channel, source, interject, phase), verdict, team, by))


@policy.command()
def unset(  # noqa: PLR0913, PLR0917 - each one is an option of the command
    channel: Channel, source: From, interject: Interject, phase: While, team: Team = None, by: By = None
) -> None:  # fmt: skip
    """Give a row back to the default."""
    run(lambda: _set((channel, source, interject, phase), None, team, by))


@policy.command()
def explain(link: Annotated[str, typer.Argument(help="A link to a message, as Slack copies it.")]) -> None:
    """Print what became of a message, the row that said so, and what the row means."""
    run(lambda: _explain(link))


async def _show(channel: str | None, team: str | None) -> None:
    settings = settings_of_environment()
    from bot.app.database import reading
    from storage.policies import own_rows

    async with reading(settings) as tx:
        rows = await own_rows(tx, await _team(tx, team), channel)
    for line in _table(rows) if channel else map(_own, rows):
        typer.echo(line)
    if not rows:
        typer.echo("No row is a channel's own." if channel is None else f"No row is {channel}'s own.", err=True)


async def _set(row: tuple[str, Source, str, Phase], verdict: Verdict | None, team: str | None, by: str | None) -> None:
    _check(row, verdict)
    settings = settings_of_environment()
    from bot.app.database import opened
    from storage.policies import RowKey, put, take_away

    channel, source, interject, phase = row
    who = by or f"cli:{getpass.getuser()}"
    async with opened(settings) as database, database.transaction() as tx:
        key = RowKey(await _team(tx, team), channel, source, interject == "yes", phase)
        if verdict is not None:
            await put(tx, key, verdict, who)
        elif not await take_away(tx, key, who):
            typer.echo("That row is not the channel's own; nothing was changed.", err=True)
            return
    typer.echo(_changed(key, verdict, who))


async def _explain(link: str) -> None:
    named = parse_link(link)
    if named is None:
        raise SettingsError("LINK", "it is no link to a message", "Copy it from the message's menu in Slack")
    settings = settings_of_environment()
    from bot.app.database import reading
    from storage.policies import judged, teams

    async with reading(settings) as tx:
        found = await judged(tx, await teams(tx), named.channel_id, named.ts)
    if found is None:
        raise SettingsError("LINK", "that message was never seen", "Look whether I am in that channel")
    typer.echo(f"verdict   {found.verdict}")
    typer.echo(f"row       {found.row or '-'}")
    typer.echo(f"received  {at_text(found.received_at)}")
    typer.echo(f"run       {found.run_id or '-'}")
    typer.echo(sentence(found.verdict, found.row))


def _check(row: tuple[str, Source, str, Phase], verdict: Verdict | None) -> None:
    channel, source, interject, phase = row
    if not (channel[:1] in set("CDG") and channel.isalnum() and channel.isupper()):
        raise SettingsError("--channel", f"{channel!r} is no channel's id", CHANNEL_FORM)
    if interject not in {"yes", "no"}:
        raise SettingsError("--interject", f"{interject!r} is neither yes nor no", "Write yes or no")
    possible = may_be(source, interject == "yes", phase)
    if verdict is not None and verdict not in possible:
        said = f"{verdict} is not allowed for {source}/{interject}/{phase}"
        ways = f"Take one of {', '.join(sorted(possible))}" if possible else "This row cannot be changed"
        raise SettingsError("--verdict", said, ways)


async def _team(tx: "Transaction", given: str | None) -> str:
    from storage.policies import teams

    if given is not None:
        return given
    known = await teams(tx)
    if len(known) != 1:
        said = f"the database knows {', '.join(known)}" if known else "the database knows no workspace yet"
        raise SettingsError("--team", said, "Give the workspace's id, such as T0123456")
    return known[0]


def _table(rows: Sequence["OwnRow"]) -> list[str]:
    """Every row of the table as it holds in this channel."""
    own = {(row.source, row.interject, row.phase): row for row in rows}
    widths = (12, 11, *(max(len(phase.value), 9) for phase in PHASES))
    lines = [_padded(("source", "interject?", *(phase.value for phase in PHASES)), widths)]
    for source in Source:
        for interject in (False, True):
            cells = [_cell(own, source, interject, phase) for phase in PHASES]
            lines.append(_padded((source.value, "yes" if interject else "no", *cells), widths))
    return [*lines, *map(_own, rows)]


def _cell(own: dict[tuple[str, bool, str], "OwnRow"], source: Source, interject: bool, phase: Phase) -> str:
    row, default = own.get((source.value, interject, phase.value)), STEER_POLICY[source, interject, phase]
    if row is not None and row.verdict in may_be(source, interject, phase):
        return f"{row.verdict}*"
    return "-" if default is None else default.value


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _own(row: "OwnRow") -> str:
    how = "yes" if row.interject else "no"
    return (
        f"{row.channel_id} {row.source}/{how}/{row.phase} {row.verdict}"
        f" (set by {row.set_by or 'nobody'} at {at_text(row.set_at)})"
    )


def _changed(key: "RowKey", verdict: Verdict | None, who: str) -> str:
    row = f"{key.source}/{'yes' if key.interject else 'no'}/{key.phase}"
    default = STEER_POLICY[key.source, key.interject, key.phase]
    return f"{key.channel_id} {row}: {verdict or f'{default} again, the default'} (set by {who})"
