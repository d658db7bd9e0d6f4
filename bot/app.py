"""Builds the parts and joins them. The only place that knows them all; it decides nothing, and runs nothing itself."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.agent.turn_loop import TurnMeans
from bot.card.answer import parts
from bot.card.publisher import Pace, Publisher, PublisherMeans
from bot.card.slack_calls import PERMANENT, SlackCalls
from bot.egress.client import EgressClient
from bot.egress.rules import EgressRules
from bot.errors import SettingsError, SlackError
from bot.interrupts.watcher import LiveRuns
from bot.llm.anthropic_messages import AnthropicMessages
from bot.llm.event_stream import Timeouts
from bot.llm.openai_chat import OpenAIChat
from bot.llm.provider import Provider
from bot.llm.scripted import ScriptedProvider, load_script
from bot.rules.inbound_message import OurIds
from bot.rules.redaction import Scrubber
from bot.settings import ModelSetting, Settings, SlackSetting
from bot.slack.earlier import Earlier
from bot.slack.edge import Edge
from bot.slack.listeners import register
from bot.slack.listeners.buttons import Buttons
from bot.slack.listeners.messages import Messages
from bot.slack.people import People
from bot.telemetry import log
from bot.tools.gate import ToolGate
from bot.tools.http_get import HttpGet
from bot.worker.claim_loop import ClaimLoop
from bot.worker.heartbeat import Heartbeat, Lease
from bot.worker.one_run import OneRun
from bot.worker.reaper import Limits, Reaper
from bot.worker.worker import Worker
from storage.changes import Changes
from storage.embedded import EmbeddedPostgres
from storage.engine import Database
from storage.inbox import Inbox, Reception
from storage.migrations import migrate
from storage.policies import Policies
from storage.presses import Presses
from storage.readiness import Readiness, require
from storage.settlement import Means

SOCKETS = 2
"""Connections for Socket Mode: Slack refreshes each every few hours, and the client opens the new one after the gap."""
SLACK_TIMEOUT_S = 10
OVERRIDES_KEPT_S = 5.0
"""Seconds after which a channel's own policy rows are read again."""
APP_TOKEN_REFUSED = PERMANENT | {"not_allowed_token_type", "no_permission", "token_expired"}


def mint_id() -> str:
    """A fresh id: 32 hexadecimal digits."""
    return uuid.uuid4().hex


def mint_call_id() -> str:
    """A fresh id of a tool call: nine letters or digits, which every dialect accepts."""
    return f"c{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class Slack:
    """Our way to one workspace."""

    calls: SlackCalls
    client: AsyncWebClient
    our: OurIds


class App:
    """The parts of one process, made when they are asked for and closed together."""

    def __init__(self, settings: Settings, database: Database, slack: Slack) -> None:
        self.settings, self.database, self.slack = settings, database, slack
        self.scrubber = Scrubber(settings.secrets())
        self.means = Means(mint_id, parts)
        self.people = People(database, slack.calls, slack.our, self.scrubber.text)
        self.edge = self._edge()

    def worker(self, live: LiveRuns | None = None) -> Worker:
        """A worker that claims and works off runs; whoever hands `live` in can watch their brakes."""
        # An empty one is false.
        limits, live = self.settings.config.limits, LiveRuns() if live is None else live
        one_run = OneRun(self._turn(), self.means, live)
        claims = ClaimLoop(self.database, self.means, one_run.work, at_once=limits.runs_at_once, poll_s=1.0)
        lease = Lease(min(1.0, limits.lease_s / 5), limits.lease_s, limits.lease_s * 0.8)
        reaper = Reaper(
            self.database,
            self.means,
            Limits(limits.lease_s, pause_s=limits.pause_hours * 3600),
            self.edge.judge_waiting,
        )
        return Worker(self.database, claims, Heartbeat(self.database, live, lease), reaper, live)

    def publisher(self, pace: Pace | None = None) -> Publisher:
        """A publisher of cards and answers."""
        means = PublisherMeans(self.database, self.slack.calls, time.time, mint_id, self.settings.key_setting)
        return Publisher(means, pace or Pace())

    async def work(self, *, publishes: bool = True) -> None:
        """Work until cancelled; without a publisher no card is ever painted and no answer posted."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.worker().run(mint_id))
            if publishes:
                group.create_task(self.publisher().run())

    async def serve(self, app_token: str, *, publishes: bool = True) -> None:
        """Work and listen until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.listen(app_token))
            group.create_task(self.work(publishes=publishes))

    async def listen(self, app_token: str) -> None:
        """Take in what Slack tells, over several connections, until cancelled; SettingsError for a refused token."""
        await check_app_token(self.slack.client, app_token)
        handlers = [AsyncSocketModeHandler(self._bolt(), app_token) for _ in range(SOCKETS)]
        try:
            await asyncio.gather(*(handler.connect_async() for handler in handlers))
            log.info("slack.connected", sockets=SOCKETS)
            await asyncio.Event().wait()
        finally:
            await asyncio.gather(*(handler.close_async() for handler in handlers), return_exceptions=True)

    def _edge(self) -> Edge:
        policy = self.settings.config.policy
        reception = Reception(self.slack.our, policy.alert_apps, policy.approvers, Policies(OVERRIDES_KEPT_S))
        desks = (Inbox(reception, self.means), Changes(reception, self.means), Presses(reception, self.means))
        return Edge(self.database, self.slack.calls, self.people, desks, time.time)

    def _bolt(self) -> AsyncApp:
        app = AsyncApp(
            # Without a token: Bolt has none to use, since `authorize` answers whose it is.
            client=AsyncWebClient(base_url=self.slack.client.base_url, retry_handlers=[], timeout=SLACK_TIMEOUT_S),
            authorize=_authorize(self.slack),
            process_before_response=True,
            # Our own echoes say where our posts stand; the inbox knows them and takes none of them in.
            ignoring_self_events_enabled=False,
        )
        register(app, Messages(self.edge, self.people, self.slack.our, self.scrubber.text), Buttons(self.edge))
        return app

    def _turn(self) -> TurnMeans:
        model, limits = self.settings.model(), self.settings.config.limits
        earlier = Earlier(self.slack.calls, self.slack.our, self.people.names, self.scrubber.text)
        return TurnMeans(
            database=self.database,
            provider=provider(model, Timeouts(idle=limits.model_idle_seconds)),
            model=model.name,
            make_gate=self._gate,
            system_prompt=resources.files("bot.agent.prompts").joinpath("system.md").read_text("utf-8"),
            mint_id=mint_id,
            read_earlier=earlier.read,
            patience_s=limits.patience_s,
            max_rounds=limits.rounds,
            answer_tokens=limits.answer_tokens,
        )

    def _gate(self) -> ToolGate:
        """The tools of one run: each run has a door of its own, because its places are the run's."""
        client = EgressClient(egress_rules(self.settings))
        tool = HttpGet(client, seconds=self.settings.config.limits.tool_seconds)
        return ToolGate({tool.schema.name: tool}, self.database, self.scrubber)


def egress_rules(settings: Settings) -> EgressRules:
    """The rules of the door out."""
    egress = settings.config.egress
    return EgressRules.parse(egress.allow, [each.address for each in egress.loopback])


def provider(model: ModelSetting, timeouts: Timeouts) -> Provider:
    """The model service of a setting."""
    if model.dialect == "openai":
        return OpenAIChat(model.base_url, model.key, mint_call_id, timeouts)
    if model.dialect == "anthropic":
        return AnthropicMessages(model.base_url, model.key, mint_call_id, timeouts)
    return ScriptedProvider(load_script(Path(model.name)), mint_call_id)


@asynccontextmanager
async def running(settings: Settings, *, pool_size: int = 10) -> AsyncIterator[App]:
    """The app of these settings, with its database and its Slack; closed on leaving."""
    egress_rules(settings)
    async with AsyncExitStack() as stack:
        database = Database(await ready_database(settings), pool_size=pool_size)
        stack.push_async_callback(database.close)
        yield App(settings, database, await connect_slack(settings.slack()))


def database_url(settings: Settings) -> str:
    """The address of the database; the embedded one is started where none is set."""
    return settings.database_url or EmbeddedPostgres(settings.home / "postgres").url()


async def ready_database(settings: Settings) -> str:
    """The address of a database with the newest tables; raises SettingsError or DatabaseUnavailableError.

    The embedded one is brought to them, since nobody else looks after it; one that was set is its operator's to change.
    """
    if settings.database_url is None:
        await migrated(settings)
    url = await asyncio.to_thread(database_url, settings)
    await require(url)
    return url


async def migrated(settings: Settings) -> bool:
    """Bring the database of these settings to the newest tables; whether there was anything to do."""
    url = await asyncio.to_thread(database_url, settings)
    found = await require(url, Readiness.BEHIND)
    await migrate(url)
    return found is Readiness.BEHIND


async def check_app_token(client: AsyncWebClient, app_token: str) -> None:
    """Raise SettingsError where Slack refuses the token of Socket Mode: the client would try it again for ever."""
    try:
        await client.apps_connections_open(app_token=app_token)
    except SlackApiError as error:
        refused = str(error.response.get("error"))
        if refused in APP_TOKEN_REFUSED:
            raise SettingsError(
                "SLACK_APP_TOKEN", f"Slack answers {refused}", "Check the token; it needs the scope connections:write"
            ) from error
    except (aiohttp.ClientError, TimeoutError):
        # Slack is away for the moment; the connection is tried until it is there.
        log.warning("slack.unreachable")


async def connect_slack(setting: SlackSetting) -> Slack:
    """Ask Slack who we are; raises SettingsError where it refuses our token."""
    client = AsyncWebClient(
        token=setting.bot_token, base_url=setting.api_url, retry_handlers=[], timeout=SLACK_TIMEOUT_S
    )
    calls = SlackCalls(client)
    try:
        who = await calls.whoami()
    except SlackError as error:
        raise SettingsError(
            "SLACK_BOT_TOKEN", f"Slack answers {error}", "Check the token, and SLACK_API_URL"
        ) from error
    return Slack(calls, client, _our(who))


def _our(who: Mapping[str, object]) -> OurIds:
    return OurIds(
        team_id=str(who["team_id"]),
        bot_user_id=str(who["user_id"]),
        bot_id=str(who["bot_id"]) if who.get("bot_id") else None,
        app_id=str(who["app_id"]) if who.get("app_id") else None,
    )


def _authorize(slack: Slack) -> Callable[..., Awaitable[AuthorizeResult]]:
    """Answer Bolt's question who we are from memory: asking Slack at each event would lose events on a 429."""

    async def authorize(**_: object) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=slack.our.team_id,
            bot_token=slack.client.token,
            bot_id=slack.our.bot_id,
            bot_user_id=slack.our.bot_user_id,
        )

    return authorize
