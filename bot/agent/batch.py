"""The tool calls of one model message: started together, each answer stored when it arrives.

A batch is over when every call is answered, or at a hard brake; then the settlement answers what is open.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.agent.run_writer import RunWriter
from bot.interrupts.brake import Brake
from bot.interrupts.races import together
from bot.rules.closing_words import closing
from bot.rules.interrupt_order import HOLDS_BACK
from bot.rules.messages import ToolCall
from bot.rules.terms import InterruptKind
from bot.rules.tool_call_ledger import ToolCallLedger
from bot.tools.gate import AT_A_TIME, BatchCalls, NotStarted, ToolGate
from storage.audit import PlannedCall
from storage.history import Appended
from storage.threads import Claim


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls with the audit rows that were planned for them."""

    calls: Sequence[ToolCall]
    planned: Mapping[str, PlannedCall]


class BatchRunner:
    """Runs the batches of one claim; `patience_s` is how long a steer waits for running reads, None for ever."""

    def __init__(self, gate: ToolGate, writer: RunWriter, claim: Claim, brake: Brake, patience_s: float | None) -> None:
        self._gate, self._writer, self._claim, self._brake = gate, writer, claim, brake
        self._patience_s = patience_s
        self._places = asyncio.Semaphore(AT_A_TIME)
        self.ledger = ToolCallLedger()

    async def run(self, batch: Batch) -> None:
        """Run a batch until the balance is zero or a hard brake ends it."""
        self.ledger.record_calls(call.id for call in batch.calls)
        calls = BatchCalls(self._claim, self._brake, self._places)
        await together(
            [self._one(calls, call, batch.planned[call.id]) for call in batch.calls],
            beside=[self._hold(calls), self._lose_patience(calls)],
        )

    async def _one(self, calls: BatchCalls, call: ToolCall, planned: PlannedCall) -> None:
        answered = await self._gate.call(calls, call, planned.request_id)
        if answered is None:
            return
        if isinstance(answered, NotStarted):
            by = answered.by.kind if answered.by else None
            stored = await self._writer.close(call, planned, closing(planned.grade, started=False, by=by))
        else:
            stored = await self._writer.answer(call, answered)
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
