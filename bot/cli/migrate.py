"""`steersman migrate`: brings a database to the newest tables."""

import typer

from bot.app import migrated
from bot.cli.running import run, settings_of_environment


def migrate() -> None:
    """Bring the database to the newest tables; nothing happens where it has them.

    It is the one of DATABASE_URL, or the embedded one.
    """
    run(_migrate)


async def _migrate() -> None:
    changed = await migrated(settings_of_environment())
    typer.echo("The database has the newest tables now." if changed else "The database has the newest tables already.")
