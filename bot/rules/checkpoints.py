"""Where a run may be taken back to, what is left of a history after that, and what is said of what was set aside.

A checkpoint is a cut point of a run: the run's start, and every stored batch whose last call is answered. Going back
to one sets aside every event after it; nothing outside is undone by that, so the model is told which writes the
set-aside steps had started. Pure: it reads events and what the audit says of their calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bot.rules.card_facts import StepFacts
from bot.rules.markdown import table
from bot.rules.messages import Event, JsonObject
from bot.rules.terms import CallOutcome, EventKind, Grade, Source

LONGEST_FOUND = 120
"""Characters of a text that are kept of it in one line."""

NOTHING_CHANGED = "No write had been started in them."
WRITES = "Writes that were started in them; going back has undone none of them:"

WRITE_WORDS: Mapping[CallOutcome, str | None] = MappingProxyType({
    CallOutcome.OK: "done, not undone",
    CallOutcome.FAILED: "failed; what it may have changed is not undone",
    CallOutcome.BLOCKED: "blocked by a rule; what had left before that is not undone",
    CallOutcome.TIMED_OUT: "no answer in time: outcome unknown, check before doing it again; not undone",
    CallOutcome.CANCELLED: "broken off: outcome unknown, check before doing it again; not undone",
    CallOutcome.SUPERSEDED: "broken off: outcome unknown, check before doing it again; not undone",
    CallOutcome.NOT_STARTED: None,
    CallOutcome.UNKNOWN: "outcome unknown, check before doing it again; not undone",
})
"""What the model is told of a set-aside write by how it ended; None: it never started, and nothing is said."""


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A call of a step: what it does in a person's words, how it ended, and the status of its answer, if it had one."""

    title: str
    outcome: CallOutcome
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A point that a run may be taken back to: everything up to the event `seq` is kept.

    `step` counts the run's model messages up to here, 0 is the run's start; `said` is the model's text, in one line.
    """

    seq: int
    step: int
    said: str = ""
    calls: tuple[FoundCall, ...] = ()


def live(events: Sequence[Event]) -> list[Event]:
    """Leave out what was rolled back, and every second copy of an event.

    A rollback that lies in a later rollback's span was itself taken back, and sets nothing aside any more.
    """
    kept: list[Event] = []
    seen: set[int] = set()
    floor: int | None = None
    for event in reversed(events):
        if event.seq in seen or (floor is not None and event.seq > floor):
            continue
        seen.add(event.seq)
        kept.append(event)
        if event.kind is EventKind.ROLLED_BACK_TO:
            seq = event.body.get("seq")
            floor = seq if isinstance(seq, int) else floor
    return kept[::-1]


def checkpoints(events: Sequence[Event], run_id: str, calls: Mapping[str, StepFacts]) -> tuple[Checkpoint, ...]:
    """The checkpoints of a run that are not set aside, oldest first; `calls` is what the audit knows, by call id."""
    current = live(events)
    own = [event for event in current if event.run_id == run_id and event.kind is not EventKind.ROLLED_BACK_TO]
    if not own:
        return ()
    asked = [event for event in own if event.kind is EventKind.ASSISTANT]
    start = _before(current, asked[0]) if asked else own[-1].seq
    steps = (_after_batch(event, step, current, calls) for step, event in enumerate(asked, 1))
    return (*(Checkpoint(seq, 0) for seq in (start,) if seq is not None), *(each for each in steps if each))


def is_set_aside(events: Sequence[Event], seq: int) -> bool:
    """Whether an event of this number is stored and does not count any more."""
    stored = any(event.seq == seq for event in events)
    return stored and all(event.seq != seq for event in live(events))


def note(events: Sequence[Event], seq: int, calls: Mapping[str, StepFacts]) -> str:
    """What the model is told in place of everything after `seq`: the writes started there, and how each stands.

    All that was ever stored after it counts, also what an earlier rollback had set aside: its note goes, too. A call
    that the audit does not know is taken for a write that had started: the worst it can be. That a person deleted a
    message is said again, since the message itself may stand before this point.
    """
    after = [event for event in events if event.seq > seq]
    outcomes = _outcomes(after)
    writes = [line for call_id, name in _called(after) for line in _write(name, calls.get(call_id), outcomes, call_id)]
    told = [one_line(_text(event.body, "text"), 600) for event in after if _is_from_us(event)]
    return "\n".join([*([WRITES, *writes] if writes else [NOTHING_CHANGED]), *(f"- {line}" for line in told)])


def one_line(text: str, limit: int = LONGEST_FOUND) -> str:
    """A text as one line of at most `limit` characters: no line of it can pass for one of ours."""
    line = " ".join(text[: 10 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _before(current: Sequence[Event], first: Event) -> int | None:
    """The number of the event that stands right before a run's first step; None where the history begins with it."""
    return max((event.seq for event in current if event.seq < first.seq), default=None)


def _after_batch(
    asked: Event, step: int, current: Sequence[Event], calls: Mapping[str, StepFacts]
) -> Checkpoint | None:
    """The checkpoint after the batch of a model message; None where it called nothing or a call is still open."""
    own = dict(_called([asked]))
    results = [
        event
        for event in current
        if event.kind is EventKind.TOOL_RESULT and event.seq > asked.seq and event.body.get("call_id") in own
    ]
    outcomes = _outcomes(results)
    if not own or outcomes.keys() != own.keys():
        return None
    found = tuple(_found(name, calls.get(call_id), outcomes[call_id]) for call_id, name in own.items())
    return Checkpoint(max(event.seq for event in results), step, one_line(_text(asked.body, "text")), found)


def _found(name: str, call: StepFacts | None, outcome: CallOutcome) -> FoundCall:
    if call is None:
        return FoundCall(one_line(name) or "a call", outcome)
    return FoundCall(one_line(call.title) or one_line(name) or "a call", outcome, call.status)


def _write(name: str, call: StepFacts | None, outcomes: Mapping[str, CallOutcome], call_id: str) -> Iterator[str]:
    outcome = outcomes.get(call_id, CallOutcome.UNKNOWN)
    words = WRITE_WORDS[outcome]
    is_started_write = call is None or (call.grade is Grade.WRITE and call.started_at is not None)
    if is_started_write and words is not None:
        title = one_line(call.title if call else name) or "a call"
        target = one_line(call.target) if call else ""
        yield f"- {title}{f' ({target})' if target and target not in title else ''}: {words}"


def _outcomes(events: Sequence[Event]) -> dict[str, CallOutcome]:
    """How calls ended, by call id; of two answers to one call the first counts."""
    found: dict[str, CallOutcome] = {}
    for event in events:
        if event.kind is EventKind.TOOL_RESULT:
            outcome = _text(event.body, "outcome")
            known = CallOutcome(outcome) if outcome in set(CallOutcome) else CallOutcome.UNKNOWN
            found.setdefault(_text(event.body, "call_id"), known)
    return found


def _called(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """The ids and the tools of the calls in these events, in order."""
    for event in events:
        calls = event.body.get("calls") if event.kind is EventKind.ASSISTANT else None
        for call in calls if isinstance(calls, list | tuple) else ():
            if isinstance(call, Mapping):
                yield _text(call, "id"), _text(call, "name")


def _is_from_us(event: Event) -> bool:
    return event.kind is EventKind.USER and event.body.get("source") == Source.SYSTEM


def _text(body: JsonObject, key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""


def as_markdown() -> dict[str, str]:
    """What is told of set-aside writes, as a table for the documents."""
    rows = [(outcome.value, words or "(nothing: it never started)") for outcome, words in WRITE_WORDS.items()]
    return {"set_aside_writes": table(("how the write ended", "what the model is told of it"), rows)}
