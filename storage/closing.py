"""How open calls are answered by somebody other than the tool: truly, so that the history stays valid.

A history that holds a call without its answer is refused by every provider, for ever.
"""

from collections.abc import Sequence
from dataclasses import replace

from bot.rules.closing_words import closing
from bot.rules.messages import JsonObject
from bot.rules.terms import EventKind, Grade, InterruptKind
from storage import audit, history
from storage.engine import Transaction
from storage.history import NewEvent
from storage.runs import Run
from storage.threads import Thread


async def answer_open_calls(tx: Transaction, thread: Thread, run: Run, by: InterruptKind | None) -> Thread:
    """Answer every open call of a run that ends; returns the thread with its new last event."""
    return await _answer(tx, thread, run, await history.open_calls(tx, thread.id, run.id), by)


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
    answers = [await _close(tx, call, found.get(str(call["id"])), by) for call in calls]
    return replace(thread, event_seq=await history.insert(tx, thread, run.id, answers))


async def _close(tx: Transaction, call: JsonObject, row: audit.CallRow | None, by: InterruptKind | None) -> NewEvent:
    """Close one call; one that the audit does not know is taken for a write that had started: the worst it can be."""
    answer = closing(row.grade if row else Grade.WRITE, started=row is None or row.started, by=by)
    if row is not None:
        await audit.close(tx, row.request_id, answer.outcome)
    body = {"call_id": call["id"], "name": call["name"], "text": answer.text, "outcome": answer.outcome}
    return NewEvent(EventKind.TOOL_RESULT, body)
