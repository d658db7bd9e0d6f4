"""How open calls are answered by somebody other than the tool: truly, so that the history stays valid.

A history that holds a call without its answer is refused by every provider, for ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.rules.closing_words import Closing, closing, finished
from bot.rules.messages import JsonObject
from bot.rules.terms import EventKind, Grade, InterruptKind
from bot.rules.tool_policy import BLOCKED_BY, told
from storage import approval_rows, audit, history
from storage.approval_rows import Approval
from storage.engine import Transaction
from storage.history import NewEvent
from storage.runs import Run
from storage.threads import Thread


async def answer_open_calls(tx: Transaction, thread: Thread, run: Run, by: InterruptKind | None) -> Thread:
    """Answer every open call of a run that ends; returns the thread with its new last event."""
    calls = await history.open_calls(tx, thread.id, run.id)
    if calls:
        await approval_rows.supersede(tx, run.id)
    return await _answer(tx, thread, run, calls, by)


async def answer_unstarted_writes(tx: Transaction, thread: Thread, run: Run, by: InterruptKind) -> Thread:
    """Answer the writes that had not started when the run was paused; the questions to people are taken back."""
    calls = await history.open_calls(tx, thread.id, run.id)
    if not calls:
        return thread
    await approval_rows.supersede(tx, run.id)
    found = await audit.rows_of(tx, run.id, [str(call["id"]) for call in calls])
    waiting = [
        call for call in calls if (row := found.get(str(call["id"]))) and row.grade is Grade.WRITE and not row.started
    ]
    return await _answer(tx, thread, run, waiting, by)


async def answer_lost_writes(tx: Transaction, thread: Thread, run: Run) -> Thread:
    """Answer the writes that had started when their worker was lost: nobody knows what they did, so none runs again."""
    calls = await history.open_calls(tx, thread.id, run.id)
    found = await audit.rows_of(tx, run.id, [str(call["id"]) for call in calls]) if calls else {}
    lost = [call for call in calls if (row := found.get(str(call["id"]))) and row.started and row.grade is Grade.WRITE]
    return await _answer(tx, thread, run, lost, InterruptKind.DRAIN)


async def _answer(
    tx: Transaction, thread: Thread, run: Run, calls: Sequence[JsonObject], by: InterruptKind | None
) -> Thread:
    if not calls:
        return thread
    found = await audit.rows_of(tx, run.id, [str(call["id"]) for call in calls])
    asked = await approval_rows.of_run(tx, run.id)
    answers = [await _close(tx, call, _end_of(found.get(str(call["id"])), asked, by)) for call in calls]
    return replace(thread, event_seq=await history.insert(tx, thread, run.id, answers))


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a call stands that is closed here."""

    row: audit.CallRow | None
    answer: Closing


def _end_of(row: audit.CallRow | None, asked: Mapping[str, Approval], by: InterruptKind | None) -> _Ended:
    """How a call stands; one that the audit does not know is taken for the worst: a write that had started."""
    if row is None:
        return _Ended(None, closing(Grade.WRITE, started=True, by=by))
    if row.grade is Grade.WRITE and row.started and row.outcome is not None:
        return _Ended(row, finished(row.outcome, row.status, by))
    approval = asked.get(row.request_id)
    if not row.started and approval is not None and approval.state in BLOCKED_BY:
        # It was decided before the end: nobody had yet come to tell the model.
        return _Ended(row, told(approval.state) or closing(row.grade, started=False, by=by))
    return _Ended(row, closing(row.grade, started=row.started, by=by))


async def _close(tx: Transaction, call: JsonObject, ended: _Ended) -> NewEvent:
    if ended.row is not None:
        await audit.close(tx, ended.row.request_id, ended.answer.outcome)
    body = {"call_id": call["id"], "name": call["name"], "text": ended.answer.text, "outcome": ended.answer.outcome}
    return NewEvent(EventKind.TOOL_RESULT, body)
