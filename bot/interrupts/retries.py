"""The only retry loop.

Owns how often something is tried and how it waits in between. Below it nothing retries (no client, no transport), or
tries would multiply and go on after a Stop. It must never wait without listening to the brake.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bot.interrupts.brake import Brake
from bot.rules.interrupt_order import HOLDS_BACK

Jitter: TypeAlias = Callable[[], float]
"""Gives a number from 0 to 1: how far a wait is stretched, so that not all come back in the same instant."""


def no_jitter() -> float:
    """Stretch nothing."""
    return 0.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often something is tried, and how many seconds pass before each try but the first.

    The wait begins with `wait_seconds` and grows by `factor`, up to `longest_seconds`.
    """

    tries: int
    wait_seconds: float = 2.0
    factor: float = 2.0
    longest_seconds: float = 60.0

    def wait_after(self, made: int, stretch: float, asked: float | None) -> float | None:
        """Seconds from this try to the next one; None where the other side asked for longer than anybody waits.

        `stretch`, from 0 to 1, makes the wait up to half as long again; `asked` is what Retry-After said.
        """
        if asked is not None and asked > self.longest_seconds:
            return None
        backoff = min(self.wait_seconds * self.factor ** (made - 1), self.longest_seconds)
        return max(backoff * (1 + stretch / 2), asked or 0.0)


READS = RetryPolicy(tries=2)
"""A read is repeated once."""
ONCE = RetryPolicy(tries=1)
"""A write is never repeated by itself: it may have happened."""
MODEL = RetryPolicy(tries=3)
"""A model call is repeated twice: nobody but the model has seen it."""


def is_held_back(brake: Brake) -> bool:
    """Whether nothing may be started for this run any more."""
    return brake.is_lost or not HOLDS_BACK.isdisjoint(brake.kinds)


async def unless_held_back(brake: Brake, seconds: float) -> bool:
    """Wait so long; False, at once, when nothing may be started any more. A drain lets open calls wait on."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not is_held_back(brake):
                await brake.pulled_again(brake.pulls)
    return not is_held_back(brake)


class Attempts:
    """The tries of one piece of work, as numbers from 1.

    `async for attempt in Attempts(brake, READS):` ends when the tries are used up, when the brake holds back the next
    one, or when the wait for it would last past `until` (the loop's clock); `made` says how many there were. Whoever
    is content leaves the loop. A pulled brake wakes the wait: the next try is then made at once (a drain waits for
    open calls) or never.
    """

    def __init__(
        self, brake: Brake, policy: RetryPolicy, jitter: Jitter = no_jitter, *, until: float | None = None
    ) -> None:
        self._brake, self._policy, self._jitter, self._until = brake, policy, jitter, until
        self._asked: float | None = None
        self.made = 0

    def asked_to_wait(self, seconds: float | None) -> None:
        """Take what the other side said of the wait before the next try (Retry-After), in seconds."""
        self._asked = seconds

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
        seconds = self._policy.wait_after(self.made, self._jitter(), self._asked)
        self._asked = None
        if seconds is None or self._ends_before(seconds):
            raise StopAsyncIteration
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._brake.pulled()

    def _ends_before(self, seconds: float) -> bool:
        return self._until is not None and asyncio.get_running_loop().time() + seconds >= self._until
