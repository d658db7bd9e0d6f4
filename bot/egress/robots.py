"""What a public host's robots.txt says of us.

Owns the reading of it (RFC 9309) and how long it counts. It must never fetch by itself: the text comes through the
same door as everything else.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias
from urllib.robotparser import RobotFileParser

from bot.egress.calls import Reply
from bot.egress.urls import Refusal, Target

PATH = "/robots.txt"
AGENT = "steersman"
"""The name by which a robots.txt speaks of us."""
KEPT_SECONDS = 86_400.0
"""RFC 9309, section 2.4: no copy counts for longer than a day."""
KEPT_SECONDS_WITHOUT = 60.0
"""For a host whose file could not be read because of a fault of its own."""
MAX_TEXT = 500 * 1024
"""Bytes; RFC 9309, section 2.5, asks that at least so many are read."""
MOST_ORIGINS = 1_000

Fetch: TypeAlias = Callable[[], Awaitable[Reply]]
"""Fetches the file."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a host said, and until when it counts on the event loop's clock."""

    parser: RobotFileParser
    problem: str
    until: float

    def refusal(self, target: Target) -> Refusal | None:
        """Refuse what the file does not want to be read."""
        if self.problem:
            return Refusal("egress.robots", f"{target.netloc} {self.problem}, so nothing of it may be read now")
        if self.parser.can_fetch(AGENT, f"{target.scheme}://{target.netloc}{target.resource}"):
            return None
        return Refusal("egress.robots", f"the robots.txt of {target.netloc} does not want {target.path} to be read")


class RobotsBook:
    """What each host said."""

    def __init__(self) -> None:
        self._readings: dict[tuple[str, str, int], Reading] = {}

    async def judge(self, target: Target, fetch: Fetch) -> Refusal | None:
        """Say whether a URL may be read by its host's own wish, asking the host where that is not known."""
        now = asyncio.get_running_loop().time()
        reading = self._readings.get(target.origin)
        if reading is None or reading.until <= now:
            reply = await fetch()
            reading = _read(reply, now)
            self._keep(target.origin, reading, now)
        return reading.refusal(target)

    def _keep(self, origin: tuple[str, str, int], reading: Reading, now: float) -> None:
        if len(self._readings) >= MOST_ORIGINS:
            self._readings = {each: kept for each, kept in self._readings.items() if kept.until > now}
        self._readings[origin] = reading


def _read(reply: Reply, now: float) -> Reading:
    """RFC 9309, section 2.3.1: what is not there forbids nothing; what cannot be told forbids everything."""
    parser = RobotFileParser()
    if reply.status == 200:
        parser.parse(reply.body.decode("utf-8", "replace").splitlines())
        return Reading(parser, "", now + KEPT_SECONDS)
    parser.parse([])
    if reply.status >= 500 or reply.status == 429:
        return Reading(parser, f"answers HTTP {reply.status} when asked for its robots.txt", now + KEPT_SECONDS_WITHOUT)
    return Reading(parser, "", now + KEPT_SECONDS)
