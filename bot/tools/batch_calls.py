"""What the calls of one batch share, and what may come of one."""

import asyncio
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from bot.interrupts.brake import Brake
from bot.rules.interrupt_order import Pending
from bot.rules.terms import CallOutcome
from storage.audit import CallEnd
from storage.threads import Claim


@dataclass(frozen=True, slots=True)
class Answered:
    """A call that ran, or that was refused: what the model is told, and what the audit keeps."""

    text: str
    outcome: CallOutcome
    end: CallEnd


@dataclass(frozen=True, slots=True)
class NotStarted:
    """A call that may not start any more; `by` is the interrupt that is in its way."""

    by: Pending | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A write that waits for a person's yes."""


Made: TypeAlias = Answered | NotStarted | Waiting | None
Place: TypeAlias = asyncio.Semaphore | asyncio.Lock


@dataclass(slots=True)
class BatchCalls:
    """What the calls of one batch share: the run's claim, brake and places, and what is asked while they are at work.

    `held` is given when nothing may start any more, `superseded` when running reads must end. `turn` lets the writes
    through one after another, in the order in which they ask.
    """

    claim: Claim
    brake: Brake
    places: asyncio.Semaphore
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    held: asyncio.Event = field(default_factory=asyncio.Event)
    superseded: asyncio.Event = field(default_factory=asyncio.Event)
    held_by: Pending | None = None

    def hold(self, by: Pending) -> None:
        """Let no call start any more."""
        self.held_by = by
        self.held.set()


class AfterGrace:
    """The signal that ends a running write: a hard brake, and then its grace. A lost claim has none."""

    def __init__(self, brake: Brake, grace_s: float) -> None:
        self._brake, self._grace_s = brake, grace_s

    def is_set(self) -> bool:
        """Whether the write may not begin any more."""
        return self._brake.is_hard

    async def wait(self) -> Literal[True]:
        """Wait until a running write is given up."""
        await self._brake.hard_signal.wait()
        if not self._brake.is_lost:
            await asyncio.sleep(self._grace_s)
        return True
