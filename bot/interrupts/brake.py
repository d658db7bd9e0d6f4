"""The brake: the one signal object of a run.

The run's loop, its model call, its tools and its retries share it; two runs never do. What it says is a hint to look
at the database, which is the truth; only a hard pull (stop, rollback, a lost claim) is acted on before that look, and
a hard pull is never taken back. A soft one is, by the loop alone, after a look that found nothing: the message that
steered was withdrawn.
"""

import asyncio
import time
from typing import Literal, Protocol

from bot.rules.terms import InterruptKind

HARD = frozenset({InterruptKind.STOP, InterruptKind.ROLLBACK})
"""The kinds that end running work at once; the others wait for a cut point (design: stopping, pausing, steering)."""


class Signal(Protocol):
    """Something to wait for, as those see it who do not give it."""

    def is_set(self) -> bool:
        """Whether it is given."""
        ...

    async def wait(self) -> Literal[True]:
        """Wait until it is given."""
        ...


class Brake:
    """The brake of one run, from its claim until it is let go."""

    __slots__ = ("_any", "_hard", "_kinds", "_lost", "_news", "_pulls", "_since")

    def __init__(self) -> None:
        self._kinds: set[InterruptKind] = set()
        self._any = asyncio.Event()
        self._hard = asyncio.Event()
        self._news = asyncio.Event()
        self._lost = False
        self._pulls = 0
        self._since: dict[InterruptKind, float] = {}

    def pull(self, kind: InterruptKind) -> None:
        """Ask the run to end or to suspend; pulling twice is pulling once."""
        self._kinds.add(kind)
        self._since.setdefault(kind, time.monotonic())
        self._pulls += 1
        self._any.set()
        self._news.set()
        self._news = asyncio.Event()
        if kind in HARD:
            self._hard.set()

    def rearm(self, pulls: int) -> None:
        """Take soft pulls back after a look that found nothing; not when one came after the look began."""
        if pulls == self._pulls and not self._hard.is_set():
            self._kinds.clear()
            self._since.clear()
            self._any.clear()

    def lose(self) -> None:
        """The claim is lost: nothing may leave any more, and nothing that this run writes counts."""
        self._lost = True
        self._pulls += 1
        self._any.set()
        # Who waits for the next pull would otherwise wait on, with nothing left that may pull.
        self._news.set()
        self._news = asyncio.Event()
        self._hard.set()

    @property
    def kinds(self) -> frozenset[InterruptKind]:
        """What the brake was pulled for."""
        return frozenset(self._kinds)

    def pulled_for_s(self, kind: InterruptKind) -> float | None:
        """Seconds since it was first pulled for this; None where it was not."""
        since = self._since.get(kind)
        return None if since is None else time.monotonic() - since

    @property
    def pulls(self) -> int:
        """How often the brake was pulled; `rearm` wants the number from before the look."""
        return self._pulls

    @property
    def is_pulled(self) -> bool:
        """Whether anything was asked of the run."""
        return self._any.is_set()

    @property
    def is_hard(self) -> bool:
        """Whether running work must end at once."""
        return self._hard.is_set()

    @property
    def is_lost(self) -> bool:
        """Whether the claim is gone."""
        return self._lost

    @property
    def soft_signal(self) -> Signal:
        """Given while anything is asked of the run, the hard kinds too."""
        return self._any

    @property
    def hard_signal(self) -> Signal:
        """Given as soon as running work must end at once."""
        return self._hard

    async def pulled(self) -> None:
        """Wait until anything is asked of the run."""
        await self._any.wait()

    async def pulled_for(self, kind: InterruptKind) -> None:
        """Wait until the brake is pulled for this."""
        while kind not in self._kinds:
            await self._news.wait()

    async def pulled_again(self, pulls: int) -> None:
        """Wait until the brake was pulled more often than this."""
        while self._pulls <= pulls:
            await self._news.wait()
