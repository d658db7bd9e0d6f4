"""How long Slack waits for an acknowledgement, beside a bare Bolt listener that only inserts one row.

Both listen in processes of their own to the same kind of local Slack, which sends both the same seeded gestures.
What is timed is Slack's side: from the sending of an envelope to its acknowledgement.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from benchmarks.contender import Contender, contender
from benchmarks.figures import ratio, rounded, spread
from benchmarks.ground import Ground, environment
from bot.app.assembly import SOCKETS
from bot.playground.local_slack import LocalSlack, SlackOptions
from bot.playground.socket_mode import Envelope

CONTENDERS = ("listen", "bare_listen")
PEOPLE, CHANNEL = ("U0ANA", "U0BEN"), "C0INCIDENTS"
CONNECT_S, SETTLE_S = 20.0, 20.0
KINDS = ("mention", "reply", "chatter")
WEIGHTS = (1, 3, 6)
"""Of ten gestures one asks in a new thread (two events, as Slack sends it), three go on in a thread, six are talk."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is sent: events a second, gestures in a round, rounds of each contender."""

    rate: float = 50.0
    gestures: int = 450
    rounds: int = 6


WARM_UP = Size(rate=10, gestures=40)
"""Sent first and not counted: connections are opened, people are looked up, statements are prepared."""


@dataclass(frozen=True, slots=True)
class Gesture:
    """What a person does, and how many seconds after the one before."""

    kind: str
    author: str
    wait_s: float


def gestures(size: Size, seed: int) -> list[Gesture]:
    """A round's gestures, the same for the same seed; a mention counts as the two events that it is sent as."""
    chance = random.Random(seed)  # noqa: S311 - the same load every time
    kinds = [KINDS[0], *chance.choices(KINDS, WEIGHTS, k=size.gestures - 1)]
    return [
        Gesture(kind, chance.choice(PEOPLE), chance.expovariate(size.rate) * (2 if kind == "mention" else 1))
        for kind in kinds
    ]


@dataclass(slots=True)
class Entrant:
    """A contender with the Slack that it listens to; for each kind of event the seconds waited, and its CPU in all."""

    slack: LocalSlack
    process: Contender
    waited: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    cpu_s: float = 0.0


async def measure(ground: Ground, size: Size) -> Mapping[str, object]:
    """Let both contenders acknowledge the same rounds, in turn."""
    async with AsyncExitStack() as stack:
        entrants = [await _entrant(stack, ground, name) for name in CONTENDERS]
        for entrant in entrants:
            await _round(entrant.slack, gestures(WARM_UP, seed=0))
        for number in range(1, size.rounds + 1):
            for entrant in entrants if number % 2 else reversed(entrants):
                await _measured(entrant, gestures(size, number))
    return _told(*entrants)


async def _entrant(stack: AsyncExitStack, ground: Ground, name: str) -> Entrant:
    slack = await stack.enter_async_context(LocalSlack.running(SlackOptions(retry_delays=())))
    process = await stack.enter_async_context(contender(name, environment(await ground.fresh(), slack)))
    await slack.wait_for(lambda: len(slack.socket_mode.sockets) >= SOCKETS, CONNECT_S)
    return Entrant(slack, process)


async def _measured(entrant: Entrant, gestures: Sequence[Gesture]) -> None:
    before = await entrant.process.ask("usage")
    for kind, seconds in await _round(entrant.slack, gestures):
        entrant.waited[kind].append(seconds)
    after = await entrant.process.ask("usage")
    entrant.cpu_s += after["cpu_s"] - before["cpu_s"]


async def _round(slack: LocalSlack, gestures: Sequence[Gesture]) -> list[tuple[str, float]]:
    """Send a round; for each event what it was and how many seconds it waited. An event without answer is an error."""
    sent: list[tuple[str, Envelope]] = []
    thread = ""
    loop = asyncio.get_running_loop()
    at = loop.time()
    for gesture in gestures:
        at += gesture.wait_s
        await asyncio.sleep(at - loop.time())
        known = len(slack.socket_mode.envelopes)
        thread = await _do(slack, gesture, thread)
        sent += [(gesture.kind, each) for each in slack.deliveries()[known:]]
    async with asyncio.timeout(SETTLE_S):
        for _, envelope in sent:
            await envelope.settled.wait()
    return [(kind, _waited(envelope)) for kind, envelope in sent]


async def _do(slack: LocalSlack, gesture: Gesture, thread: str) -> str:
    if gesture.kind == "mention":
        return (await slack.say(gesture.author, CHANNEL, "@Steersman why is checkout slow?")).ts
    await slack.say(gesture.author, CHANNEL, "look at the gateway", thread if gesture.kind == "reply" else None)
    return thread


def _waited(envelope: Envelope) -> float:
    if envelope.acked_at is None:
        raise TimeoutError(f"an event was not acknowledged: {envelope.state}")
    return envelope.acked_at - envelope.attempts[0].at


def _told(ours: Entrant, bare: Entrant) -> Mapping[str, object]:
    times = {"all": _beside(ours, bare, KINDS), **{kind: _beside(ours, bare, (kind,)) for kind in KINDS}}
    cpu = {name: _cpu_ms(each) for name, each in (("steersman_cpu_ms", ours), ("bare_cpu_ms", bare))}
    return {"events": times, "an_event": cpu}


def _beside(ours: Entrant, bare: Entrant, kinds: Sequence[str]) -> Mapping[str, object]:
    mine, least = (spread([seconds * 1000 for kind in kinds for seconds in each.waited[kind]]) for each in (ours, bare))
    return {
        "steersman_ms": mine,
        "bare_ms": least,
        "times": {key: ratio(mine[key], least[key]) for key in ("p50", "p95")},
    }


def _cpu_ms(entrant: Entrant) -> float:
    return rounded(entrant.cpu_s * 1000 / sum(len(waited) for waited in entrant.waited.values()))
