"""`steersman serve`: the Slack edge and a worker in one process."""

import asyncio

from bot.cli.running import drain, settings_of_environment


def serve() -> None:
    """Answer in Slack: the Slack edge and a worker in one process.

    SIGTERM drains it: its runs suspend at their next cut point, and another worker goes on with them.
    Without DATABASE_URL an embedded PostgreSQL is started in STEERSMAN_DATA, and used again at the next start.
    """
    drain(_serve)


async def _serve(asked_to_end: asyncio.Event) -> None:
    settings = settings_of_environment()
    slack, _ = settings.slack(), settings.model()
    # Loading the bot takes seconds: what can be said without it is said first.
    from bot.app.assembly import running

    async with running(settings) as app:
        await app.serve(slack.app_token, asked_to_end)
