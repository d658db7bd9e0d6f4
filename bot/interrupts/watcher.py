"""The runs that are alive in this worker, each with its brake: where a hint from the database finds the brake."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.interrupts.brake import Brake
from bot.rules.terms import InterruptKind
from bot.telemetry import log


@dataclass(frozen=True, slots=True)
class _Live:
    run_id: str
    thread_id: str
    fence: int


class LiveRuns:
    """The brakes of this worker's claims. A run can be here twice: handed back, and claimed again at once."""

    def __init__(self) -> None:
        self._live: dict[Brake, _Live] = {}
        self._is_handing_over = False

    @property
    def is_handing_over(self) -> bool:
        """Whether what is let go from now on is let go for good: this worker ends."""
        return self._is_handing_over

    def __len__(self) -> int:
        return len(self._live)

    def add(self, run_id: str, thread_id: str, fence: int) -> Brake:
        """A fresh brake for a run that was just claimed."""
        brake = Brake()
        self._live[brake] = _Live(run_id, thread_id, fence)
        return brake

    def remove(self, brake: Brake) -> None:
        """Forget a claim that was let go, and no later claim of the same run."""
        self._live.pop(brake, None)
        # Work that was left behind holds the brake still: after the claim nothing may leave for it any more.
        brake.lose()

    def hear(self, hint: Mapping[str, str]) -> None:
        """Pull the brake that a hint names; a hint for a run of another worker is none of ours."""
        try:
            kind = InterruptKind(hint.get("kind", ""))
        except ValueError:
            # During a deploy a newer version may say what this one does not know; the heartbeat tells what counts.
            log.warning("hint.unknown", kind=hint.get("kind"))
            return
        self.pull(hint.get("run", ""), [kind])

    def pull_all(self, kind: InterruptKind) -> None:
        """Pull every run's brake: something is asked of all of them."""
        for brake in self._live:
            brake.pull(kind)

    def pull(self, run_id: str, kinds: Iterable[InterruptKind]) -> None:
        """Pull one run's brake."""
        asked = list(kinds)
        for brake, live in self._live.items():
            if live.run_id == run_id:
                for kind in asked:
                    brake.pull(kind)

    def holds(self) -> frozenset[tuple[str, int]]:
        """The threads that this worker believes it owns, with their fences."""
        return frozenset((live.thread_id, live.fence) for live in self._live.values())

    def lose(self, lost: Iterable[tuple[str, int]]) -> None:
        """Brake the runs of threads that this worker no longer owns."""
        gone = set(lost)
        for brake, live in self._live.items():
            if (live.thread_id, live.fence) in gone:
                brake.lose()

    def hand_over(self) -> None:
        """Brake every run, because this worker ends."""
        self._is_handing_over = True
        self.lose_all()

    def lose_all(self) -> None:
        """Brake every run: this worker may have been declared dead."""
        self.lose(self.holds())
