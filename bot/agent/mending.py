"""What is done at the send boundary about a history that an older fault left unpaired.

Pure, deterministic, one pass, idempotent, counted. It never invents a call, never changes what is stored, and never
says of a lost result whether the call had its effect. A message it changes loses its provider's own blocks, because
what was signed may not be altered; a message it leaves alone keeps them byte for byte.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from enum import StrEnum
from string import ascii_letters, digits

from bot.agent.matching import NO_RESULT, Place, match, stands_right
from bot.llm.shape import NO_OUTPUT
from bot.llm.texts import clean, clean_json, tool_name
from bot.llm.validate import has_good_arguments, is_portable
from bot.rules.messages import AssistantMessage, JsonObject, Message, ToolCall, ToolResult, UserMessage
from bot.rules.terms import CallOutcome

GO_ON = "(go on)"
MISSING_START = "(earlier messages are missing)"

_ALPHABET = ascii_letters + digits


class FixKind(StrEnum):
    """What was mended; each is a fault somewhere else and is worth an alarm."""

    NO_RESULT = "no_result"
    ORPHAN = "orphan"
    DUPLICATE = "duplicate"
    MOVED = "moved"
    REMINTED = "reminted"
    CLEANED = "cleaned"
    EMPTY = "empty"
    JOINED = "joined"
    BRIDGED = "bridged"
    GO_ON = "go_on"


@dataclass(frozen=True, slots=True)
class Fix:
    """One thing that was mended: what, at which position of the messages given, and for which call."""

    kind: FixKind
    at: int
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Mended:
    """Messages that every dialect accepts, and what had to be done for that."""

    messages: tuple[Message, ...]
    fixes: tuple[Fix, ...]


def mend(messages: Sequence[Message]) -> Mended:
    """Make messages that pass bot.llm.validate.

    Messages that pass already come back without a fix, and unchanged but for the order of results in a block.
    """
    calls = [call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    answers = match(messages)
    bench = _Bench(messages, answers, frozenset(answers.values()), frozenset(calls))
    for at, message in enumerate(messages):
        bench.take(at, message)
    bench.finish()
    return Mended(tuple(bench.out), tuple(bench.fixes))


def flat(messages: Sequence[Message], only: AbstractSet[str] | None = None) -> tuple[Message, ...]:
    """Tell the tool rounds as plain text: no calls, no provider blocks, nothing that could be unpaired.

    The last resort when a checked history is refused; with `only`, of the rounds that have one of these calls. Calls
    and results are told in the user's voice: told in its own, the model would learn to write calls as text.
    """
    told: list[Message] = []
    calls: dict[str, ToolCall] = {}
    for message in mend(messages).messages:
        match message:
            case UserMessage():
                told.append(message)
            case AssistantMessage(text=text) if only is None or not only.isdisjoint(call.id for call in message.calls):
                calls.update({call.id: call for call in message.calls})
                told.append(AssistantMessage(text))
            case ToolResult() if message.call_id in calls:
                told.append(UserMessage(_told(calls[message.call_id], message)))
            case AssistantMessage() | ToolResult():
                told.append(message)
    return mend(told).messages


def _told(call: ToolCall, result: ToolResult) -> str:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return f"(the tool {call.name} was called with {arguments}; outcome: {result.outcome})\n{result.text}"


@dataclass(slots=True)
class _Bench:
    """One mending at work."""

    given: Sequence[Message]
    answers: Mapping[Place, int]
    claimed: frozenset[int]
    opened: frozenset[str]
    out: list[Message] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def take(self, at: int, message: Message) -> None:
        """Take the next message; a result that answers a call is taken with that call."""
        match message:
            case UserMessage():
                self._user(at, message.text)
            case AssistantMessage():
                self._assistant(at, message)
            case ToolResult() if at not in self.claimed:
                kind = FixKind.DUPLICATE if message.call_id in self.opened else FixKind.ORPHAN
                self._note(kind, at, message.call_id)

    def finish(self) -> None:
        """End with what the model is to answer."""
        if not self.out or isinstance(self.out[-1], AssistantMessage):
            self.out.append(UserMessage(GO_ON))
            self._note(FixKind.GO_ON, len(self.given))

    def _user(self, at: int, text: str) -> None:
        text = self._cleaned(at, text)
        if not text.strip():
            self._note(FixKind.EMPTY, at)
        elif self.out and isinstance(self.out[-1], UserMessage):
            self.out[-1] = UserMessage(f"{self.out[-1].text}\n\n{text}")
            self._note(FixKind.JOINED, at)
        else:
            self.out.append(UserMessage(text))

    def _assistant(self, at: int, message: AssistantMessage) -> None:
        if not message.text.strip() and not message.calls:
            self._note(FixKind.EMPTY, at)
            return
        if not self.out or isinstance(self.out[-1], AssistantMessage):
            self.out.append(UserMessage(GO_ON if self.out else MISSING_START))
            self._note(FixKind.BRIDGED, at)
        calls = tuple(self._call(at, call) for call in message.calls)
        text = self._cleaned(at, message.text)
        changed = calls != message.calls or text != message.text
        self.out.append(replace(message, text=text, calls=calls, provider_blocks=()) if changed else message)
        for nth, call in enumerate(calls):
            self.out.append(self._answer(at, nth, call))

    def _call(self, at: int, call: ToolCall) -> ToolCall:
        fixed = self._well_formed(call)
        if fixed != call:
            self._note(FixKind.CLEANED, at, call.id)
        if not is_portable(call.id) or call.id in self.used:
            fixed = replace(fixed, id=self._minted(call.id))
            self._note(FixKind.REMINTED, at, call.id)
        self.used.add(fixed.id)
        return fixed

    def _well_formed(self, call: ToolCall) -> ToolCall:
        name, broken = tool_name(call.name), call.broken_arguments
        if name == call.name and has_good_arguments(call) and (broken is None or clean(broken) == broken):
            return call
        return replace(
            call,
            name=name,
            arguments=_object(call.arguments),
            broken_arguments=None if broken is None else clean(broken),
        )

    def _minted(self, call_id: str) -> str:
        """A portable id that depends on the old one and its repetition only, so that a prompt cache stays warm."""
        nth = 0
        while (minted := _portable(f"{call_id}/{nth}")) in self.used | self.opened:
            nth += 1
        return minted

    def _answer(self, at: int, nth: int, call: ToolCall) -> ToolResult:
        where = self.answers.get((at, nth))
        found = None if where is None else self.given[where]
        if where is None or not isinstance(found, ToolResult):
            self._note(FixKind.NO_RESULT, at, call.id)
            return ToolResult(call.id, call.name, NO_RESULT, CallOutcome.UNKNOWN)
        if not stands_right(self.given, at, where):
            self._note(FixKind.MOVED, where, call.id)
        text = self._cleaned(where, found.text)
        if not text.strip():
            text = NO_OUTPUT
            self._note(FixKind.CLEANED, where, call.id)
        return replace(found, call_id=call.id, name=tool_name(found.name), text=text)

    def _cleaned(self, at: int, text: str) -> str:
        cleaned = clean(text)
        if cleaned != text:
            self._note(FixKind.CLEANED, at)
        return cleaned

    def _note(self, kind: FixKind, at: int, call_id: str | None = None) -> None:
        self.fixes.append(Fix(kind, at, call_id))


def _object(arguments: object) -> JsonObject:
    """What can be sent of broken arguments; a call that was answered already is only told, never run again."""
    if not isinstance(arguments, Mapping):
        return {}
    try:
        cleaned = clean_json(arguments)
    except (TypeError, ValueError):
        return {}
    return cleaned if isinstance(cleaned, Mapping) else {}


def _portable(seed: str) -> str:
    number = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest(), "big")
    letters = []
    for _ in range(9):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return "".join(letters)
