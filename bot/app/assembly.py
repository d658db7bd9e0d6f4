"""Builds the parts and joins them. The only place that knows them all; it decides nothing, and runs nothing itself."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from importlib import resources

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.agent.asking import Patience
from bot.agent.turn_loop import TurnMeans
from bot.api.port import Port, PortMeans, opened
from bot.app.attempts import AttemptLog
from bot.app.database import ready_database
from bot.app.door import egress_means, egress_rules
from bot.app.ids import mint_id
from bot.app.limits import live_limits, prices, run_limits
from bot.app.services import answer_parts, check_actions, provider, tools
from bot.app.slack import SLACK_TIMEOUT_S, Slack, authorizer, check_app_token, connect_slack, scrubbing
from bot.app.tool_access import ToolAccess
from bot.card.back_modal import CALLBACK_ID
from bot.card.pace import Pace, Promises, PublisherMeans
from bot.card.publisher import Publisher
from bot.egress.client import EgressClient
from bot.errors import SettingsError
from bot.interrupts.retries import MODEL
from bot.interrupts.watcher import LiveRuns
from bot.llm.event_stream import Timeouts
from bot.rules.card_menu import MenuChoice
from bot.rules.redaction import Scrubber
from bot.settings.environment import Settings
from bot.slack.deeds import ShowsDeeds
from bot.slack.earlier import Earlier
from bot.slack.edge import Edge
from bot.slack.going_back import GoingBack
from bot.slack.listeners import register
from bot.slack.listeners.back import Back
from bot.slack.listeners.buttons import Buttons, Choose
from bot.slack.listeners.messages import Messages
from bot.slack.people import People
from bot.telemetry import log
from bot.tools.action import ActionRates
from bot.tools.gate import ToolGate
from bot.worker.claim_loop import ClaimLoop, Room
from bot.worker.drain import Drain, Ordered
from bot.worker.heartbeat import Heartbeat, Lease
from bot.worker.one_run import OneRun
from bot.worker.reaper import Limits, Reaper
from bot.worker.worker import Worker
from storage.changes import Changes
from storage.engine import Database
from storage.inbox import Inbox, Reception
from storage.policies import Policies
from storage.presses import Presses
from storage.rollback import Rollbacks
from storage.settlement import Means

SOCKETS = 2
"""Connections for Socket Mode: Slack refreshes each every few hours, and the client opens the new one after the gap."""
OVERRIDES_KEPT_S = 0.8
"""Seconds after which a channel's own policy rows are read again: a change holds within a second, everywhere."""


class App:
    """The parts of one process, made when they are asked for and closed together."""

    def __init__(self, settings: Settings, database: Database, slack: Slack, scrubber: Scrubber | None = None) -> None:
        self.settings, self.database = settings, database
        self.scrubber = scrubber or Scrubber(settings.secrets())
        self.slack = scrubbing(slack, self.scrubber)
        self.means = Means(mint_id, answer_parts(settings))
        self.attempts = AttemptLog(database, self.scrubber)
        self.people = People(database, slack.calls, slack.our, self.scrubber.text)
        self.egress = egress_means(settings)
        policy = settings.config.policy
        self.reception = Reception(slack.our, policy.alert_apps, policy.approvers, Policies(OVERRIDES_KEPT_S))
        self.edge = self._edge()
        self.back = Back(GoingBack(database, self.slack.calls, self.people, Rollbacks(self.reception, self.means)))
        self.rates = ActionRates()

    def worker(self, live: LiveRuns | None = None, asked_to_end: asyncio.Event | None = None) -> Worker:
        """A worker that claims and works off runs; whoever hands `live` in can watch their brakes."""
        # An empty one is false.
        limits, live = self.settings.config.limits, LiveRuns() if live is None else live
        one_run = OneRun(self._turn(), self.means, live)
        room = Room(limits.runs_at_once, 1.0, live_limits(self.settings))
        claims = ClaimLoop(self.database, self.means, one_run.work, room)
        lease = Lease(min(1.0, limits.lease_s / 5), limits.lease_s, limits.lease_s * 0.8)
        order = Ordered(asked_to_end or asyncio.Event(), limits.drain_s)
        drain = Drain(self.database, claims, live, mint_id, order)
        return Worker(self.database, (claims, Heartbeat(self.database, live, lease), self.reaper(), drain), live)

    def reaper(self) -> Reaper:
        """Who looks after what nobody looks after; every process has one, so that no hung worker holds anything."""
        limits = self.settings.config.limits
        stay = Limits(limits.lease_s, pause_s=limits.pause_hours * 3600, run_minutes=limits.run_minutes)
        return Reaper(self.database, self.means, stay, self.edge.judge_waiting)

    def publisher(self, pace: Pace | None = None) -> Publisher:
        """A publisher of cards and answers."""
        config = self.settings.config
        said = Promises(self.settings.key_setting, config.approvals.write_grace_s, config.limits.patience_s)
        means = PublisherMeans(self.database, self.slack.calls, time.time, mint_id, said)
        return Publisher(means, pace or Pace())

    async def work(self, asked_to_end: asyncio.Event | None = None, *, publishes: bool = True) -> None:
        """Work until cancelled, or asked to end and drained; without a publisher nothing is painted or posted."""
        async with self.port(), asyncio.TaskGroup() as group:
            painting = group.create_task(self.publisher().run()) if publishes else None
            await self.worker(asked_to_end=asked_to_end).run(mint_id)
            if painting is not None:
                painting.cancel()

    async def listen_alone(self, app_token: str) -> None:
        """Listen until cancelled, in a process without a worker, and look after what hangs in the others."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.listen(app_token))
            group.create_task(self.reaper().run())

    async def serve(self, app_token: str, asked_to_end: asyncio.Event | None = None, *, publishes: bool = True) -> None:
        """Work and listen until cancelled, or asked to end; what comes while the runs drain is still taken in."""
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self.listen(app_token))
            await self.work(asked_to_end, publishes=publishes)
            listening.cancel()

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

    @asynccontextmanager
    async def port(self) -> AsyncIterator[None]:
        """The HTTP port, open where one is set; SettingsError where it cannot be opened."""
        setting = self.settings.port()
        if setting is None:
            yield
            return
        port = Port(PortMeans(self.database, self.means, setting.token))
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(opened(port, setting.host, setting.number))
            except OSError as error:
                taken = f"{setting.host}:{setting.number} cannot be opened ({error.strerror or error})"
                raise SettingsError("STEERSMAN_HTTP_PORT", taken, "Choose another port or host") from error
            yield

    def _edge(self) -> Edge:
        receiving = (self.reception, self.means)
        desks = (Inbox(*receiving), Changes(*receiving), Presses(*receiving))
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
        buttons = Buttons(self.edge, self._menu())
        register(app, Messages(self.edge, self.people, self.slack.our, self.scrubber.text), buttons)
        app.view(CALLBACK_ID)(self.back.submit)
        return app

    def _menu(self) -> Mapping[MenuChoice, Choose]:
        """Who carries out which choice of a card's menu; what is offered stands in bot.rules.card_menu."""
        shows = ShowsDeeds(self.database, self.slack.calls, self.people, self.reception)
        return {
            MenuChoice.CLEAR: self.edge.clear,
            MenuChoice.BACK: self.back.open,
            MenuChoice.SHOW: shows.show,
        }

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
            permitted=ToolAccess(self.settings.config.policy.tools).permitted,
            patience_s=limits.patience_s,
            max_rounds=limits.rounds,
            answer_tokens=limits.answer_tokens,
            scrubber=self.scrubber,
            model_patience=Patience(replace(MODEL, tries=limits.model_tries), self.egress.jitter),
            limits=run_limits(self.settings),
            prices=prices(self.settings),
        )

    def _gate(self) -> ToolGate:
        """The tools of one run: each run has a door of its own, because its places are the run's."""
        client = EgressClient(egress_rules(self.settings), self.egress, record=self.attempts.note)
        grace_s = self.settings.config.approvals.write_grace_s
        made = tools(self.settings, client, self.rates)
        return ToolGate(made, self.database, self.scrubber, write_grace_s=grace_s)


@asynccontextmanager
async def running(settings: Settings, *, pool_size: int = 10) -> AsyncIterator[App]:
    """The app of these settings, with its database and its Slack; closed on leaving."""
    check_actions(settings)
    settings.port()
    async with AsyncExitStack() as stack:
        database = Database(await ready_database(settings), pool_size=pool_size)
        stack.push_async_callback(database.close)
        app = App(settings, database, await connect_slack(settings.slack(listens=False)))
        stack.push_async_callback(app.attempts.close)
        yield app
