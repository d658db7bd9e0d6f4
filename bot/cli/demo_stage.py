"""Sets the demo up: PostgreSQL, the sick service, the playground, the model and the bot, all on this machine.

What it starts it ends, in the opposite order. It reads no setting but the model's: the demo touches no real Slack and
no database of anybody.
"""

import asyncio
import errno
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path

from bot.app.assembly import App, running
from bot.app.ids import mint_id
from bot.errors import SettingsError
from bot.llm.scripted import load_script
from bot.playground.cast import ONCALL
from bot.playground.local_slack import LocalSlack, SlackOptions
from bot.playground.model_server import MODEL, ModelServer
from bot.playground.sick_service import SERVICE, SickService
from bot.settings.environment import Settings
from bot.settings.sections import ConfigFile
from storage.embedded import EmbeddedPostgres
from storage.migrations import migrate
from storage.scratch import scratch

Tell = Callable[[str, str], None]
"""Told of each step of the start: what it is, and where or how."""

PORTS_TRIED = 50
CONNECT_S = 20.0
KEY = "playground"
"""What the scripted model server takes for a key; it opens nothing else."""
MODEL_SETTINGS = ("STEERSMAN_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")

_FIT_FOR_A_SOCKET = re.compile(r"[A-Za-z0-9._/+-]{1,80}")
"""A Unix socket's path may have about 100 characters, and the server is given it unquoted."""


@dataclass(frozen=True, slots=True)
class StageOptions:
    """Where the demo keeps its data, the page's port, the model's settings, and how it departs from the usual.

    `pace` stretches the delays of the scripted model, 0 leaves them out.
    """

    data: Path
    port: int
    environment: Mapping[str, str]
    pace: float = 1.0
    publishes: bool = True


@dataclass(frozen=True, slots=True)
class Stage:
    """The demo while it runs; `model` is None where a real one is asked."""

    slack: LocalSlack
    sick: SickService
    model: ModelServer | None
    database_url: str


@asynccontextmanager
async def staged(options: StageOptions, tell: Tell) -> AsyncIterator[Stage]:
    """Start everything; raises SettingsError or DatabaseUnavailableError for what a person must mend."""
    async with AsyncExitStack() as stack:
        database_url = await _database(stack, options.data, tell)
        sick = await stack.enter_async_context(SickService.running())
        tell("sick service", sick.url)
        slack = await _playground(stack, options.port, sick)
        tell("playground", f"{slack.url}/api/")
        model, model_settings = await _model(stack, options, sick)
        tell("model", model_settings["STEERSMAN_MODEL"] if model is None else "scripted, asked over HTTP")
        app = await stack.enter_async_context(running(_settings(database_url, slack, sick, model_settings)))
        await stack.enter_async_context(_at_work(app, slack, options.publishes))
        await slack.wait_for(lambda: slack.socket_mode.sockets, CONNECT_S)
        tell("bot", "connected")
        tell("page", slack.url)
        yield Stage(slack, sick, model, database_url)


def real_model(environment: Mapping[str, str]) -> dict[str, str]:
    """The model's settings where one is set, else nothing; raises SettingsError where they are not whole."""
    found = {name: value for name in MODEL_SETTINGS if (value := environment.get(name))}
    if "STEERSMAN_MODEL" not in found:
        return {}
    Settings(found, ConfigFile()).model()
    return found


def postgres_folder(data: Path) -> Path:
    """Where PostgreSQL lives: in the data folder, or in the temporary one where its path is too long for a socket."""
    folder = data.expanduser().resolve() / "postgres"
    if _FIT_FOR_A_SOCKET.fullmatch(str(folder)):
        return folder
    name = sha256(os.fsencode(folder)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"steersman-demo-{name}" / "postgres"


async def _database(stack: AsyncExitStack, data: Path, tell: Tell) -> str:
    folder = postgres_folder(data)
    # In a thread, so that a signal is heard while a first start takes its seconds.
    server = await asyncio.to_thread(EmbeddedPostgres, folder)
    stack.callback(server.stop)
    url = await stack.enter_async_context(scratch(server, f"demo_{mint_id()[:12]}"))
    await migrate(url)
    tell("PostgreSQL", f"embedded, in {_shown(folder)}")
    return url


def _shown(folder: Path) -> str:
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)


async def _playground(stack: AsyncExitStack, port: int, sick: SickService) -> LocalSlack:
    """The playground on the port, or on the next one that is free."""
    for each in range(port, min(port + PORTS_TRIED, 65536)) if port else (0,):
        try:
            return await stack.enter_async_context(LocalSlack.running(SlackOptions(port=each, facts=sick.facts)))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise SettingsError("--port", f"{each}: {error.strerror}", "Name another port") from error
    raise SettingsError("--port", f"no port is free from {port} on", "Name another port")


async def _model(
    stack: AsyncExitStack, options: StageOptions, sick: SickService
) -> tuple[ModelServer | None, Mapping[str, str]]:
    chosen = real_model(options.environment)
    if chosen:
        return None, chosen
    with resources.as_file(resources.files("bot.playground").joinpath("scripts/demo.toml")) as path:
        script = load_script(path)
    server = await stack.enter_async_context(
        ModelServer.running(script, KEY, variables={"SICK_URL": sick.url}, pace=options.pace)
    )
    return server, {
        "STEERSMAN_MODEL": f"openai:{MODEL}",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{server.url}/v1",
    }


def _settings(database_url: str, slack: LocalSlack, sick: SickService, model: Mapping[str, str]) -> Settings:
    """What an operator would write in the environment and in steersman.toml."""
    address = sick.url.removeprefix("http://")
    egress = {"allow": [sick.url, restart_rule(sick.url)], "loopback": [{"address": address}]}
    config = ConfigFile.model_validate({"egress": egress, "actions": {"restart_service": restart_action(sick.url)}})
    environment = {
        "DATABASE_URL": database_url,
        "SLACK_BOT_TOKEN": slack.options.bot_token,
        "SLACK_APP_TOKEN": slack.options.app_token,
        "SLACK_API_URL": f"{slack.url}/api/",
        **model,
    }
    return Settings(environment, config)


def restart_rule(url: str) -> Mapping[str, object]:
    """What the door has to let out for the demo's action: this one path of the sick service."""
    return {"url": f"{url}/admin/restart", "methods": ["POST"], "grade": "write"}


def restart_action(url: str) -> Mapping[str, object]:
    """The one action of the demo, on the sick service at this URL: somebody who is on call has to say yes to it."""
    return {
        "description": "Restart a service, so that it reads its settings anew. Say why.",
        "url": f"{url}/admin/restart?service={{service}}",
        "body": '{"reason": "{reason}"}',
        "parameters": {"service": {"enum": [SERVICE]}, "reason": {}},
        "title": "restart {service}",
        "approvers": [ONCALL.id],
        "idempotent": True,
    }


@asynccontextmanager
async def _at_work(app: App, slack: LocalSlack, publishes: bool) -> AsyncIterator[None]:
    """The bot at work until the block is left; what breaks in it ends the block."""
    async with asyncio.TaskGroup() as group:
        bot = group.create_task(app.serve(slack.options.app_token, publishes=publishes))
        yield
        bot.cancel()
