"""`steersman serve`: the Slack edge and a worker in one process."""

from bot.cli.running import run, settings_of_environment


def serve() -> None:
    """Answer in Slack: the Slack edge and a worker in one process.

    Without DATABASE_URL an embedded PostgreSQL is started in STEERSMAN_DATA, and used again at the next start.
    """
    run(_serve)


async def _serve() -> None:
    settings = settings_of_environment()
    slack, _ = settings.slack(), settings.model()
    # Loading the bot takes seconds: what can be said without it is said first.
    from bot.app.assembly import running

    async with running(settings) as app:
        await app.serve(slack.app_token)
