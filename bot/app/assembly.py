"""Builds the parts and joins them. The only place that knows them all; it decides nothing, and runs nothing itself."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import resources

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.agent.turn_loop import TurnMeans
from bot.app.database import ready_database
from bot.app.ids import mint_id
from bot.app.services import egress_rules, provider
from bot.app.slack import SLACK_TIMEOUT_S, Slack, authorizer, check_app_token, connect_slack, scrubbing
from bot.card.answer import parts
from bot.card.publisher import Pace, Publisher, PublisherMeans
from bot.egress.client import EgressClient
from bot.interrupts.watcher import LiveRuns
from bot.llm.event_stream import Timeouts
from bot.rules.redaction import Scrubber
from bot.settings.environment import Settings
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
from storage.engine import Database
from storage.inbox import Inbox, Reception
from storage.policies import Policies
from storage.presses import Presses
from storage.settlement import Means

SOCKETS = 2
"""Connections for Socket Mode: Slack refreshes each every few hours, and the client opens the new one after the gap."""
OVERRIDES_KEPT_S = 5.0
"""Seconds after which a channel's own policy rows are read again."""


class App:
    """The parts of one process, made when they are asked for and closed together."""

    def __init__(self, settings: Settings, database: Database, slack: Slack, scrubber: Scrubber | None = None) -> None:
        self.settings, self.database = settings, database
        self.scrubber = scrubber or Scrubber(settings.secrets())
        self.slack = scrubbing(slack, self.scrubber)
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
            authorize=authorizer(self.slack),
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
            scrubber=self.scrubber,
        )

    def _gate(self) -> ToolGate:
        """The tools of one run: each run has a door of its own, because its places are the run's."""
        client = EgressClient(egress_rules(self.settings))
        tool = HttpGet(client, seconds=self.settings.config.limits.tool_seconds)
        return ToolGate({tool.schema.name: tool}, self.database, self.scrubber)


@asynccontextmanager
async def running(settings: Settings, *, pool_size: int = 10) -> AsyncIterator[App]:
    """The app of these settings, with its database and its Slack; closed on leaving."""
    egress_rules(settings)
    async with AsyncExitStack() as stack:
        database = Database(await ready_database(settings), pool_size=pool_size)
        stack.push_async_callback(database.close)
        yield App(settings, database, await connect_slack(settings.slack()))
