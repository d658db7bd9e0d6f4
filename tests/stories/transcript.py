"""A thread's stored history in one short line, for tables that a person can check."""

import json

from bot.rules.messages import Event
from bot.rules.terms import EventKind


def events_of(rows) -> list[Event]:
    """Rows of the events table as the events that the product projects."""
    return [
        Event(
            seq=row["seq"],
            run_id=row["run_id"],
            kind=EventKind(row["kind"]),
            body=json.loads(row["text"]),
            provider=row["provider"],
            model=row["model"],
            provider_blocks=tuple(json.loads(row["provider_blocks"] or "[]")),
        )
        for row in rows
    ]


def line_of(events, run_id: str) -> str:
    """The events of one run: U, A, A(n) for n calls, and the outcomes of results in the order of the calls."""
    mine = [event for event in events if event.run_id == run_id]
    outcomes = {event.body["call_id"]: event.body["outcome"] for event in mine if event.kind is EventKind.TOOL_RESULT}
    words: list[str] = []
    for event in mine:
        if event.kind is EventKind.USER:
            words.append("U")
        elif event.kind is EventKind.ASSISTANT:
            calls = event.body["calls"]
            words.append(f"A({len(calls)})" if calls else "A")
            words += sorted(outcomes.get(call["id"], "open") for call in calls)
    return " ".join(words)


def place_of_cut(events, run_id: str, requests) -> str:
    """What a run had stored when it was cut, and what the model had been asked; the last request is the next run's."""
    before = requests[:-1]
    asked = f"{len(before)} request{'' if len(before) == 1 else 's'}"
    left = ", left" if before and before[-1].left_at is not None else ""
    return f"{line_of(events, run_id)} | {asked}{left}"
