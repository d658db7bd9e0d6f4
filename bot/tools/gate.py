"""The gate that every tool call goes through.

Nothing runs that is not known here. Just before a call starts its start is written down, under the thread's lock, and
refused if anything is pending; then the brake is looked at once more; only then does the call leave.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from bot.errors import ToolArgumentsError, ToolBlockedError, ToolError, ToolTimeoutError
from bot.interrupts.brake import Signal
from bot.interrupts.races import Done, unless, unless_pulled
from bot.rules.messages import JsonObject, ToolCall, ToolSchema
from bot.rules.redaction import REDACTED, Scrubber
from bot.rules.scrubbed_messages import holds_mark
from bot.rules.terms import CallOutcome, Grade
from bot.rules.tool_policy import WriteRefusal
from bot.telemetry import log
from bot.tools import counting
from bot.tools.approvals import asked, is_write, not_run, review, write_of
from bot.tools.batch_calls import AfterGrace, Answered, BatchCalls, Made, NotStarted, Place, Waiting
from bot.tools.tool import CallLabel, Tool, ToolAnswer, ToolContext
from storage import approvals, audit
from storage.approvals import Asked, Use
from storage.audit import CallEnd, PlannedCall, Start
from storage.engine import Database, Transaction

T = TypeVar("T")

AT_A_TIME = 3
"""Calls of one run that are under way at once (design, one door)."""
BROKE = "The tool broke and gave no result: a fault of the tool, not of what you asked. Go on without it."
HIDDEN = f"The arguments hold {REDACTED}, which stands where a secret was taken out. Ask again without it."
NOT_HERE = "policy.tools"
UNCERTAIN = "outcome unknown: {why}; check what happened before trying again"


class ToolGate:
    """The tools that a run may call, behind one gate; `write_grace_s` is how long a stop waits for a running write."""

    def __init__(
        self, tools: Mapping[str, Tool], database: Database, scrubber: Scrubber, *, write_grace_s: float = 3.0
    ) -> None:
        self._tools, self._database, self._scrubber = tools, database, scrubber
        self._write_grace_s = write_grace_s
        self._attempts = itertools.count(1)
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

    def questions(self, run_id: str, calls: Sequence[ToolCall], planned: Mapping[str, PlannedCall]) -> list[Asked]:
        """What people have to be asked before these calls may run; one that is refused anyway asks nobody."""
        wanted = [call for call in calls if self._refusal(run_id, call) is None and is_write(self._tools[call.name])]
        writes = [(write_of(self._tools[call.name], run_id, call), planned[call.id].request_id) for call in wanted]
        return [asked(write, request_id) for write, request_id in writes]

    async def call(self, calls: BatchCalls, call: ToolCall, request_id: str) -> Made:
        """Make one call; None when a hard brake ended it: then the settlement says what became of it."""
        refusal = self._refusal(calls.claim.run_id, call)
        if refusal is not None:
            return self._answered(request_id, refusal, 0)
        if is_write(self._tools[call.name]):
            turn = calls.turn
            return await self._in(calls, turn, lambda: self._in_place(calls, call, request_id, self._start_write))
        return await self._in_place(calls, call, request_id, self._start)

    async def _in_place(
        self, calls: BatchCalls, call: ToolCall, request_id: str, start: Callable[..., Awaitable[Made]]
    ) -> Made:
        return await self._in(calls, calls.places, lambda: start(calls, call, request_id))

    async def _in(self, calls: BatchCalls, place: Place, work: Callable[[], Awaitable[Made]]) -> Made:
        """Do work in a place that has to be waited for; none is waited for once nothing may start any more."""
        if await unless(place.acquire(), calls.brake.hard_signal, calls.held) is None:
            return None if calls.brake.is_hard else NotStarted(calls.held_by)
        try:
            return await work()
        finally:
            place.release()

    async def _start(self, calls: BatchCalls, call: ToolCall, request_id: str) -> Made:
        written = await self._written(calls, lambda tx: audit.start(tx, calls.claim, request_id))
        if written is None or written.start is Start.LOST:
            return None
        if written.start is Start.PENDING:
            return NotStarted(written.by)
        return await self._run(calls, call, request_id, (calls.brake.hard_signal, calls.superseded))

    async def _start_write(self, calls: BatchCalls, call: ToolCall, request_id: str) -> Made:
        """Use the approval of a write, computed anew from what is about to be sent, and make the call."""
        claim, sha256 = calls.claim, write_of(self._tools[call.name], calls.claim.run_id, call).sha256
        token = f"{claim.worker_id}:{claim.fence}:{next(self._attempts)}"
        used = await self._written(calls, lambda tx: approvals.use(tx, claim, request_id, sha256, token))
        if used is None or used.use is Use.LOST:
            return None
        match used.use:
            case Use.GO:
                grace = AfterGrace(calls.brake, self._write_grace_s)
                return await self._run(calls, call, request_id, (grace,))
            case Use.WAITING:
                return Waiting()
            case Use.HELD_BACK:
                return NotStarted(used.by)
            case _:
                return self._answered(request_id, not_run(used), 0)

    async def _written(self, calls: BatchCalls, work: Callable[[Transaction], Awaitable[T]]) -> T | None:
        """Write down that a call starts; None when a hard brake came first."""
        writing = self._database.persist(work, give_up=lambda: False)
        written = await unless_pulled(calls.brake, writing, hard_only=True)
        if written is None:
            counting.prevented()
            return None
        return written.value

    async def _run(
        self, calls: BatchCalls, call: ToolCall, request_id: str, ends: tuple[Signal, ...]
    ) -> Answered | None:
        context = ToolContext(request_id, calls.claim.run_id, calls.brake)
        left, elapsed_ms = asyncio.Event(), _stopwatch()
        try:
            # The run may have been stopped while the start was written down; then the work does not begin.
            done = await unless(self._work(call, context, left, calls.claim.fence), *ends)
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
            return _uncertain(str(late)) if is_write(tool) else ToolAnswer(str(late), CallOutcome.TIMED_OUT)
        except ToolError as failed:
            return ToolAnswer(str(failed), CallOutcome.FAILED)
        # A tool that breaks is one thing among others that the model may look at: it may not end the run.
        except Exception:
            log.exception("tool.broke", run_id=context.run_id, request_id=context.request_id)
            return _uncertain("the tool broke") if is_write(tool) else ToolAnswer(BROKE, CallOutcome.FAILED)

    def _refusal(self, run_id: str, call: ToolCall) -> ToolAnswer | None:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._names()) or "none"
            text = f"There is no tool named {call.name}. The tools are: {known}."
            return ToolAnswer(text, CallOutcome.BLOCKED, blocked_by=WriteRefusal.UNKNOWN_TOOL.value)
        if not self._has(call.name):
            text = f"{call.name} is not a tool of this channel, or not for who asked. Go on without it."
            return ToolAnswer(text, CallOutcome.BLOCKED, blocked_by=NOT_HERE)
        if call.broken_arguments is not None:
            error = ToolArgumentsError(f"The arguments are no JSON object: {call.broken_arguments[:200]}")
            return ToolAnswer(str(error), CallOutcome.FAILED)
        if holds_mark(call.arguments):
            return ToolAnswer(HIDDEN, CallOutcome.BLOCKED, blocked_by="secret")
        reviewed = review(tool, run_id, call, self._scrubber) if is_write(tool) else None
        return reviewed if isinstance(reviewed, ToolAnswer) else None

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


def _uncertain(why: str) -> ToolAnswer:
    """The answer to a write that may have happened: whoever reads that it failed tries it again."""
    return ToolAnswer(UNCERTAIN.format(why=why), CallOutcome.UNKNOWN)


def _superseded() -> ToolAnswer:
    return ToolAnswer("cancelled: superseded by a message; no result", CallOutcome.SUPERSEDED)
