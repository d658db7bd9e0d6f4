"""The gate that every tool call goes through.

Nothing runs that is not known here. Just before a call starts its start is written down, under the thread's lock, and
refused if anything is pending; then the brake is looked at once more; only then does the call leave.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from bot.errors import ToolArgumentsError, ToolBlockedError, ToolError, ToolTimeoutError
from bot.interrupts.brake import Brake
from bot.interrupts.races import Done, unless, unless_pulled
from bot.rules.messages import JsonObject, ToolCall, ToolSchema
from bot.rules.redaction import Scrubber
from bot.rules.terms import CallOutcome, Grade
from bot.tools.tool import CallLabel, Tool, ToolAnswer, ToolContext
from storage import audit
from storage.audit import CallEnd, PlannedCall, Start, StartAnswer
from storage.engine import Database
from storage.threads import Claim

AT_A_TIME = 3
"""Calls of one run that are under way at once (design, one door)."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A call that ran, or that was refused: what the model is told, and what the audit keeps."""

    text: str
    outcome: CallOutcome
    end: CallEnd


@dataclass(frozen=True, slots=True)
class NotStarted:
    """A call that may not start any more; `why` says what is in its way."""

    why: StartAnswer


@dataclass(frozen=True, slots=True)
class RunCalls:
    """What the calls of one run share: its claim, its brake, its places, and the signal that patience is over."""

    claim: Claim
    brake: Brake
    places: asyncio.Semaphore
    patience_over: asyncio.Event


class ToolGate:
    """The tools that a run may call, behind one gate."""

    def __init__(self, tools: Mapping[str, Tool], database: Database, scrubber: Scrubber) -> None:
        self._tools, self._database, self._scrubber = tools, database, scrubber

    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as the model sees them, in a stable order so that a provider's cache holds."""
        return tuple(self._tools[name].schema for name in sorted(self._tools))

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

    async def call(self, shared: RunCalls, call: ToolCall, request_id: str) -> Answered | NotStarted | None:
        """Make one call; None when a hard brake ended it: then the settlement says what became of it."""
        refusal = self._refusal(call, request_id)
        if refusal is not None:
            return refusal
        if await unless_pulled(shared.brake, shared.places.acquire(), hard_only=True) is None:
            return None
        try:
            return await self._start(shared, call, request_id)
        finally:
            shared.places.release()

    async def _start(self, shared: RunCalls, call: ToolCall, request_id: str) -> Answered | NotStarted | None:
        start = await self._database.persist(
            lambda tx: audit.start(tx, shared.claim, request_id), give_up=lambda: shared.brake.is_hard
        )
        if start.start is not Start.GO:
            return NotStarted(start) if start.start is Start.PENDING else None
        # The run may have been stopped while the start was written down.
        if shared.brake.is_hard:
            return None
        return await self._run(shared, call, request_id)

    async def _run(self, shared: RunCalls, call: ToolCall, request_id: str) -> Answered | None:
        tool = self._tools[call.name]
        context = ToolContext(request_id, shared.claim.run_id, shared.brake)
        started = asyncio.get_running_loop().time()
        done = await unless(_ended(shared), self._answer(tool, call.arguments, context))
        if done is None and shared.brake.is_hard:
            return None
        answer = done.value if isinstance(done, Done) else _superseded()
        elapsed = round((asyncio.get_running_loop().time() - started) * 1000)
        return self._answered(request_id, answer, elapsed, interrupted=done is None)

    async def _answer(self, tool: Tool, arguments: JsonObject, context: ToolContext) -> ToolAnswer:
        try:
            return await tool.run(arguments, context)
        except ToolBlockedError as blocked:
            return ToolAnswer(str(blocked), CallOutcome.BLOCKED, blocked_by=blocked.rule)
        except ToolTimeoutError as late:
            return ToolAnswer(str(late), CallOutcome.TIMED_OUT)
        except ToolError as failed:
            return ToolAnswer(str(failed), CallOutcome.FAILED)

    def _refusal(self, call: ToolCall, request_id: str) -> Answered | None:
        if call.name not in self._tools:
            known = ", ".join(sorted(self._tools)) or "none"
            text = f"There is no tool named {call.name}. The tools are: {known}."
            return self._answered(request_id, ToolAnswer(text, CallOutcome.BLOCKED, blocked_by="unknown tool"), 0)
        if call.broken_arguments is not None:
            error = ToolArgumentsError(f"The arguments are no JSON object: {call.broken_arguments[:200]}")
            return self._answered(request_id, ToolAnswer(str(error), CallOutcome.FAILED), 0)
        return None

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


async def _ended(shared: RunCalls) -> None:
    """Return when running reads must end: at a hard pull, or when the patience of a steer is over."""
    hard = asyncio.ensure_future(shared.brake.pulled_hard())
    over = asyncio.ensure_future(shared.patience_over.wait())
    try:
        await asyncio.wait({hard, over}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hard.cancel()
        over.cancel()


def _superseded() -> ToolAnswer:
    return ToolAnswer("cancelled: superseded by a message; no result", CallOutcome.SUPERSEDED)
