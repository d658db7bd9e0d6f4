"""`steersman work`: a worker alone."""

from bot.cli.running import run, settings_of_environment


def work() -> None:
    """Run a worker alone; many may share one database.

    SIGTERM hands its runs back: another worker goes on with them at once.
    """
    run(_work)


async def _work() -> None:
    settings = settings_of_environment()
    settings.model()
    # Loading the bot takes seconds: what can be said without it is said first.
    from bot.app.assembly import running

    async with running(settings) as app:
        await app.work()
