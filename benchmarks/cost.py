"""What a run costs: its CPU beside a bare loop, and what each round asks and writes while the history grows.

The servers are in this process, what is measured is in processes of its own. Statements are counted in PostgreSQL's
log and bytes in its journal, so that neither is the product's own count.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

import asyncpg

from benchmarks.contender import Contender, contender
from benchmarks.figures import ratio, rounded, spread
from benchmarks.ground import KEY, Ground, environment
from benchmarks.scripts import many_rounds, thirteen_calls
from benchmarks.statement_log import counted
from benchmarks.targets import Targets
from bot.llm.script import Script
from bot.playground.json_reading import object_at
from bot.playground.local_slack import LocalSlack
from bot.playground.model_server import ModelServer

ANA, CHANNEL = "U0ANA", "C0INCIDENTS"
WITHIN_S = 60.0
CALLS = 3
"""Calls in each of the many rounds: with the message that makes them, four entries of history a round."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run: for the CPU, rounds of so many runs; for the rest, at which lengths of history, how long."""

    rounds: int = 6
    runs: int = 10
    lengths: tuple[int, ...] = (10, 100, 300, 1000)
    stretch: int = 10
    idle_s: float = 3.0


@dataclass(frozen=True, slots=True)
class Servers:
    """What every contender talks to."""

    slack: LocalSlack
    model: ModelServer
    targets: Targets

    def config(self) -> Mapping[str, object]:
        """The settings with which a contender may read the targets."""
        address = self.targets.url.removeprefix("http://")
        return {"egress": {"allow": [self.targets.url], "loopback": [{"address": address}]}, "limits": {"rounds": 1000}}


async def measure(ground: Ground, size: Size) -> Mapping[str, object]:
    """Measure both."""
    return {"run": await _runs(ground, size), "round": await _rounds(ground, size)}


async def servers(stack: AsyncExitStack) -> Servers:
    """Start what the contenders talk to; the script comes later."""
    slack = await stack.enter_async_context(LocalSlack.running())
    targets = await stack.enter_async_context(Targets.running())
    model = await stack.enter_async_context(ModelServer.running(Script(()), KEY))
    return Servers(slack, model, targets)


async def _runs(ground: Ground, size: Size) -> Mapping[str, object]:
    """CPU of a complete run: asked, investigated, shown on its card and answered, beside the bare loop."""
    async with AsyncExitStack() as stack:
        world = await servers(stack)
        world.model.follow(thirteen_calls(world.targets.url))
        told = environment(await ground.fresh(), world.slack, world.model.url)
        ours = await stack.enter_async_context(contender("serve", told, world.config()))
        bare = await stack.enter_async_context(contender("bare_loop", told))
        await world.slack.wait_for(lambda: world.slack.socket_mode.sockets, WITHIN_S)
        await _asked(world, 3)
        await bare.ask("why is checkout slow?")
        spent: dict[str, list[float]] = {"steersman": [], "bare": []}
        for _ in range(size.rounds):
            spent["steersman"].append(await _cpu_of(ours, lambda: _asked(world, size.runs)) / size.runs)
            spent["bare"].append(await _cpu_of(bare, lambda: _bare(bare, size.runs)) / size.runs)
        idle = await _cpu_of(ours, lambda: asyncio.sleep(size.idle_s)) / size.idle_s
        numbers = {f"{name}_cpu_ms": spread(samples) for name, samples in spent.items()}
        times = ratio(numbers["steersman_cpu_ms"]["p50"], numbers["bare_cpu_ms"]["p50"])
        return {**numbers, "times": times, "idle_cpu_ms_a_second": rounded(idle)}


async def _cpu_of(measured: Contender, work: Callable[[], Awaitable[None]]) -> float:
    """Milliseconds of CPU that a contender took while work was done."""
    before = await measured.ask("usage")
    await work()
    after = await measured.ask("usage")
    return float(after["cpu_s"] - before["cpu_s"]) * 1000


async def _asked(world: Servers, runs: int) -> None:
    """Ask so often, one after another, and wait each time for the answer and for a card that says so."""
    for _ in range(runs):
        message = await world.slack.say(ANA, CHANNEL, "@Steersman why is checkout slow?")
        await world.slack.wait_for(partial(_is_over, world.slack, message.ts), WITHIN_S)


def _is_over(slack: LocalSlack, ts: str) -> bool:
    """Whether the thread shows an answer, and a card that says done."""
    shown = [message.metadata or {} for message in slack.thread(CHANNEL, ts)]
    states = [object_at(each, "event_payload").get("state") for each in shown]
    return "done" in states and any(each.get("event_type") == "steersman_post" for each in shown)


async def _bare(bare: Contender, runs: int) -> None:
    for _ in range(runs):
        await bare.ask("why is checkout slow?")


async def _rounds(ground: Ground, size: Size) -> Sequence[Mapping[str, object]]:
    """One run that grows: what ten of its rounds ask of PostgreSQL and write, at several lengths of its history."""
    starts = [max(2, length // (CALLS + 1)) for length in size.lengths]
    gates = [*starts, *(start + size.stretch for start in starts)]
    async with AsyncExitStack() as stack:
        world = await servers(stack)
        world.model.follow(many_rounds(world.targets.url, max(gates), gates, CALLS))
        url = await ground.fresh()
        told = environment(url, world.slack, world.model.url)
        ours = await stack.enter_async_context(contender("work", told, world.config()))
        await world.slack.wait_for(lambda: world.slack.socket_mode.sockets, WITHIN_S)
        reader = await asyncpg.connect(url)
        stack.push_async_callback(reader.close)
        await ground.log_statements(True)
        stack.push_async_callback(ground.log_statements, False)
        await world.slack.say(ANA, CHANNEL, "@Steersman why is checkout slow?")
        return [await _stretch(ground, world, (ours, reader), start, size) for start in starts]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where log, journal and CPU stand."""

    log: int
    wal: int
    cpu_s: float
    at: float


async def _stretch(
    ground: Ground, world: Servers, watched: tuple[Contender, asyncpg.Connection], start: int, size: Size
) -> Mapping[str, object]:
    ours, reader = watched
    await _reached(world, start)
    events = await reader.fetchval("select count(*) from events")
    ids = [value for row in await reader.fetch("select id, thread_id from runs") for value in row]
    resting = await _mark(ground, ours, reader)
    await asyncio.sleep(size.idle_s)
    before = await _mark(ground, ours, reader)
    world.model.open_gate(f"round-{start}")
    await _reached(world, start + size.stretch)
    after = await _mark(ground, ours, reader)
    if start + size.stretch not in (length // (CALLS + 1) for length in size.lengths):
        world.model.open_gate(f"round-{start + size.stretch}")
    found = counted(_text(ground, before, after), ids)
    idle = (before.wal - resting.wal) / (before.at - resting.at)
    return {
        "history": events,
        "statements": rounded(found.statements / size.stretch),
        "transactions": rounded(found.transactions / size.stretch),
        "bytes": rounded((after.wal - before.wal - idle * (after.at - before.at)) / size.stretch),
        "cpu_ms": rounded((after.cpu_s - before.cpu_s) * 1000 / size.stretch),
    }


async def _reached(world: Servers, number: int) -> None:
    async with asyncio.timeout(2 * WITHIN_S):
        await world.model.gate_reached(f"round-{number}")


async def _mark(ground: Ground, ours: Contender, reader: asyncpg.Connection) -> Mark:
    wal = await reader.fetchval("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint")
    used = await ours.ask("usage")
    return Mark(ground.log.stat().st_size, wal, used["cpu_s"], asyncio.get_running_loop().time())


def _text(ground: Ground, before: Mark, after: Mark) -> str:
    with ground.log.open("rb") as log:
        log.seek(before.log)
        return log.read(after.log - before.log).decode("utf-8", "replace")
