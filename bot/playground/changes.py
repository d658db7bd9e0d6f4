"""Lets anybody wait for the next change of the local Slack, so that nobody has to poll it.

Never says what has changed: whoever waits looks again.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


class Changes:
    """Counts the changes and wakes whoever waits for one."""

    def __init__(self) -> None:
        self.count = 0
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Say that something has changed."""
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, count: int) -> int:
        """Return the number of changes as soon as it is greater than `count`."""
        while self.count <= count:
            await self._next.wait()
        return self.count

    async def wait_for(self, look: Callable[[], Seen], timeout: float) -> Seen:  # noqa: ASYNC109
        """Return what `look` sees as soon as that is true; TimeoutError after `timeout` seconds."""
        async with asyncio.timeout(timeout):
            while not (seen := look()):
                await self.after(self.count)
        return seen
