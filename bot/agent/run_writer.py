"""What a run writes while it lives: its events, in order, each repeated by its number until the database has it.

The history that the model is sent is kept here beside it, so that no round reads it again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from bot.agent.history import open_calls, stored
from bot.interrupts.brake import Brake
from bot.rules.closing_words import Closing
from bot.rules.interrupt_order import Pending
from bot.rules.limits import NO_RUN_LIMITS, RunLimits
from bot.rules.messages import AssistantMessage, Event, ToolCall, ToolResult
from bot.rules.terms import EventKind, Grade
from bot.tools import counting
from bot.tools.batch_calls import Answered
from storage import (
    approval_rows,
    approvals,
    audit,
    cards,
    history,
    interrupts,
    limits,
    runs,
    suspension,
    threads,
    usage,
)
from storage.approvals import Asked, ParkAnswer
from storage.audit import PlannedCall
from storage.engine import Database, Transaction
from storage.history import Appended, NewEvent
from storage.interrupts import ProbeAnswer, Probed
from storage.threads import Claim
from storage.usage import Spent

T = TypeVar("T")


class RunWriter:
    """The pen of one claim. Every write is fenced; one that was refused says so and leaves the history as it was."""

    def __init__(
        self,
        database: Database,
        claim: Claim,
        brake: Brake,
        events: Sequence[Event],
        run_limits: RunLimits = NO_RUN_LIMITS,
    ) -> None:
        self._database, self._claim, self._brake, self._limits = database, claim, brake, run_limits
        self.events = list(events)
        self._booked = 0
        self._one_at_a_time = asyncio.Lock()

    @property
    def rounds(self) -> int:
        """How many model messages of this run are stored."""
        mine = (event.run_id == self._claim.run_id and event.kind is EventKind.ASSISTANT for event in self.events)
        return sum(mine)

    async def persist(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Do repeatable work in a transaction, until it is done or the claim is lost."""
        return await self._database.persist(work, give_up=lambda: self._brake.is_lost)

    async def probe(self, also: Callable[[Transaction], Awaitable[None]] | None = None) -> Probed:
        """Look at a cut point whether the run goes on; `also` is written with the look where it does.

        Calls that a lost worker has left open are answered where the look finds that a pause is asked: whoever
        resumes it may find questions to people that nobody has taken back.
        """
        async with self._one_at_a_time:
            known = self.events[-1].seq if self.events else 0
            left_open = bool(open_calls(self.events))

            async def look(tx: Transaction) -> Probed:
                await limits.end_if_overspent(tx, self._claim, self._limits)
                if left_open:
                    await suspension.answer_before_a_pause(tx, self._claim)
                probed = await interrupts.probe(tx, self._claim, known)
                if also is not None and probed.answer is ProbeAnswer.GO_ON:
                    await also(tx)
                return probed

            probed = await self.persist(look)
            self.events += probed.news
            return probed

    async def park(self, request_ids: list[str]) -> ParkAnswer:
        """Let the worker go while these calls wait for people, unless something else is asked or one is decided."""
        async with self._one_at_a_time:
            return await self.persist(lambda tx: approvals.park(tx, self._claim, request_ids))

    async def asked(self) -> Pending | None:
        """Look between two cut points what is asked of the run; nothing is carried out."""

        async def look(tx: Transaction) -> Pending | None:
            is_ours = await threads.lock_owned(tx, self._claim) is not None
            run = await runs.get(tx, self._claim.run_id) if is_ours else None
            return await interrupts.first_pending(tx, run) if run else None

        return await self.persist(look)

    async def message(
        self,
        message: AssistantMessage,
        planned: Sequence[PlannedCall],
        spent: Spent,
        questions: Sequence[Asked] = (),
        *,
        flat: bool = False,
    ) -> Appended:
        """Store a model message with its calls, all of them before the first one starts; it is paid for either way.

        `questions` are what people are asked about the calls, from the same moment on. `flat` where its provider's
        blocks could not be kept: its round is told as plain text.
        """
        body = {**stored(message), **({"flat": True} if flat else {})}
        new = NewEvent(
            EventKind.ASSISTANT,
            body,
            message.provider,
            message.model,
            message.provider_blocks,
        )
        number, call_key = self.rounds + 1, self._call_key()

        async def also(tx: Transaction) -> None:
            await audit.plan(tx, self._claim, number, planned)
            await approvals.ask(tx, self._claim, questions)
            await usage.add(tx, self._claim.run_id, call_key, spent)
            await runs.change(tx, self._claim.run_id, round=number)

        kept = await self._append([new], also)
        if kept is not Appended.STORED:
            await self.spent(spent)
        return kept

    async def flatten(self) -> None:
        """Write down that the run is told as plain text from here on, so that no later claim tries it once more."""

        async def work(tx: Transaction) -> None:
            if await threads.lock_owned(tx, self._claim) is not None:
                await runs.change(tx, self._claim.run_id, flat=True)

        await self.persist(work)

    async def answer(self, call: ToolCall, answered: Answered, grade: Grade = Grade.READ) -> Appended:
        """Store the response to a call; one that comes too late goes to the audit and nowhere else."""
        result = ToolResult(call.id, call.name, answered.text, answered.outcome)

        async def also(tx: Transaction) -> None:
            await audit.finish(tx, answered.end)
            await self._take_question_back(tx, grade, answered.end.request_id)

        kept = await self._append([NewEvent(EventKind.TOOL_RESULT, stored(result))], also)
        if kept is not Appended.STORED:
            await self.persist(lambda tx: audit.finish_late(tx, answered.end, self._claim.fence))
        return kept

    async def close(self, call: ToolCall, planned: PlannedCall, closing: Closing) -> Appended:
        """Store the true answer to a call that never started."""
        counting.prevented()
        result = ToolResult(call.id, call.name, closing.text, closing.outcome)

        async def also(tx: Transaction) -> None:
            await audit.close(tx, planned.request_id, closing.outcome)
            await self._take_question_back(tx, planned.grade, planned.request_id)

        return await self._append([NewEvent(EventKind.TOOL_RESULT, stored(result))], also)

    async def context(self, text: str) -> Appended:
        """Store what the model is told of its surroundings, if anything; the thread is then known to have been read."""
        return await self._append(
            [NewEvent(EventKind.CONTEXT, {"text": text})] if text else [],
            lambda tx: threads.change(tx, self._claim.thread_id, earlier_read=True),
        )

    async def spent(self, spent: Spent) -> None:
        """Book a model call that stored no message; true whoever owns the run, so it carries no fence but its key."""
        call_key = self._call_key()
        await self.persist(lambda tx: usage.add(tx, self._claim.run_id, call_key, spent))

    async def _take_question_back(self, tx: Transaction, grade: Grade, request_id: str) -> None:
        """Nobody may be asked any more about a call that is answered."""
        if grade is Grade.WRITE:
            await approval_rows.supersede(tx, self._claim.run_id, request_id)

    def _call_key(self) -> str:
        """A key for the next model call, so that no repetition books it twice."""
        self._booked += 1
        return f"{self._claim.run_id}:{self._claim.fence}:{self._booked}"

    async def _append(self, new: Sequence[NewEvent], also: Callable[[Transaction], Awaitable[None]]) -> Appended:
        async with self._one_at_a_time:
            seq = self.events[-1].seq + 1 if self.events else 1

            async def work(tx: Transaction) -> Appended:
                kept = await history.append(tx, self._claim, seq, new)
                if kept is Appended.STORED:
                    await also(tx)
                    await cards.bump(tx, self._claim.run_id)
                return kept

            kept = await self.persist(work)
            if kept is Appended.REPEATED:
                # It had been stored, with what belongs to it; only the reply was lost.
                kept = Appended.STORED
            if kept is Appended.STORED:
                self._remember(new)
            if kept is Appended.LOST:
                # The heartbeat will say so too, but until then more could leave.
                self._brake.lose()
            return kept

    def _remember(self, new: Sequence[NewEvent]) -> None:
        seq = self.events[-1].seq + 1 if self.events else 1
        self.events += [self._as_event(seq + n, each) for n, each in enumerate(new)]

    def _as_event(self, seq: int, new: NewEvent) -> Event:
        return Event(seq, self._claim.run_id, new.kind, new.body, new.provider, new.model, new.provider_blocks)
