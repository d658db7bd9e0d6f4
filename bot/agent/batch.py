"""The tool calls of one model message: reads side by side, writes in order, each answer stored when it arrives.

A batch is over when every call is answered, or at a hard brake; then the settlement answers what is open. Where only
calls are left that wait for a person's yes, the run lets its worker go, and somebody's decision brings it back.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.agent.run_writer import RunWriter
from bot.interrupts.brake import Brake
from bot.interrupts.races import together, unless
from bot.rules.closing_words import closing
from bot.rules.interrupt_order import HOLDS_BACK, Pending
from bot.rules.messages import ToolCall
from bot.rules.terms import InterruptKind
from bot.rules.tool_call_ledger import ToolCallLedger
from bot.tools.batch_calls import Answered, BatchCalls, NotStarted, Waiting
from bot.tools.gate import AT_A_TIME, ToolGate
from storage.approvals import Park
from storage.audit import PlannedCall
from storage.history import Appended
from storage.threads import Claim


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls with the audit rows that were planned for them."""

    calls: Sequence[ToolCall]
    planned: Mapping[str, PlannedCall]


@dataclass(slots=True)
class _Once:
    """One going over the calls of a batch: how many are at work, and which of them wait for people."""

    calls: BatchCalls
    at_work: int
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: set[str] = field(default_factory=set)

    def one_less(self) -> None:
        """A call was answered, or has found that it waits for people."""
        self.at_work -= 1
        if not self.at_work:
            self.idle.set()


class BatchRunner:
    """Runs the batches of one claim; `patience_s` is how long a steer waits for running reads, None for ever."""

    def __init__(self, gate: ToolGate, writer: RunWriter, claim: Claim, brake: Brake, patience_s: float | None) -> None:
        self._gate, self._writer, self._claim, self._brake = gate, writer, claim, brake
        self._patience_s = patience_s
        self._places = asyncio.Semaphore(AT_A_TIME)
        self.ledger = ToolCallLedger()

    async def run(self, batch: Batch) -> bool:
        """Run a batch until the balance is zero or a hard brake ends it; True when the run waits for people instead."""
        self.ledger.record_calls(call.id for call in batch.calls)
        left = await self._once(batch)
        while left and not self._brake.is_hard:
            parked = await self._writer.park([batch.planned[call.id].request_id for call in left])
            if parked.park is Park.PARKED:
                return True
            if parked.park is not Park.DECIDED:
                await self._hold_back(replace(batch, calls=left), parked.by)
                return False
            left = await self._once(replace(batch, calls=left))
        return False

    async def _once(self, batch: Batch) -> list[ToolCall]:
        """Make what may be made: reads side by side, writes one after another; the calls that wait for people."""
        once = _Once(BatchCalls(self._claim, self._brake, self._places), len(batch.calls))
        await together(
            [self._piece(once, call, batch.planned[call.id]) for call in batch.calls],
            beside=[self._hold(once.calls), self._lose_patience(once.calls)],
        )
        return [call for call in batch.calls if call.id in once.waiting]

    async def _piece(self, once: _Once, call: ToolCall, planned: PlannedCall) -> None:
        """One call; where it waits for people it is held back as soon as anything is, even while others are out."""
        waits = await self._one(once.calls, call, planned)
        once.one_less()
        if not waits:
            return
        if await unless(once.idle.wait(), once.calls.held) is None:
            await self._close(call, planned, once.calls.held_by)
        else:
            once.waiting.add(call.id)

    async def _hold_back(self, batch: Batch, by: Pending | None) -> None:
        """Answer writes that wait for people and may not start any more."""
        for call in batch.calls:
            await self._close(call, batch.planned[call.id], by)

    async def _one(self, calls: BatchCalls, call: ToolCall, planned: PlannedCall) -> bool:
        """Make one call and store its answer; True when it waits for people."""
        answered = await self._gate.call(calls, call, planned.request_id)
        if isinstance(answered, NotStarted):
            await self._close(call, planned, answered.by)
        elif isinstance(answered, Answered):
            self._record(call, await self._writer.answer(call, answered, planned.grade))
        return isinstance(answered, Waiting)

    async def _close(self, call: ToolCall, planned: PlannedCall, by: Pending | None) -> None:
        answer = closing(planned.grade, started=False, by=by.kind if by else None)
        self._record(call, await self._writer.close(call, planned, answer))

    def _record(self, call: ToolCall, stored: Appended) -> None:
        if stored is Appended.STORED:
            self.ledger.record_response(call.id)

    async def _hold(self, calls: BatchCalls) -> None:
        """Let no call start any more once something is asked: those that wait for a place are answered at once."""
        await self._brake.pulled()
        while True:
            pulls = self._brake.pulls
            asked = await self._writer.asked()
            if asked is None:
                self._brake.rearm(pulls)
            elif asked.kind in HOLDS_BACK:
                calls.hold(asked)
            await self._brake.pulled_again(pulls)

    async def _lose_patience(self, calls: BatchCalls) -> None:
        """End the running reads when a steer has waited long enough; a pause waits for them.

        What steered may have been withdrawn meanwhile, or a pause may have come before it: then nothing ends.
        """
        while self._patience_s is not None:
            await self._brake.pulled_for(InterruptKind.STEER)
            await asyncio.sleep(self._patience_s)
            pulls = self._brake.pulls
            asked = await self._writer.asked()
            if asked is None:
                self._brake.rearm(pulls)
            elif asked.kind is InterruptKind.STEER:
                calls.superseded.set()
                return
