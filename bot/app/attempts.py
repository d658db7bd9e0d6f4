"""Writes down what leaves through the door: taken in at once, written behind the request's back.

A request never waits for the database. Each row is written as soon as the one before it is, in order, by one writer;
what came in meanwhile goes with it.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from functools import partial

from bot.egress.calls import Attempt
from bot.errors import DatabaseUnavailableError
from bot.rules.redaction import Scrubber
from bot.telemetry import log
from storage import attempts
from storage.attempts import AttemptRow
from storage.engine import Database

MOST_WAITING = 10_000
"""Rows kept while the database is away; beyond it the oldest are let go, and the log says how many."""
LAST_WORDS_S = 2.0
"""Seconds that the end of a process waits for its last rows."""


class AttemptLog:
    """The recorder that the door is given; one for each process."""

    def __init__(
        self, database: Database, scrubber: Scrubber | None = None, *, pause_s: float = 0.5, most: int = MOST_WAITING
    ) -> None:
        self._scrubber = scrubber or Scrubber()
        self._database, self._pause_s, self._most = database, pause_s, most
        self._waiting: deque[AttemptRow] = deque(maxlen=most)
        self._writer: asyncio.Task[None] | None = None
        self._lost = 0

    def record(self, row: AttemptRow) -> None:
        """Take an attempt in; returns at once and never raises."""
        self._lost += len(self._waiting) == self._most
        self._waiting.append(row)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write())

    async def note(self, attempt: Attempt) -> None:
        """Take in what the door says of one of its requests, as it may be shown."""
        self.record(
            AttemptRow(
                request_id=attempt.request_id,
                attempt=attempt.number,
                method=attempt.method,
                url=self._scrubber.url(attempt.url),
                address=attempt.address,
                status=attempt.status,
                outcome=attempt.outcome,
                rule=attempt.rule,
                elapsed_ms=attempt.elapsed_ms,
                received_bytes=attempt.received_bytes,
            )
        )

    async def written(self) -> None:
        """Wait until all that was taken in is written, or is known to be lost."""
        while self._writer is not None and not self._writer.done():
            await asyncio.wait([self._writer])

    async def close(self) -> None:
        """Write what waits, for as long as an end may take, and stop."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                await self.written()
        if self._writer is not None:
            self._writer.cancel()

    async def _write(self) -> None:
        while self._waiting:
            rows = [self._waiting.popleft() for _ in range(len(self._waiting))]
            try:
                await self._put(rows)
            except DatabaseUnavailableError as busy:
                self._lost += len(rows)
                log.error("attempts.lost", count=self._lost, error=str(busy))

    async def _put(self, rows: Sequence[AttemptRow]) -> None:
        adding = partial(attempts.add, rows=rows)
        await self._database.persist(adding, give_up=lambda: False, pause_s=self._pause_s)
