"""`steersman listen`: the Slack edge alone."""

from bot.cli.running import run, settings_of_environment


def listen() -> None:
    """Run the Slack edge alone: it takes messages in, ends what hangs in a worker, and asks no model.

    Many may share one database.
    """
    run(_listen)


async def _listen() -> None:
    settings = settings_of_environment()
    slack = settings.slack()
    # Loading the bot takes seconds: what can be said without it is said first.
    from bot.app.assembly import running

    async with running(settings) as app, app.port():
        await app.listen_alone(slack.app_token)
