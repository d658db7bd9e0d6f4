"""One claim, from taking to letting go: the turn, and the settlement of how it ended.

Whatever happens in a turn, the run is settled or handed back here; nothing it raises reaches another run. An outage
of the database is no end of a run: it is handed back, and goes on when the database is there again.
"""

import asyncio

from bot import metrics
from bot.agent.run_writer import RunWriter
from bot.agent.turn_loop import LetGo, TurnLoop, TurnMeans
from bot.errors import DatabaseUnavailableError, SettingsError
from bot.interrupts.brake import Brake
from bot.interrupts.races import to_the_end
from bot.interrupts.watcher import LiveRuns
from bot.rules.terms import FailureClass, InterruptKind, SettleReason
from bot.rules.turn_ends import Cut, End, Failed
from bot.telemetry import log
from storage import draining, history, queue, settlement
from storage.queue import Claimed
from storage.settlement import Means

OUTAGES = (DatabaseUnavailableError, SettingsError)
"""The database is away, or does not want us any more: true of the database, and not of the run."""


class OneRun:
    """Works off claims, one call a claim."""

    def __init__(self, turn: TurnMeans, means: Means, live: LiveRuns) -> None:
        self._turn, self._means, self._live = turn, means, live

    async def work(self, claimed: Claimed) -> None:
        """Run a claim to its end; cancelled from outside it hands the run back."""
        claim = claimed.claim
        brake = self._live.add(claim.run_id, claim.thread_id, claim.fence)
        log.info("run.claimed", run_id=claim.run_id, fence=claim.fence, first=claimed.first)
        try:
            await self._settled_or_let_go(claimed, brake)
        except asyncio.CancelledError:
            await to_the_end(self._hand_back(claimed))
            raise
        except OUTAGES as away:
            log.warning("run.handed_back", run_id=claim.run_id, fence=claim.fence, error=str(away))
            await to_the_end(self._hand_back(claimed))
        finally:
            self._live.remove(brake)

    async def _settled_or_let_go(self, claimed: Claimed, brake: Brake) -> None:
        try:
            end = await self._turn_end(claimed, brake)
            _measure_cut(end, brake)
            if isinstance(end, LetGo):
                await self._let_go(claimed, brake)
                return
            await self._settle(claimed, brake, end)
        except OUTAGES:
            raise
        # A fault of ours in one run must settle that run, with its true class, and harm no other.
        except Exception as error:
            log.exception("run.broke", run_id=claimed.claim.run_id)
            await self._settle(claimed, brake, Failed(FailureClass.INTERNAL, type(error).__name__))

    async def _turn_end(self, claimed: Claimed, brake: Brake) -> End | LetGo:
        database = self._turn.database
        events = await database.persist(
            lambda tx: history.load(tx, claimed.claim.thread_id), give_up=lambda: brake.is_lost
        )
        writer = RunWriter(database, claimed.claim, brake, events, self._turn.limits)
        return await TurnLoop(self._turn, claimed, brake, writer).run()

    async def _settle(self, claimed: Claimed, brake: Brake, end: End) -> None:
        settled = await self._turn.database.persist(
            lambda tx: settlement.settle(tx, claimed.claim, end, self._means), give_up=lambda: brake.is_lost
        )
        if settled is None:
            log.info("run.lost", run_id=claimed.claim.run_id, fence=claimed.claim.fence)
            return
        if settled.reason is SettleReason.STOPPED and (waited := brake.pulled_for_s(InterruptKind.STOP)) is not None:
            metrics.current().quiet_after_stop(waited)
        log.info("run.settled", run_id=settled.run_id, reason=settled.reason, fence=claimed.claim.fence)

    async def _let_go(self, claimed: Claimed, brake: Brake) -> None:
        log.info("run.let_go", run_id=claimed.claim.run_id, fence=claimed.claim.fence)
        if brake.is_lost:
            # A worker that no longer believed itself may still be the owner: then nobody has to wait for its lease.
            await self._hand_back(claimed)

    async def _hand_back(self, claimed: Claimed) -> None:
        """Let another worker go on at once; where that fails, the lease runs out by itself."""
        try:
            async with self._turn.database.transaction() as tx:
                if self._live.is_handing_over:
                    await draining.hand_over(tx, claimed.claim)
                else:
                    await queue.give_back(tx, claimed.claim)
        except OUTAGES:
            log.warning("run.not_handed_back", run_id=claimed.claim.run_id)


def _measure_cut(end: End | LetGo, brake: Brake) -> None:
    is_steered = isinstance(end, Cut) and end.by.kind is InterruptKind.STEER
    waited = brake.pulled_for_s(InterruptKind.STEER) if is_steered else None
    if waited is not None:
        metrics.current().cut_after_steer(waited)
