"""What storage tells of the calls of a run to the view that shows what it did. Plain values only.

Times are seconds since the epoch, UTC. Texts come as models and tools wrote them, scrubbed of secrets but not escaped
and not shortened: the view does both, once.
"""

from dataclasses import dataclass

from bot.rules.card_facts import StepState
from bot.rules.terms import Grade


@dataclass(frozen=True, slots=True)
class Deed:
    """One call; `at` is when it was let go, or written down where it never was. `requests` counts what left for it."""

    at: float
    step: int
    title: str
    target: str
    state: StepState
    grade: Grade = Grade.READ
    method: str | None = None
    status: int | None = None
    elapsed_ms: int | None = None
    interrupted: bool = False
    blocked_by: str | None = None
    approved_by: str | None = None
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Deeds:
    """What a run did, oldest call first; `calls` is how many there are in all."""

    run_id: str
    title: str
    requested_by: str
    calls: int
    deeds: tuple[Deed, ...] = ()
