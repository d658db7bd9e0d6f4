"""What stands around a worker while its brake is measured: a local Slack, and the publisher of cards, as one process.

One JSON object a line, both ways. The first line says the database and the model; the answer says where Slack is.
Each further line makes the root of a thread, and is answered with its Slack time. It ends with its input.
"""

import asyncio
import json
import sys
from collections.abc import Mapping

from benchmarks.cost import ANA, CHANNEL
from bot.app.assembly import App
from bot.app.slack import connect_slack
from bot.playground.local_slack import LocalSlack
from bot.settings.environment import Settings
from bot.settings.sections import ConfigFile
from storage.engine import Database


def environment(url: str, slack_url: str, model_url: str) -> Mapping[str, str]:
    """The environment of the worker and of the publisher."""
    return {
        "DATABASE_URL": url,
        "SLACK_BOT_TOKEN": "xoxb-playground",
        "SLACK_APP_TOKEN": "xapp-playground",
        "SLACK_API_URL": f"{slack_url}/api/",
        "STEERSMAN_MODEL": "openai:scripted",
        "OPENAI_API_KEY": "key-of-the-benchmarks",
        "OPENAI_BASE_URL": model_url,
    }


async def main() -> None:
    """Stand, until the input ends."""
    loop = asyncio.get_running_loop()
    told = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    async with LocalSlack.running() as slack:
        settings = Settings(environment(told["url"], slack.url, told["model"]), ConfigFile())
        app = App(settings, Database(told["url"]), await connect_slack(settings.slack()))
        publisher = asyncio.create_task(app.publisher().run())
        _say({"slack": slack.url})
        while await loop.run_in_executor(None, sys.stdin.readline):
            _say({"ts": (await slack.say(ANA, CHANNEL, "The alert of db-3.")).ts})
        publisher.cancel()
        await asyncio.gather(publisher, return_exceptions=True)
        await app.database.close()


def _say(what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
