"""The gate that every tool call goes through.

Nothing runs that is not known here. Just before a call starts its start is written down, under the thread's lock, and
refused if anything is pending; then the brake is looked at once more; only then does the call leave.
"""

import asyncio
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from bot.errors import ToolArgumentsError, ToolBlockedError, ToolError, ToolTimeoutError
from bot.interrupts.brake import Brake
from bot.interrupts.races import Done, unless, unless_pulled
from bot.rules.interrupt_order import Pending
from bot.rules.messages import JsonObject, ToolCall, ToolSchema
from bot.rules.redaction import REDACTED, Scrubber
from bot.rules.scrubbed_messages import holds_mark
from bot.rules.terms import CallOutcome, Grade
from bot.telemetry import log
from bot.tools import counting
from bot.tools.tool import CallLabel, Tool, ToolAnswer, ToolContext
from storage import audit
from storage.audit import CallEnd, PlannedCall, Start
from storage.engine import Database
from storage.threads import Claim

AT_A_TIME = 3
"""Calls of one run that are under way at once (design, one door)."""
BROKE = "The tool broke and gave no result: a fault of the tool, not of what you asked. Go on without it."
HIDDEN = f"The arguments hold {REDACTED}, which stands where a secret was taken out. Ask again without it."
NOT_HERE = "policy.tools"
NO_WRITES = "This tool changes something, which needs a person's approval, and nobody is named who may approve."


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


@dataclass(slots=True)
class BatchCalls:
    """What the calls of one batch share: the run's claim, brake and places, and what is asked while they are at work.

    `held` is given when nothing may start any more, `superseded` when running reads must end.
    """

    claim: Claim
    brake: Brake
    places: asyncio.Semaphore
    held: asyncio.Event = field(default_factory=asyncio.Event)
    superseded: asyncio.Event = field(default_factory=asyncio.Event)
    held_by: Pending | None = None

    def hold(self, by: Pending) -> None:
        """Let no call start any more."""
        self.held_by = by
        self.held.set()


class ToolGate:
    """The tools that a run may call, behind one gate."""

    def __init__(self, tools: Mapping[str, Tool], database: Database, scrubber: Scrubber) -> None:
        self._tools, self._database, self._scrubber = tools, database, scrubber
        self._permitted: AbstractSet[str] | None = None

    def permit(self, names: AbstractSet[str] | None) -> None:
        """Say which tools this channel and this requester have; None for all. Others are neither shown nor run."""
        self._permitted = names

    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as the model sees them, in a stable order so that a provider's cache holds."""
        return tuple(self._tools[name].schema for name in self._names())

    def plan(self, call: ToolCall, request_id: str) -> PlannedCall:
        """How a call is written down before it starts; what is not known is a write."""
        tool = self._tools.get(call.name)
        label = tool.label(call.arguments) if tool else CallLabel(f"Unknown tool {call.name}"[:200], "")
        return PlannedCall(
            request_id=request_id,
            call_id=call.id,
            tool=call.name,
            grade=tool.schema.grade if tool else Grade.WRITE,
            title=self._scrubber.text(label.title),
            target=self._scrubber.text(label.target),
            arguments=self._scrubbed(call.arguments),
        )

    async def call(self, calls: BatchCalls, call: ToolCall, request_id: str) -> Answered | NotStarted | None:
        """Make one call; None when a hard brake ended it: then the settlement says what became of it."""
        refusal = self._refusal(call, request_id)
        if refusal is not None:
            return refusal
        if await unless(calls.places.acquire(), calls.brake.hard_signal, calls.held) is None:
            return None if calls.brake.is_hard else NotStarted(calls.held_by)
        try:
            return await self._start(calls, call, request_id)
        finally:
            calls.places.release()

    async def _start(self, calls: BatchCalls, call: ToolCall, request_id: str) -> Answered | NotStarted | None:
        writing = self._database.persist(lambda tx: audit.start(tx, calls.claim, request_id), give_up=lambda: False)
        written = await unless_pulled(calls.brake, writing, hard_only=True)
        if written is None:
            counting.prevented()
            return None
        if written.value.start is Start.LOST:
            return None
        if written.value.start is Start.PENDING:
            return NotStarted(written.value.by)
        return await self._run(calls, call, request_id)

    async def _run(self, calls: BatchCalls, call: ToolCall, request_id: str) -> Answered | None:
        context = ToolContext(request_id, calls.claim.run_id, calls.brake)
        left, elapsed_ms = asyncio.Event(), _stopwatch()
        try:
            # The run may have been stopped while the start was written down; then the work does not begin.
            work = self._work(call, context, left, calls.claim.fence)
            done = await unless(work, calls.brake.hard_signal, calls.superseded)
        finally:
            left.set()
        if isinstance(done, Done):
            counting.ended(self._tools[call.name].schema.grade, done.value.outcome)
            return done.value
        if calls.brake.is_hard:
            counting.was_under_way(elapsed_ms())
            return None
        counting.ended(self._tools[call.name].schema.grade, CallOutcome.SUPERSEDED)
        return self._answered(request_id, _superseded(), elapsed_ms(), interrupted=True)

    async def _work(self, call: ToolCall, context: ToolContext, left: asyncio.Event, fence: int) -> Answered:
        """Run the tool; an answer that nobody waits for any more goes to the audit, by itself and nowhere else."""
        elapsed_ms = _stopwatch()
        answer = await self._answer(self._tools[call.name], call.arguments, context)
        answered = self._answered(context.request_id, answer, elapsed_ms(), interrupted=left.is_set())
        if left.is_set():
            counting.came_late()
            log.warning("call.answered_late", run_id=context.run_id, request_id=context.request_id)
            await self._database.persist(lambda tx: audit.finish_late(tx, answered.end, fence), give_up=lambda: False)
        return answered

    async def _answer(self, tool: Tool, arguments: JsonObject, context: ToolContext) -> ToolAnswer:
        try:
            return await tool.run(arguments, context)
        except ToolBlockedError as blocked:
            counting.refused(blocked.rule)
            return ToolAnswer(str(blocked), CallOutcome.BLOCKED, blocked_by=blocked.rule)
        except ToolTimeoutError as late:
            return ToolAnswer(str(late), CallOutcome.TIMED_OUT)
        except ToolError as failed:
            return ToolAnswer(str(failed), CallOutcome.FAILED)
        # A tool that breaks is one thing among others that the model may look at: it may not end the run.
        except Exception:
            log.exception("tool.broke", run_id=context.run_id, request_id=context.request_id)
            return ToolAnswer(BROKE, CallOutcome.FAILED)

    def _refusal(self, call: ToolCall, request_id: str) -> Answered | None:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._names()) or "none"
            text = f"There is no tool named {call.name}. The tools are: {known}."
            return self._answered(request_id, ToolAnswer(text, CallOutcome.BLOCKED, blocked_by="unknown tool"), 0)
        if not self._has(call.name):
            text = f"{call.name} is not a tool of this channel, or not for who asked. Go on without it."
            return self._answered(request_id, ToolAnswer(text, CallOutcome.BLOCKED, blocked_by=NOT_HERE), 0)
        if call.broken_arguments is not None:
            error = ToolArgumentsError(f"The arguments are no JSON object: {call.broken_arguments[:200]}")
            return self._answered(request_id, ToolAnswer(str(error), CallOutcome.FAILED), 0)
        if holds_mark(call.arguments):
            return self._answered(request_id, ToolAnswer(HIDDEN, CallOutcome.BLOCKED, blocked_by="secret"), 0)
        if tool.schema.grade is not Grade.READ:
            return self._answered(request_id, ToolAnswer(NO_WRITES, CallOutcome.BLOCKED, blocked_by="approval"), 0)
        return None

    def _names(self) -> list[str]:
        return [name for name in sorted(self._tools) if self._has(name)]

    def _has(self, name: str) -> bool:
        return self._permitted is None or name in self._permitted

    def _answered(self, request_id: str, answer: ToolAnswer, elapsed_ms: int, *, interrupted: bool = False) -> Answered:
        end = CallEnd(
            request_id=request_id,
            outcome=answer.outcome,
            elapsed_ms=elapsed_ms,
            url=self._scrubber.url(answer.url) if answer.url else None,
            method=answer.method,
            status=answer.status,
            blocked_by=answer.blocked_by,
            interrupted=interrupted,
        )
        return Answered(self._scrubber.text(answer.text), answer.outcome, end)

    def _scrubbed(self, arguments: JsonObject) -> JsonObject:
        scrubbed = self._scrubber.value(arguments)
        return scrubbed if isinstance(scrubbed, Mapping) else {}


def _stopwatch() -> Callable[[], int]:
    """Milliseconds since it was started."""
    clock = asyncio.get_running_loop().time
    started = clock()
    return lambda: round((clock() - started) * 1000)


def _superseded() -> ToolAnswer:
    return ToolAnswer("cancelled: superseded by a message; no result", CallOutcome.SUPERSEDED)
