"""How a worker ends in good order: it claims nothing more, its runs suspend, and what is left then is handed over.

Heartbeat, hints and the painting of cards go on until the last run is handed over: whoever presses Stop meanwhile is
heard. It must never take longer than its grace, whatever a tool or the database does.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from bot.errors import DatabaseUnavailableError
from bot.interrupts.watcher import LiveRuns
from bot.rules.terms import InterruptKind
from bot.telemetry import log
from bot.worker.claim_loop import ClaimLoop
from storage import draining
from storage.engine import Database

GRACE_S = 25.0
"""Seconds from SIGTERM to the end: Kubernetes kills after 30 (terminationGracePeriodSeconds, its default)."""
LAST_SHARE = 0.2
"""The share of the grace that is kept for handing over what did not come to a cut point by itself."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """When to drain (setting it twice is setting it once), and how many seconds it may take."""

    asked: asyncio.Event
    grace_s: float = GRACE_S


class Drain:
    """The drain of one worker."""

    def __init__(
        self,
        database: Database,
        claims: ClaimLoop,
        live: LiveRuns,
        mint_id: Callable[[], str],
        order: Ordered,
    ) -> None:
        self._database, self._claims, self._live, self._mint_id = database, claims, live, mint_id
        self._asked, self._grace_s = order.asked, order.grace_s

    async def run(self, worker_id: str) -> None:
        """Wait until asked, and drain; when this returns no run is left here, or the grace is over."""
        await self._asked.wait()
        log.info("worker.draining", worker_id=worker_id, runs=len(self._live), grace_s=self._grace_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace_s):
                await self._let_go(worker_id)
        log.info("worker.drained", worker_id=worker_id, left=len(self._live))

    async def _let_go(self, worker_id: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace_s * (1 - LAST_SHARE)):
                await self._claims.close()
                await self._ask_all(worker_id)
                await self._claims.idle()
                return
        # From here on nobody waits for a cut point: whatever is open is answered, and the run is handed over.
        self._live.hand_over()
        await self._claims.idle()

    async def _ask_all(self, worker_id: str) -> None:
        owned = await self._database.persist(lambda tx: draining.begin(tx, worker_id), give_up=lambda: False)
        for thread_id in owned:
            # A thread that stays locked is handed over at the end like any that finds no cut point.
            with suppress(DatabaseUnavailableError):
                await self._ask(thread_id, worker_id)

    async def _ask(self, thread_id: str, worker_id: str) -> None:
        interrupt_id = self._mint_id()
        run_id = await self._database.persist(
            lambda tx: draining.ask(tx, thread_id, worker_id, interrupt_id), give_up=lambda: False
        )
        if run_id is not None:
            self._live.pull(run_id, [InterruptKind.DRAIN])
