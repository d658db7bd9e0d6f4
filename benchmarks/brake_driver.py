"""Steersman as the brake benchmark drives it: worker, PostgreSQL, gate, egress and model are the product's own.

The worker is in the driver's process, where CPU is counted; a local Slack and the publisher are beside it
(brake_stand.py). Messages and stops are committed by connections of their own, as the Slack edge and the API commit
them. How a run ended is read from its settlement, never from what was asked of it.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import httpcore
import sqlalchemy as sa

from benchmarks.brake_stand import environment
from benchmarks.cost import ANA, CHANNEL
from bot.agent import batch
from bot.agent.turn_loop import TurnMeans
from bot.app.assembly import App
from bot.app.ids import mint_id
from bot.app.services import egress_rules
from bot.app.slack import connect_slack
from bot.card.answer import parts
from bot.egress import client as door
from bot.egress.client import EgressClient
from bot.interrupts.brake import Brake
from bot.interrupts.retries import READS, RetryPolicy
from bot.interrupts.watcher import LiveRuns
from bot.rules.inbound_message import AuthorFacts, Message, message_key
from bot.rules.terms import InterruptKind, InterruptSource, SettleReason
from bot.settings.environment import Settings
from bot.settings.sections import ConfigFile
from bot.tools.gate import ToolGate
from bot.tools.http_get import HttpGet
from storage import commands, inbox_rows, runs, settlement, threads
from storage.engine import Database, Transaction
from storage.inbox import Inbox, Receipt, Reception
from storage.interrupts import Order
from storage.migrations import migrate
from storage.settlement import Means, Settled
from storage.tables import events
from storage.threads import Place

LOOK_AGAIN_S = 0.25
MANY = dict.fromkeys(("live_runs_per_person", "live_runs_per_channel", "live_runs_per_workspace"), 1000)
"""One person of the bench asks in one channel a hundred times at once, which nobody may in earnest."""
STATUS = {SettleReason.COMPLETED: "finished", SettleReason.EMPTY: "finished", SettleReason.STOPPED: "stopped"}
"""A model that ends without a word is its own reason (`empty`); the bench has only these names."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a Stop reaches the run, and how the tool is set up; times in seconds."""

    pulls_brake: bool = False
    at_a_time: int = 10
    retry: RetryPolicy = field(default_factory=lambda: RetryPolicy(tries=3, wait_seconds=0.2))
    patience_s: float = 0.0


DEFAULTS = Way(at_a_time=batch.AT_A_TIME, retry=READS, patience_s=5.0)


class Session:
    """A thread of the bench, with strictly growing Slack times."""

    def __init__(self, place: Place) -> None:
        self.place, self._last = place, 0.0

    def message(self, text: str) -> Message:
        """A mention by the requester, as the listener makes it of Slack's event."""
        self._last = max(time.time(), self._last + 0.000002)
        place, ts = self.place, f"{self._last:.6f}"
        key = message_key(place.team_id, place.channel_id, ts)
        author = AuthorFacts(ANA, team_id=place.team_id)
        words = (text, f"<@UBOT> {text}")
        return Message(place.team_id, place.channel_id, "channel", ts, place.thread_ts, author, *words, True, key)


class Ends(LiveRuns):
    """The runs of the worker, telling when a claim is let go: then its settlement is there to be read."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[Brake, str] = {}
        self._over: dict[str, asyncio.Event] = {}

    def over(self, run_id: str) -> asyncio.Event:
        """Given whenever a claim of this run is let go."""
        return self._over.setdefault(run_id, asyncio.Event())

    def add(self, run_id: str, thread_id: str, fence: int) -> Brake:
        """Keep whose brake it is."""
        brake = super().add(run_id, thread_id, fence)
        self._runs[brake] = run_id
        return brake

    def remove(self, brake: Brake) -> None:
        """Tell."""
        super().remove(brake)
        self.over(self._runs.pop(brake)).set()


class CountedNetwork(httpcore.AnyIOBackend):
    """A network that notes each connection: our tools open one for each attempt."""

    def __init__(self, count: list[int]) -> None:
        super().__init__()
        self._count = count

    async def connect_tcp(self, host: str, port: int, *more: object, **named: object) -> httpcore.AsyncNetworkStream:
        """Connect."""
        self._count[0] += 1
        return await super().connect_tcp(host, port, *more, **named)  # type: ignore[arg-type]


class BenchedApp(App):
    """The app, whose only tool is the bench's `fetch`: our read of a URL, behind our gate and our door."""

    def set_up(self, way: Way, count: list[int]) -> None:
        """Say how the tool is set up; before the worker is made."""
        self._way, self._network = way, CountedNetwork(count)

    def _turn(self) -> TurnMeans:
        return replace(super()._turn(), make_gate=self._fetching)

    def _fetching(self) -> ToolGate:
        means = replace(self.egress, network=self._network)
        client = EgressClient(egress_rules(self.settings), means, retry=self._way.retry, record=self.attempts.note)
        tool = HttpGet(client)
        tool.schema = replace(tool.schema, name="fetch")
        return ToolGate({"fetch": tool}, self.database, self.scrubber)


class Driver:
    """One row of the table."""

    def __init__(self, way: Way, count: list[int]) -> None:
        self._way, self._count, self._live = way, count, Ends()
        self._tasks: list[asyncio.Task[None]] = []
        self._asking = asyncio.Lock()

    async def setup(self, pg: str, model_url: str) -> None:
        """Start everything on a database of its own in the bench's server."""
        _at_a_time(self._way.at_a_time)
        url = await _fresh(pg)
        self._stand = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.brake_stand",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        slack_url = (await self._ask_stand({"url": url, "model": model_url}))["slack"]
        target = os.environ["BRAKE_TOOLS"]
        config = {
            "egress": {"allow": [target], "loopback": [{"address": target.removeprefix("http://")}]},
            "limits": {"patience_s": self._way.patience_s, "runs_at_once": 200, **MANY},
        }
        settings = Settings(environment(url, slack_url, model_url), ConfigFile.model_validate(config))
        self._app = BenchedApp(settings, Database(url, pool_size=30), await connect_slack(settings.slack()))
        self._app.set_up(self._way, self._count)
        self._edge, self._means = Database(url, pool_size=10), Means(mint_id, parts)
        self._inbox = Inbox(Reception(self._app.slack.our), self._means)
        self._person = await self._app.people.who(AuthorFacts(ANA))
        self._tasks = [asyncio.create_task(self._app.worker(self._live).run(mint_id))]

    async def open_session(self) -> Session:
        """A new thread in the local Slack."""
        answer = await self._ask_stand({})
        return Session(Place(self._app.slack.our.team_id, CHANNEL, answer["ts"]))

    async def run(self, session: Session, text: str, stop: asyncio.Event) -> tuple[str, str | None]:
        """Ask, and wait until the run is settled, and those that a steer starts after it; gives status and text."""
        message = session.message(text)
        if stop.is_set():
            # The stop is newer than the question, and is there first.
            await self._receive(session.message("stop"))
        receipt = await self._receive(message)
        if receipt.run_id is None:
            return await self._withdrawn(session, message), None
        stopping = asyncio.create_task(self._stop_when(stop, session, receipt.run_id))
        try:
            return await self._outcome(session, receipt.run_id)
        finally:
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)

    async def steer(self, session: Session, text: str) -> None:
        """Write while the run lives."""
        await self._receive(session.message(text))

    async def teardown(self) -> None:
        """End everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._app.database.close()
        await self._edge.close()
        if self._stand.stdin:
            self._stand.stdin.close()
        await self._stand.wait()

    async def _receive(self, message: Message) -> Receipt:
        async with self._edge.transaction() as tx:
            return await self._inbox.receive(tx, message, self._person)

    async def _withdrawn(self, session: Session, message: Message) -> str:
        async def state(tx: Transaction) -> str:
            thread = await threads.lock_at(tx, session.place)
            row = await inbox_rows.at(tx, thread.id, message.ts) if thread else None
            return str(row.state) if row else "missing"

        async with self._edge.transaction() as tx:
            return "stopped" if await state(tx) == "withdrawn" else "error"

    async def _stop_when(self, stop: asyncio.Event, session: Session, run_id: str) -> None:
        await stop.wait()
        if self._way.pulls_brake:
            self._live.pull(run_id, [InterruptKind.STOP])
        order = Order(mint_id(), InterruptKind.STOP, InterruptSource.API, "benchmarks")
        async with self._edge.transaction() as tx:
            thread = await threads.lock_at(tx, session.place)
            if thread is not None:
                await commands.stop(tx, thread, order, self._means)
        self._live.over(run_id).set()

    async def _outcome(self, session: Session, run_id: str) -> tuple[str, str | None]:
        while True:
            end = await self._settled(run_id)
            if end.reason is not SettleReason.STEERED:
                text = await self._read(lambda tx, end=end: _text(tx, end))
                return STATUS.get(end.reason, "error"), text
            run_id = await self._read(lambda tx: _newest(tx, session.place))

    async def _settled(self, run_id: str) -> Settled:
        over = self._live.over(run_id)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await over.wait()
            over.clear()
            found = await self._read(lambda tx: settlement.settled(tx, run_id))
            if found is not None:
                return found

    async def _read(self, look: Callable[[Transaction], Awaitable[object]]) -> object:
        async with self._edge.transaction() as tx:
            return await look(tx)

    async def _ask_stand(self, what: object) -> dict[str, str]:
        async with self._asking:
            reader, writer = self._stand.stdout, self._stand.stdin
            if reader is None or writer is None:
                raise RuntimeError("no way to the stand")
            writer.write(f"{json.dumps(what)}\n".encode())
            await writer.drain()
            return json.loads(await reader.readline())


async def _text(tx: Transaction, end: Settled) -> str | None:
    if end.final_event_id is None:
        return None
    run = await runs.get(tx, end.run_id)
    here = sa.and_(events.c.thread_id == run.thread_id, events.c.seq == end.final_event_id) if run else sa.false()
    return str((await tx.execute(sa.select(events.c.body).where(here))).scalar_one().get("text"))


async def _newest(tx: Transaction, place: Place) -> str:
    thread = await threads.lock_at(tx, place)
    run = await runs.newest(tx, thread.id) if thread else None
    if run is None:
        raise RuntimeError("no run after a steer")
    return run.id


async def _fresh(pg: str) -> str:
    """A new database with the newest tables in the server of this address."""
    name = f"steersman_{uuid4().hex[:8]}"
    admin = await asyncpg.connect(pg)
    await admin.execute(f"create database {name}")
    await admin.close()
    url = urlsplit(pg)._replace(path=f"/{name}").geturl()
    await migrate(url)
    return url


def _at_a_time(calls: int) -> None:
    """The product has no setting for this on purpose; the peers' scripts make ten calls at a time."""
    for module, name in ((batch, "AT_A_TIME"), (door, "PER_RUN")):
        if not hasattr(module, name):
            raise RuntimeError(f"{module.__name__} has no {name} any more")
        setattr(module, name, calls)
