"""The runs that are alive in this worker, each with its brake: where a hint from the database finds the brake."""

from collections.abc import Iterable, Mapping

from bot.interrupts.brake import Brake
from bot.rules.terms import InterruptKind


class LiveRuns:
    """The brakes of this worker's runs, by run id."""

    def __init__(self) -> None:
        self._brakes: dict[str, tuple[str, int, Brake]] = {}

    def __len__(self) -> int:
        return len(self._brakes)

    def add(self, run_id: str, thread_id: str, fence: int) -> Brake:
        """A fresh brake for a run that was just claimed."""
        brake = Brake()
        self._brakes[run_id] = (thread_id, fence, brake)
        return brake

    def remove(self, run_id: str) -> None:
        """Forget a run that was let go."""
        self._brakes.pop(run_id, None)

    def hear(self, hint: Mapping[str, str]) -> None:
        """Pull the brake that a hint names; a hint for a run of another worker is none of ours."""
        self.pull(hint.get("run", ""), [InterruptKind(hint["kind"])])

    def pull(self, run_id: str, kinds: Iterable[InterruptKind]) -> None:
        """Pull one run's brake."""
        entry = self._brakes.get(run_id)
        if entry is not None:
            for kind in kinds:
                entry[2].pull(kind)

    def holds(self) -> frozenset[tuple[str, int]]:
        """The threads that this worker believes it owns, with their fences."""
        return frozenset((thread_id, fence) for thread_id, fence, _ in self._brakes.values())

    def lose(self, lost: Iterable[tuple[str, int]]) -> None:
        """Brake the runs of threads that this worker no longer owns."""
        gone = set(lost)
        for thread_id, fence, brake in self._brakes.values():
            if (thread_id, fence) in gone:
                brake.lose()

    def lose_all(self) -> None:
        """Brake every run: this worker may have been declared dead."""
        self.lose(self.holds())
