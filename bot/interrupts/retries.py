"""The only retry loop.

Owns how often something is tried and how it waits in between. Below it nothing retries (no client, no transport), or
tries would multiply and go on after a Stop. It must never wait without listening to the brake.
"""

import asyncio
import contextlib
from dataclasses import dataclass

from bot.interrupts.brake import Brake
from bot.rules.interrupt_order import HOLDS_BACK


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often something is tried, and how many seconds pass before each try but the first."""

    tries: int
    wait_seconds: float = 0.5


READS = RetryPolicy(tries=2)
"""A read is repeated once."""
ONCE = RetryPolicy(tries=1)
"""A write is never repeated by itself: it may have happened."""


def is_held_back(brake: Brake) -> bool:
    """Whether nothing may be started for this run any more."""
    return brake.is_lost or not HOLDS_BACK.isdisjoint(brake.kinds)


class Attempts:
    """The tries of one piece of work, as numbers from 1.

    `async for attempt in Attempts(brake, READS):` ends when the tries are used up or the brake holds back the next
    one; `made` says how many there were. Whoever is content leaves the loop. A pulled brake wakes the wait: the next
    try is then made at once (a drain waits for open calls) or never.
    """

    def __init__(self, brake: Brake, policy: RetryPolicy) -> None:
        self._brake, self._policy = brake, policy
        self.made = 0

    def __aiter__(self) -> "Attempts":
        return self

    async def __anext__(self) -> int:
        if self.made == self._policy.tries:
            raise StopAsyncIteration
        if self.made:
            await self._wait()
        # The run may have been stopped during the wait, or while the caller waited for its turn.
        if is_held_back(self._brake):
            raise StopAsyncIteration
        self.made += 1
        return self.made

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._policy.wait_seconds):
                await self._brake.pulled()
