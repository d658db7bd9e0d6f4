"""`steersman work`: a worker alone."""

import asyncio

from bot.cli.running import drain, settings_of_environment


def work() -> None:
    """Run a worker alone; many may share one database.

    SIGTERM drains it: its runs suspend at their next cut point, and another worker goes on with them.
    """
    drain(_work)


async def _work(asked_to_end: asyncio.Event) -> None:
    settings = settings_of_environment()
    settings.model()
    # Loading the bot takes seconds: what can be said without it is said first.
    from bot.app.assembly import running

    async with running(settings) as app:
        await app.work(asked_to_end)
