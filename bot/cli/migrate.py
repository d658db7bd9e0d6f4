"""`steersman migrate`: brings a database to the newest tables."""

import typer

from bot.cli.running import run, settings_of_environment


def migrate() -> None:
    """Bring the database to the newest tables; nothing happens where it has them.

    It is the one of DATABASE_URL, or the embedded one.
    """
    run(_migrate)


async def _migrate() -> None:
    settings = settings_of_environment()
    # Loading the bot takes seconds: what can be said without it is said first.
    from bot.app.database import migrated

    changed = await migrated(settings)
    typer.echo("The database has the newest tables now." if changed else "The database has the newest tables already.")
