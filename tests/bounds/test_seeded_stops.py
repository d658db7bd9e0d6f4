"""Two hundred stops in each place where a run can be, each at a moment that a seed has drawn.

The harness commits the interrupt with a connection of its own, and everything shares one event loop and one clock.
What left is read from the door's writes and from the servers' logs; the rest is read by SQL.
"""

import asyncio
import itertools
import random
from dataclasses import dataclass

import pytest

from benchmarks.figures import percentile
from benchmarks.noted_runs import NotedRuns
from bot.agent import history as projection
from bot.app.slack import connect_slack
from bot.llm.validate import check_messages
from bot.rules.terms import InterruptKind, InterruptSource
from storage import commands, history, threads
from storage.engine import Database
from storage.interrupts import Order
from tests.bounds.noted import Letting, NotedApp, NotingNetwork
from tests.bounds.sink import Sink, jammed
from tests.stories.stage import ANA, INCIDENTS, Worker, state_of

pytestmark = [pytest.mark.bounds, pytest.mark.timeout(400)]

STOPS, AT_A_TIME = 200, 4
SEED = 20261201


@dataclass(frozen=True)
class Phase:
    """Where the stop finds a run: its first round, and the most seconds that pass there before the stop."""

    name: str
    round: str
    within_s: float = 0.15


def calls(*urls: str) -> str:
    each = ", ".join(f'{{ name = "http_get", arguments = {{ url = "{url}" }} }}' for url in urls)
    return f'say = "I look."\ncalls = [{each}]'


def stuck(name: str) -> str:
    return f'say = "I look."\ncalls = [{{ name = "{name}", arguments = {{}} }}]'


PHASES = (
    Phase("retry wait", calls("{{var SINK}}/busy"), 0.3),
    Phase("connecting", calls("{{var JAM}}/x")),
    Phase("streaming model", 'say = "I am still talking."\nchunks = 8\ngate = { name = "talking", at = "chunk:4" }'),
    Phase("blocking tool", stuck("stuck_thread")),
    Phase("hung tool", stuck("stuck_coroutine")),
    Phase("parallel batch", calls(*["{{var SINK}}/quick"] * 2, *["{{var SINK}}/never"] * 4)),
)


class Harness:
    """One phase's stops, and what was seen of each."""

    def __init__(self, stage, sink: Sink, phase: Phase) -> None:
        self.stage, self.sink, self.phase = stage, sink, phase
        self.random = random.Random(f"{SEED} {phase.name}")
        self.noted, self.network = NotedRuns(), NotingNetwork()
        self.own = Database(stage.url, pool_size=AT_A_TIME)
        self.committed: dict[str, float] = {}
        self.shown: dict[str, float] = {}
        self._ids = itertools.count(1)

    async def start(self, let_go: Letting) -> None:
        """Start a bot as it is delivered; its brakes and its door are watched."""
        settings = self.stage.settings()
        app = NotedApp(settings, Database(self.stage.url), await connect_slack(settings.slack()))
        app.network, app.let_go = self.network, let_go
        worker, ids = Worker(app), (f"seeded-{number}" for number in itertools.count())
        self.stage.workers.append(worker)
        worker.tasks.append(asyncio.create_task(app.worker(self.noted).run(lambda: next(ids))))
        worker.tasks.append(asyncio.create_task(app.publisher().run()))
        await self.stage.start(works=False, publishes=False)

    async def all(self) -> None:
        """Stop so many runs, several at a time."""
        places = asyncio.Semaphore(AT_A_TIME)
        moments = [self.random.uniform(0, self.phase.within_s) for _ in range(STOPS)]

        async def one(number: int, moment: float) -> None:
            async with places:
                await self.one(f"case-{number:03}", moment)

        async with asyncio.TaskGroup() as group:
            for number, moment in enumerate(moments):
                group.create_task(one(number, moment))
        await self.own.close()

    async def one(self, case: str, moment: float) -> None:
        """Ask, wait until the run is in its place and for the drawn moment, and stop it."""
        thread = await self.stage.asks(f"why is checkout slow? {case}.")
        run_id = await self.stage.until(lambda: self._in_place(thread, case))
        never = asyncio.Event()
        await asyncio.wait([asyncio.ensure_future(never.wait())], timeout=moment)
        await self._commit(thread, run_id)
        await self.stage.slack.wait_for(lambda: self._says_so(thread), 10)
        self.shown[run_id] = self._now() - self.committed[run_id]
        await thread.settled()

    async def _in_place(self, thread, case: str) -> str | None:
        if "gate" in self.phase.round:
            found = (each for each in self.stage.model.requests if f"{case}." in str(each.messages))
            talks = any(each.chunks_sent for each in found)
            return await self._run_of(thread) if talks else None
        started = (
            "select c.run_id from tool_calls c join threads t on t.id = c.thread_id"
            " where t.thread_ts = $1 and c.started_at is not null limit 1"
        )
        return await self.stage.reader.fetchval(started, thread.ts)

    async def _run_of(self, thread) -> str:
        (run,) = await thread.runs()
        return run["id"]

    async def _commit(self, thread, run_id: str) -> None:
        place = threads.Place("T0PLAYGROUND", INCIDENTS, thread.ts)
        order = Order(f"order-{next(self._ids)}", InterruptKind.STOP, InterruptSource.BUTTON, ANA)
        async with self.own.transaction() as tx:
            locked = await threads.lock_at(tx, place)
            await commands.stop(tx, locked, order, self.stage.workers[0].app.means)
            # Before the commit and not after it: its answer may come later than the brake.
            self.committed[run_id] = self._now()

    def _says_so(self, thread) -> bool:
        cards = thread.cards()
        return bool(cards) and state_of(cards[-1]) in {"stopping", "stopped"}

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    # what is claimed

    async def after_brake(self, seen: list[tuple[float, str]]) -> list[float]:
        """How long after its run's brake each of these requests came; negative for those from before."""
        rows = await self.stage.reader.fetch("select request_id, run_id from tool_calls")
        run_of = {row["request_id"]: row["run_id"] for row in rows}
        return [at - self.braked(run_of[request_id]) for at, request_id in seen]

    def braked(self, run_id: str) -> float:
        return self.noted.pulled[run_id][1]

    def to_brake(self) -> list[float]:
        return [self.braked(run_id) - at for run_id, at in self.committed.items()]

    async def model_after_brake(self) -> list[float]:
        """The same for the requests to the model, which say in their text whose they are."""
        rows = await self.stage.reader.fetch("select id, title from runs")
        braked = {row["title"].rsplit(" ", 1)[-1]: self.braked(row["id"]) for row in rows}
        found = []
        for request in self.stage.model.requests:
            case = str(request.messages).split("case-", 1)[1][:3]
            found.append(request.at - braked[f"case-{case}."])
        return found

    async def seconds_to_settle(self) -> list[float]:
        took = (
            "select extract(epoch from s.settled_at - i.requested_at)::float8 from settlements s"
            " join interrupts i on i.run_id = s.run_id"
        )
        return [row[0] for row in await self.stage.reader.fetch(took)]

    async def reasons(self) -> dict[str, int]:
        return dict(await self.stage.reader.fetch("select reason, count(*) from settlements group by 1"))

    def say(self, to_brake, written, seen, settled, shown) -> None:
        """Print the figures of a phase, for whoever measures (`pytest -s`)."""
        print(  # noqa: T201
            f"\n{self.phase.name}: to brake p50 {percentile(to_brake, 50) * 1000:.1f} p99"
            f" {percentile(to_brake, 99) * 1000:.1f} ms; last write {max(written, default=-1) * 1000:+.1f} ms and last"
            f" seen {max(seen) * 1000:+.1f} ms from the brake; settled max {max(settled):.2f} s;"
            f" card p99 {percentile(shown, 99):.2f} max {max(shown):.2f} s"
        )

    async def check_histories(self) -> int:
        """Raise for a history that a provider would refuse, or that needs mending; how many were looked at."""
        database = Database(self.stage.url)
        rows = await self.stage.reader.fetch("select id from threads")
        for row in rows:
            async with database.transaction() as tx:
                events = await history.load(tx, row["id"])
            messages = projection.project(events)
            # A stopped run ends without a word of the model; what is asked next comes behind it.
            check_messages(projection.mend(messages).messages)
            assert {fix.kind for fix in projection.mend(messages).fixes} <= {projection.FixKind.GO_ON}
        await database.close()
        return len(rows)


async def stopped(stage, phase: Phase) -> Harness:
    """Stop all runs of a phase; gives what was seen."""
    let_go = Letting()
    async with Sink.running() as sink:
        with jammed() as jam:
            stage.readable = [sink.url, jam]
            stage.limits |= {"runs_at_once": 4 * AT_A_TIME}
            script = f'[[plays]]\n[[plays.rounds]]\n{phase.round}\n[[plays.rounds]]\nsay = "Never."'
            stage.plays(script.replace("{{var SINK}}", sink.url).replace("{{var JAM}}", jam))
            harness = Harness(stage, sink, phase)
            await harness.start(let_go)
            try:
                await harness.all()
            finally:
                let_go.go()
    return harness


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
async def test_two_hundred_seeded_stops_let_nothing_leave_and_settle_every_run(stage, phase):
    harness = await stopped(stage, phase)

    to_brake, shown, settled = harness.to_brake(), list(harness.shown.values()), await harness.seconds_to_settle()
    written = await harness.after_brake(harness.network.written)
    arrived = await harness.after_brake([(each.at, each.request_id) for each in harness.sink.arrivals])
    seen = [*arrived, *await harness.model_after_brake()]
    harness.say(to_brake, written, seen, settled, shown)
    assert await harness.reasons() == {"stopped": STOPS}
    assert percentile(to_brake, 99) <= 0.100, sorted(to_brake)[-5:]
    assert max(written, default=-1) <= 0.005, sorted(written)[-5:]
    assert max(seen) <= 0.100, sorted(seen)[-5:]
    assert max(settled) <= 5.0, sorted(settled)[-5:]
    assert max(shown) <= 1.0, sorted(shown)[-5:]
    assert await harness.check_histories() == STOPS
