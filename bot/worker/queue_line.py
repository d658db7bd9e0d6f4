"""Keeps the places that queued cards show up to date: a card that waits says how far it has come.

It decides nothing, and a place that is missed once is repainted at the next look.
"""

from storage import queue_places
from storage.engine import Database


class QueueLine:
    """What one process last saw of the line."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: dict[str, int] = {}

    async def look(self) -> None:
        """Have the cards repainted whose place has changed since the last look."""
        async with self._database.transaction() as tx:
            places = await queue_places.places(tx)
        # A run that is seen for the first time has a card that was made a moment ago.
        moved = {run_id for run_id, place in places.items() if self._seen.get(run_id, place) != place}
        missed = moved - await self._repainted(moved)
        self._seen = {run_id: self._seen[run_id] if run_id in missed else place for run_id, place in places.items()}

    async def _repainted(self, moved: set[str]) -> set[str]:
        if not moved:
            return set()
        async with self._database.transaction() as tx:
            return await queue_places.repaint(tx, moved)
