"""How fast a Stop acts: from its commit to the brake, and from the brake to the last request that leaves.

Two hundred runs, ten at a time, are stopped at seeded moments of their life. The commit's time is PostgreSQL's own, the
brake's is noted in the worker, and requests count when they arrive at the servers, which are in this process.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import sqlalchemy as sa

from benchmarks.contender import contender
from benchmarks.cost import ANA, CHANNEL, WITHIN_S, Servers, servers
from benchmarks.figures import spread
from benchmarks.ground import Ground, environment
from benchmarks.scripts import slow_trials
from bot.app.ids import mint_id
from bot.card.answer import parts
from bot.playground.model_log import Received
from bot.rules.terms import InterruptKind, InterruptSource
from storage import commands, settlement, threads
from storage.engine import Database
from storage.interrupts import Order
from storage.settlement import Means
from storage.threads import Place

LATE_S = 0.005
"""A request that arrives later than this after the brake was not merely on its way."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many runs are stopped, how many at a time, and within which part of their life (seconds)."""

    trials: int = 200
    at_once: int = 10
    life_s: float = 3.5
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Trial:
    """A run that is stopped so many seconds after Slack had its question acknowledged."""

    name: str
    moment_s: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """What became of a trial: its run, when the stop was committed (wall clock), and how the run was settled."""

    trial: Trial
    run_id: str
    committed_at: float
    reason: str


def trials(size: Size) -> list[Trial]:
    """The moments are spread evenly over the life of a run, and at random within each stretch of it."""
    chance = random.Random(size.seed)  # noqa: S311 - the same moments every time
    moments = [(number + chance.random()) * size.life_s / size.trials for number in range(size.trials)]
    chance.shuffle(moments)
    return [Trial(f"trial-{number:04d}", moment) for number, moment in enumerate(moments)]


async def measure(ground: Ground, size: Size) -> Mapping[str, object]:
    """Stop every trial, and read afterwards what left when."""
    planned = trials(size)
    async with AsyncExitStack() as stack:
        world = await servers(stack)
        world.model.follow(slow_trials(world.targets.url, [each.name for each in planned], size.seed))
        url = await ground.fresh()
        told = environment(url, world.slack, world.model.url)
        worker = await stack.enter_async_context(contender("work", told, world.config()))
        await world.slack.wait_for(lambda: len(world.slack.socket_mode.sockets) >= 2, WITHIN_S)
        database = Database(url)
        stack.push_async_callback(database.close)
        places = asyncio.Semaphore(size.at_once)
        stopped = await asyncio.gather(*(_one(world, database, places, each) for each in planned))
        pulled: Mapping[str, tuple[float, float]] = await worker.ask("pulled")
        return _told(stopped, pulled, _arrivals(world, planned))


async def _one(world: Servers, database: Database, places: asyncio.Semaphore, trial: Trial) -> Stopped:
    async with places:
        known = len(world.slack.socket_mode.envelopes)
        message = await world.slack.say(ANA, CHANNEL, f"@Steersman {trial.name}")
        for envelope in world.slack.deliveries()[known:]:
            await envelope.acked(WITHIN_S)
        await asyncio.sleep(trial.moment_s)
        place = Place(world.slack.workspace.users[ANA].team, CHANNEL, message.ts)
        run_id, committed_at = await _stop(database, place)
        return Stopped(trial, run_id, committed_at, await _settled(database, run_id))


async def _stop(database: Database, place: Place) -> tuple[str, float]:
    """Stop as the API does; gives the run and the time of the commit, as PostgreSQL keeps it."""
    order = Order(mint_id(), InterruptKind.STOP, InterruptSource.API, "benchmarks")
    async with database.transaction() as tx:
        thread = await threads.lock_at(tx, place)
        if thread is None:
            raise AssertionError(f"no thread at {place}")
        done = await commands.stop(tx, thread, order, Means(mint_id, parts))
        number = (await tx.execute(sa.text("select pg_current_xact_id()::xid::text"))).scalar_one()
    async with database.transaction() as tx:
        when = sa.text("select extract(epoch from pg_xact_commit_timestamp(cast(cast(:it as text) as xid)))::float8")
        return str(done.run_id), float((await tx.execute(when, {"it": number})).scalar_one())


async def _settled(database: Database, run_id: str) -> str:
    async with asyncio.timeout(WITHIN_S):
        while True:
            async with database.transaction() as tx:
                found = await settlement.settled(tx, run_id)
            if found is not None:
                return str(found.reason)
            await asyncio.sleep(0.05)


def _arrivals(world: Servers, planned: Sequence[Trial]) -> Mapping[str, list[float]]:
    """When the requests of each trial came, at the model or at a target, on the clock that all processes share."""
    found: dict[str, list[float]] = {each.name: [] for each in planned}
    for path, at in world.targets.arrived:
        found[path.rsplit("/", 1)[1].rpartition("-")[0]].append(at)
    for request in world.model.requests:
        found[_trial_of(request)].append(request.at)
    return found


def _trial_of(request: Received) -> str:
    asked = next(str(message["content"]) for message in request.messages if message["role"] == "user")
    return asked[asked.index("trial-") :][: len("trial-0000")]


def _told(
    stopped: Sequence[Stopped], pulled: Mapping[str, tuple[float, float]], arrivals: Mapping[str, Sequence[float]]
) -> Mapping[str, object]:
    """Runs that had ended, and those stopped before a worker had them, have no brake, and are only counted."""
    braked = [each for each in stopped if each.reason == "stopped" and each.run_id in pulled]
    to_brake = [(pulled[each.run_id][0] - each.committed_at) * 1000 for each in braked]
    last = [max([0.0, *(at - pulled[each.run_id][1] for at in arrivals[each.trial.name])]) for each in braked]
    return {
        "stops": len(stopped),
        "with_a_brake": len(braked),
        "before_a_worker": sum(each.reason == "stopped" for each in stopped) - len(braked),
        "after_the_end": sum(each.reason != "stopped" for each in stopped),
        "commit_to_brake_ms": spread(to_brake),
        "brake_to_last_request_ms": spread([each * 1000 for each in last]),
        "runs_with_a_late_request": sum(each > LATE_S for each in last),
    }
