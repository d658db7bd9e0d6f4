"""The runs of a worker, as the product keeps them, with a note of when each brake was first pulled."""

import time
from collections.abc import Iterable

from bot.interrupts.brake import Brake
from bot.interrupts.watcher import LiveRuns
from bot.rules.terms import InterruptKind


class NotedRuns(LiveRuns):
    """`pulled`: by run id, seconds of the wall clock and of the monotonic clock, which all processes here share."""

    def __init__(self) -> None:
        super().__init__()
        self.brakes: dict[str, Brake] = {}
        self.pulled: dict[str, tuple[float, float]] = {}

    def add(self, run_id: str, thread_id: str, fence: int) -> Brake:
        """A fresh brake."""
        self.brakes[run_id] = super().add(run_id, thread_id, fence)
        return self.brakes[run_id]

    def pull(self, run_id: str, kinds: Iterable[InterruptKind]) -> None:
        """Pull, and note when, if this run is ours."""
        super().pull(run_id, kinds)
        brake = self.brakes.get(run_id)
        if brake is not None and brake.is_pulled:
            self.pulled.setdefault(run_id, (time.time(), time.monotonic()))
