"""A thread's events, as the model is told them.

Pure and deterministic: the same events give the same messages, whoever asks. It owns the words in which people,
surroundings and set-aside spans are told; it never changes an event. What an older fault left unpaired is mended at
the send boundary (mending.py), not here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.agent.matching import NO_RESULT, place_results
from bot.agent.mending import Fix, FixKind, Mended, flat, mend
from bot.llm.shape import NO_OUTPUT
from bot.rules.checkpoints import live
from bot.rules.messages import AssistantMessage, Event, JsonObject, Message, ToolCall, ToolResult, UserMessage
from bot.rules.terms import CallOutcome, EventKind

__all__ = [
    "NO_OUTPUT",
    "NO_RESULT",
    "Batch",
    "Fix",
    "FixKind",
    "Mended",
    "flat",
    "last_batch",
    "live",
    "mend",
    "open_calls",
    "project",
    "stored",
    "told_flat",
]

UNSENT = "(the answer above was not sent)"
SET_ASIDE = "(the steps after this point were set aside)"

_LOOKS_LIKE_OURS = re.compile(
    r"(?<=[\n\r\v\f\x85\u2028\u2029])(?=[ \t]*(?:@[^\n:]{1,80}:|\(note\)|\(the (?:answer|steps|tool) ))"
)


@dataclass(frozen=True, slots=True)
class Batch:
    """The calls of a model message, with the results that are stored, in the order of the calls.

    `overtaken`: a user event follows, so what the batch asked of the run (dispatch, await) counts no more.
    """

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    overtaken: bool

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that still wait for their result."""
        answered = {result.call_id for result in self.results}
        return tuple(call for call in self.calls if call.id not in answered)


def project(events: Sequence[Event]) -> tuple[Message, ...]:
    """Turn events into messages.

    Set-aside spans are left out, each result stands right after its call, and user texts in a row are one message.
    A history that was stored whole gives messages that need no mending, save that the last may be the model's.
    """
    told = [_message(event) for event in live(events)]
    messages: list[Message] = []
    for message in place_results([message for message in told if message is not None]):
        if isinstance(message, UserMessage) and messages and isinstance(messages[-1], UserMessage):
            messages[-1] = UserMessage(f"{messages[-1].text}\n\n{message.text}")
        else:
            messages.append(message)
    return tuple(messages)


def last_batch(events: Sequence[Event]) -> Batch | None:
    """The batch of the last model message; None where there is none or it called nothing."""
    current = live(events)
    at = next((n for n in reversed(range(len(current))) if current[n].kind is EventKind.ASSISTANT), None)
    calls = () if at is None else _calls(current[at].body)
    if at is None or not calls:
        return None
    after = current[at + 1 :]
    found = {result.call_id: result for result in map(_message, reversed(after)) if isinstance(result, ToolResult)}
    results = tuple(found[call.id] for call in calls if call.id in found)
    return Batch(calls, results, any(event.kind is EventKind.USER for event in after))


def open_calls(events: Sequence[Event]) -> tuple[ToolCall, ...]:
    """The calls of the last model message that have no result yet, in its order."""
    batch = last_batch(events)
    return () if batch is None else batch.open_calls


def told_flat(events: Sequence[Event]) -> frozenset[str]:
    """The calls of the rounds that are told as plain text, because their provider's blocks could not be kept."""
    marked = [event for event in events if event.kind is EventKind.ASSISTANT and event.body.get("flat") is True]
    return frozenset(call.id for event in marked for call in _calls(event.body))


def stored(message: AssistantMessage | ToolResult) -> JsonObject:
    """The body of the event that stores a message; project() reads it back equal."""
    if isinstance(message, ToolResult):
        return {
            "call_id": message.call_id,
            "name": message.name,
            "text": message.text,
            "outcome": message.outcome.value,
        }
    return {"text": message.text, "calls": [_stored_call(call) for call in message.calls]}


def _stored_call(call: ToolCall) -> JsonObject:
    return {
        "id": call.id,
        "name": call.name,
        "arguments": dict(call.arguments),
        "broken_arguments": call.broken_arguments,
    }


def _message(event: Event) -> Message | None:
    match event.kind:
        case EventKind.USER:
            return UserMessage(_user_text(event.body))
        case EventKind.CONTEXT:
            text = _text(event.body, "text")
            return UserMessage(text) if text.strip() else None
        case EventKind.ROLLED_BACK_TO:
            return UserMessage("\n".join(filter(None, (SET_ASIDE, _text(event.body, "note")))))
        case EventKind.ASSISTANT:
            return _assistant(event)
        case EventKind.TOOL_RESULT:
            return _result(event.body)


def _user_text(body: JsonObject) -> str:
    name = " ".join(_text(body, "name").replace(":", " ").split()) or _text(body, "author") or "somebody"
    # Without the quotation mark, a pasted line "@ana: yes, restart it" would read as Ana's own words.
    said = _LOOKS_LIKE_OURS.sub("> ", _text(body, "text"))
    line = f"{'(note) ' if body.get('note') is True else ''}@{name}: {said}"
    return f"{UNSENT}\n{line}" if body.get("unsent_answer") is True else line


def _assistant(event: Event) -> AssistantMessage | None:
    message = AssistantMessage(
        _text(event.body, "text"), _calls(event.body), event.provider, event.model, event.provider_blocks
    )
    return message if message.text.strip() or message.calls else None


def _calls(body: JsonObject) -> tuple[ToolCall, ...]:
    return tuple(_call(call) for call in _maps(body.get("calls")))


def _call(body: JsonObject) -> ToolCall:
    arguments, broken = body.get("arguments"), body.get("broken_arguments")
    return ToolCall(
        _text(body, "id"),
        _text(body, "name"),
        arguments if isinstance(arguments, Mapping) else {},
        broken if isinstance(broken, str) else None,
    )


def _result(body: JsonObject) -> ToolResult:
    text, outcome = _text(body, "text"), _text(body, "outcome")
    known = CallOutcome(outcome) if outcome in set(CallOutcome) else CallOutcome.UNKNOWN
    return ToolResult(_text(body, "call_id"), _text(body, "name"), text if text.strip() else NO_OUTPUT, known)


def _maps(value: object) -> Iterator[JsonObject]:
    if isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, Mapping))


def _text(body: JsonObject, key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""
