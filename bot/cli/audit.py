"""`steersman audit`: what every call did, as lines of JSON, and whether the chain of the audit is whole.

It only reads. A row that was changed, moved, put in or taken out is found by the chain itself; an end that was cut off
only by a hash that was kept elsewhere.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.running import run, settings_of_environment
from bot.errors import SettingsError
from bot.rules.audit_chain import Fault, at_text, faults, missing, overall
from bot.rules.audit_export import ATTEMPT_FIELDS, FIELDS
from bot.rules.permalinks import parse_link

if TYPE_CHECKING:
    from storage.audit_rows import AuditRow, Wanted
    from storage.engine import Transaction

NOT_WHOLE = 1
"""The exit code where the chain is not whole."""
MOST_SHOWN = 100
"""Faults that are told one by one."""
TIME_FORM = "Write it as 2026-12-01 or 2026-12-01T09:30, in UTC, or with an offset such as +02:00"

audit = typer.Typer(help="Read the audit: export it, print its newest hashes, verify its chain.", no_args_is_help=True)


@audit.command()
def export(
    thread: Annotated[str | None, typer.Option(help="A thread: its id, or a link to a message in it.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="A run, by its id.")] = None,
    since: Annotated[str | None, typer.Option(help="Calls since then: 2026-12-01 or 2026-12-01T09:30, UTC.")] = None,
) -> None:
    """Print the calls, one JSON object a line, oldest first; without an option all of them."""
    run(lambda: _export(thread, run_id, since))


@audit.command()
def head() -> None:
    """Print the newest hash of every thread, and one hash over all of them.

    Keep what it prints somewhere else: `audit verify --heads FILE` then finds an end that was cut off. The hash over
    all of them stays the same only as long as nothing is added.
    """
    run(_head)


@audit.command()
def verify(
    kept: Annotated[
        list[str] | None, typer.Option("--head", help="A thread's hash that was kept; may be given many times.")
    ] = None,
    heads: Annotated[
        typer.FileText | None, typer.Option(help="A file that holds what `audit head` printed; - for stdin.")
    ] = None,
) -> None:
    """Check every entry against the one before it; exit code 1 where anything is wrong."""
    every = [*(kept or []), *(_hashes(heads.read()) if heads else [])]
    if run(lambda: _verify(every)):
        raise typer.Exit(NOT_WHOLE)


async def _export(thread: str | None, run_id: str | None, since: str | None) -> None:
    settings = settings_of_environment()
    from bot.app.database import opened
    from storage.audit_rows import page

    async with opened(settings) as database:
        async with database.transaction() as tx:
            wanted = await _wanted(tx, thread, run_id, since)
            rows = await page(tx, wanted)
        while rows:
            typer.echo("\n".join(map(line_of, rows)))
            async with database.transaction() as tx:
                rows = await page(tx, wanted, rows[-1])


async def _head() -> None:
    settings = settings_of_environment()
    from bot.app.database import reading
    from storage.audit_chain import heads

    async with reading(settings) as tx:
        newest = await heads(tx)
    for thread_id, number, newest_hash in newest:
        typer.echo(f"{newest_hash}  {thread_id}  {number}")
    typer.echo(f"{overall(newest)}  all {len(newest)} chains")


async def _verify(kept: Sequence[str]) -> bool:
    """Whether anything is wrong."""
    settings = settings_of_environment()
    from bot.app.database import reading
    from storage.audit_chain import chains

    found: list[Fault] = []
    present: set[str] = set()
    newest: list[tuple[str, int, str]] = []
    entries = 0
    async with reading(settings) as tx:
        async for links in chains(tx):
            found += faults(links)
            entries += len(links)
            newest.append((links[-1].thread_id, links[-1].seq, links[-1].hash))
            present |= {link.hash for link in links} & set(kept)
    gone = missing(kept, present | {overall(newest)})
    _tell(found, gone)
    whole = "not whole" if found or gone else "each follows the one before"
    typer.echo(f"{entries} entries in {len(newest)} chains: {whole}")
    return bool(found or gone)


def _hashes(printed: str) -> list[str]:
    """The hashes of single chains in what `audit head` printed."""
    lines = [line.split() for line in printed.splitlines()]
    return [words[0] for words in lines if len(words) > 1 and words[1] != "all"]


def _tell(found: Sequence[Fault], gone: Sequence[str]) -> None:
    for fault in found[:MOST_SHOWN]:
        typer.echo(f"thread {fault.thread_id}, entry {fault.seq}: {fault.what}", err=True)
    if len(found) > MOST_SHOWN:
        typer.echo(f"and {len(found) - MOST_SHOWN} more", err=True)
    for each in gone:
        typer.echo(f"{each}: no entry has this hash; the end of its chain was cut off or written anew", err=True)


def line_of(row: "AuditRow") -> str:
    """One line of the export; the fields are those of bot.rules.audit_export, in their order."""
    values = {name: getattr(row, name) for name in FIELDS}
    values["attempts"] = [{name: asdict(each)[name] for name in ATTEMPT_FIELDS} for each in row.attempts]
    return json.dumps(values, ensure_ascii=False, default=at_text)


async def _wanted(tx: "Transaction", thread: str | None, run_id: str | None, since: str | None) -> "Wanted":
    from storage.audit_rows import Wanted, thread_at

    link = parse_link(thread) if thread else None
    if link is not None:
        thread = await thread_at(tx, link.channel_id, link.thread_ts)
        if thread is None:
            raise SettingsError("--thread", "no analysis has run in that thread", "Take a link from the right thread")
    return Wanted(thread, run_id, _moment(since) if since else None)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise SettingsError("--since", f"{text!r} is no time", TIME_FORM) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
