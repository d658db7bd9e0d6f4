"""The gates of the local model server: it waits at each until a test or a person opens it."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping


class Gates:
    """The gates of a server; one that was opened stays open."""

    def __init__(self) -> None:
        self._arrivals: Counter[str] = Counter()
        self._arrived = asyncio.Condition()
        self._opened: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def arrive(self, name: str) -> None:
        """Say that a message has come to a gate, and wait until it is open."""
        async with self._arrived:
            self._arrivals[name] += 1
            self._arrived.notify_all()
        await self._opened[name].wait()

    async def reached(self, name: str, times: int = 1) -> None:
        """Wait until messages have come to a gate so many times in all."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self._arrivals[name] >= times)

    def open(self, name: str) -> None:
        """Let messages through, now and from now on."""
        self._opened[name].set()

    def listing(self) -> Mapping[str, Mapping[str, object]]:
        """Every gate that was named so far: how often it was reached, and whether it is open."""
        names = sorted({*self._arrivals, *self._opened})
        return {name: {"reached": self._arrivals[name], "open": self._opened[name].is_set()} for name in names}
