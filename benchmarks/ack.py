"""How long Slack waits for an acknowledgement, beside a bare Bolt listener that only inserts one row.

Both listen in processes of their own to the same kind of local Slack, which sends both the same seeded gestures.
What is timed is Slack's side: from the sending of an envelope to its acknowledgement.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from benchmarks.contender import contender
from benchmarks.figures import ratio, spread
from benchmarks.ground import Ground, environment
from bot.playground.local_slack import LocalSlack, SlackOptions
from bot.playground.socket_mode import Envelope

CONTENDERS = ("listen", "bare_listen")
PEOPLE, CHANNEL = ("U0ANA", "U0BEN"), "C0INCIDENTS"
CONNECT_S, SETTLE_S = 20.0, 20.0
KINDS = ("mention", "reply", "chatter")
WEIGHTS = (1, 3, 6)
"""Of ten gestures: one asks in a new thread (two events, as Slack sends both), three go on in a thread, six are talk."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is sent: events a second, gestures in a round, rounds of each contender."""

    rate: float = 50.0
    gestures: int = 450
    rounds: int = 6


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


async def measure(ground: Ground, size: Size) -> Mapping[str, object]:
    """Let both contenders acknowledge the same rounds, in turn."""
    waited: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in KINDS} for name in CONTENDERS}
    async with AsyncExitStack() as stack:
        slacks = {name: await _listening(stack, ground, name) for name in CONTENDERS}
        for slack in slacks.values():
            await _round(slack, gestures(Size(size.rate, 40), seed=0))
        for number in range(1, size.rounds + 1):
            for name in CONTENDERS if number % 2 else reversed(CONTENDERS):
                found = await _round(slacks[name], gestures(size, number))
                for kind, seconds in found:
                    waited[name][kind].append(seconds * 1000)
    return _told(waited)


async def _listening(stack: AsyncExitStack, ground: Ground, name: str) -> LocalSlack:
    slack = await stack.enter_async_context(LocalSlack.running(SlackOptions(retry_delays=())))
    await stack.enter_async_context(contender(name, environment(await ground.fresh(), slack)))
    await slack.wait_for(lambda: len(slack.socket_mode.sockets) >= 2, CONNECT_S)
    return slack


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


def _told(waited: Mapping[str, Mapping[str, Sequence[float]]]) -> Mapping[str, object]:
    told: dict[str, object] = {}
    for kind in ("all", *KINDS):
        ours, bare = (spread(_of(waited[name], kind)) for name in CONTENDERS)
        ratios = {key: ratio(ours[key], bare[key]) for key in ("p50", "p95")}
        told[kind] = {"steersman_ms": ours, "bare_ms": bare, "times": ratios}
    return told


def _of(samples: Mapping[str, Sequence[float]], kind: str) -> list[float]:
    return [each for name, found in samples.items() if kind in ("all", name) for each in found]
