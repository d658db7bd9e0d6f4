"""Mirrors what a thread's newest run is doing in Slack's own session, which shows or hides Slack's own Stop.

Best effort: it never harms a card or a run. Only the newest run of a thread speaks, and whoever spoke looks again
afterwards, so that over several processes the last word is the newest state.
"""

from bot.card.slack_calls import SlackCalls
from bot.errors import SlackError, SlackRateLimitedError, SlackUnansweredError
from bot.rules.terms import RunState
from bot.telemetry import log
from storage import outcomes, runs
from storage.cards import LeasedCard
from storage.engine import Database
from storage.runs import Run
from storage.threads import Place

MOST_REMEMBERED = 1000
MOST_TURNS = 5
"""How often a status that changes while it is told is told again."""


class Sessions:
    """What Slack was told about each thread, as far as this process knows."""

    def __init__(self, database: Database, calls: SlackCalls) -> None:
        self._database, self._calls = database, calls
        self._told: dict[str, tuple[int, str]] = {}

    async def follow(self, leased: LeasedCard, state: RunState) -> None:
        """Tell Slack what the run of a card that was just painted in this state is doing, unless it knows."""
        # Had another process painted since, it may have told something else.
        if self._told.get(leased.run_id) != (leased.painted_rev, status_of(state)):
            newest = await self._newest(leased.run_id)
            if newest is None or newest.id != leased.run_id:
                return
            await self._tell(leased, newest)
        self._remember(leased.run_id, leased.wanted_rev)

    async def _tell(self, leased: LeasedCard, newest: Run | None) -> None:
        told = ""
        for _ in range(MOST_TURNS):
            if newest is None or status_of(newest.state) == told:
                return
            told = status_of(newest.state)
            try:
                await self._calls.session(leased.place.channel_id, leased.place.thread_ts, told)
            except SlackError as error:
                log.info("session.not_mirrored", error=error.error)
                if isinstance(error, SlackRateLimitedError | SlackUnansweredError):
                    self._told.pop(newest.id, None)
                    return
            self._told[newest.id] = (leased.wanted_rev, told)
            newest = await self._newest(leased.run_id)

    async def _newest(self, run_id: str) -> Run | None:
        async with self._database.transaction() as tx:
            thread_id = await runs.thread_of(tx, run_id)
            return await runs.newest(tx, thread_id) if thread_id else None

    def _remember(self, run_id: str, rev: int) -> None:
        told = self._told.pop(run_id, None)
        if told is not None:
            self._told[run_id] = (rev, told[1])
        while len(self._told) > MOST_REMEMBERED:
            del self._told[next(iter(self._told))]


async def tell_newest(database: Database, calls: SlackCalls, place: Place) -> None:
    """Tell Slack what a thread is doing after its own Stop was used: it waits for that, whatever came of the stop."""
    async with database.transaction() as tx:
        known = await outcomes.of_thread(tx, place)
    await calls.session(place.channel_id, place.thread_ts, status_of(known[-1].state) if known else "active")


def status_of(state: RunState) -> str:
    """Slack's word for what a run in this state is doing; one that is being stopped needs no Stop any more."""
    if state in {RunState.SETTLED, RunState.CANCELLING}:
        return "active"
    return "suspended" if state is RunState.PARKED else "processing"
