"""A message put together from the chunks of OpenAI's chat dialect, as the many services that speak it send them.

Pure. The rules for calls are those of tests/cases/stream_quirks.jsonl: an index may be missing, be always 0 or be used
twice, an id may come with every chunk, be empty or change, arguments may come as an object, and a last chunk may
repeat a whole call. A message without finish_reason is no message.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bot.errors import ModelOverloadedError, ModelStreamError
from bot.llm.assembly import Origin, count_of, index_of, kept_json, read_event, text_of
from bot.llm.pairing import JsonMap, inner, maps
from bot.llm.provider import ModelReply
from bot.llm.texts import clean, read_arguments
from bot.rules.messages import AssistantMessage, JsonObject, Usage

CUT_OFF = frozenset({"length", "max_tokens", "model_length", "content_filter"})
"""The finish reasons of a message that ends before the model's own end: none of its calls may run."""
FAILED = frozenset({"error", "insufficient_system_resource"})
"""The finish reasons by which a service says that it failed (OpenRouter, DeepSeek)."""
REASONING = ("reasoning_content", "reasoning")
"""Fields that some services must get back with the message they came with (D03, K03)."""
DETAILS = "reasoning_details"
"""A list of opaque objects in the place of those (OpenRouter); it goes back in the order in which it came."""
EXTRA = "extra_content"
"""What a call may carry for its service alone: the thought signature of Gemini's own OpenAI endpoint (G06)."""


@dataclass(slots=True)
class _Slot:
    """A call on its way."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: JsonMap = field(default_factory=dict)

    @property
    def whole(self) -> JsonObject | None:
        """The arguments, once they are a whole object; nothing can be added to them then."""
        if not self.arguments.rstrip().endswith("}"):
            return None
        read, broken = read_arguments(self.arguments)
        return read if broken is None else None


@dataclass(frozen=True, slots=True)
class _Piece:
    """What one chunk says of one call."""

    index: int | None
    id: str
    name: str
    arguments: str
    extra: JsonMap

    @classmethod
    def of(cls, delta: JsonMap) -> "_Piece":
        function = inner(delta, "function")
        arguments = function.get("arguments")
        written = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        name, extra = text_of(function.get("name")), inner(delta, EXTRA)
        return cls(index_of(delta.get("index")), text_of(delta.get("id")), name, written, extra)


@dataclass(slots=True)
class OpenAIAssembly:
    """The message of one stream."""

    origin: Origin
    _text: list[str] = field(default_factory=list)
    _reasoning: dict[str, list[str]] = field(default_factory=dict)
    _details: list[JsonMap] = field(default_factory=list)
    _slots: list[_Slot] = field(default_factory=list)
    _finish: str = ""
    _usage: JsonMap = field(default_factory=dict)

    def feed(self, event: str, text: str) -> bool:
        """Take one event; True when nothing after it is needed. Raises the ModelError that it reports."""
        if text.strip() == "[DONE]":
            return True
        chunk = read_event(event, text, self.origin.secret)
        # Some services count up in every chunk: the last count is the whole, and a sum would be too much.
        self._usage = inner(chunk, "usage") or self._usage
        for choice in maps(chunk.get("choices"))[:1]:
            self._take(inner(choice, "delta"))
            self._finish = self._finish or text_of(choice.get("finish_reason"))
        return False

    def reply(self) -> ModelReply:
        """Give the finished message; raises ModelStreamError where its proper end has not come."""
        if not self._finish:
            raise ModelStreamError("the stream ended without a finish_reason")
        if self._finish in FAILED:
            raise ModelOverloadedError(f"the model service gave up with finish_reason {self._finish}")
        slots = [slot for slot in self._slots if slot.name or slot.arguments]
        calls = tuple(self.origin.call(slot.name, slot.arguments) for slot in slots)
        extras = {call.id: slot.extra for call, slot in zip(calls, slots, strict=True) if slot.extra}
        message = AssistantMessage(
            clean("".join(self._text)), calls, self.origin.provider, self.origin.model, self._blocks(extras)
        )
        return ModelReply(message, self._spent(), stopped_at_limit=self._finish in CUT_OFF)

    def _blocks(self, extras: Mapping[str, JsonMap]) -> tuple[JsonObject, ...]:
        """What goes back with the message, as the fields to send; EXTRA is by the id of its call."""
        fields: dict[str, object] = {key: "".join(parts) for key, parts in self._reasoning.items()}
        fields |= {DETAILS: self._details} if self._details else {}
        fields |= {EXTRA: extras} if extras else {}
        kept = kept_json(fields)
        return (kept,) if kept else ()

    def _take(self, delta: JsonMap) -> None:
        self._text.append(text_of(delta.get("content")) or text_of(delta.get("refusal")))
        for key in REASONING:
            if text := text_of(delta.get(key)):
                self._reasoning.setdefault(key, []).append(text)
        self._details.extend(maps(delta.get(DETAILS)))
        for call in maps(delta.get("tool_calls")):
            self._place(_Piece.of(call))

    def _place(self, piece: _Piece) -> None:
        slot = self._slot_of(piece)
        if slot is None or _opens_another(slot, piece):
            self._slots.append(_Slot(piece.index, piece.id, piece.name, piece.arguments, piece.extra))
            return
        slot.extra = slot.extra or piece.extra
        if _repeats(slot, piece):
            return
        slot.id, slot.name = slot.id or piece.id, slot.name or piece.name
        slot.arguments += piece.arguments

    def _slot_of(self, piece: _Piece) -> _Slot | None:
        """The call that a piece may belong to: by index; without one by id; without both it is the last."""
        return next(filter(lambda slot: _may_own(slot, piece), reversed(self._slots)), None)

    def _spent(self) -> Usage:
        if not self._usage:
            return self.origin.estimate(sum(map(len, self._written())))
        cached = count_of(inner(self._usage, "prompt_tokens_details").get("cached_tokens"))
        sent, answered = self._usage.get("prompt_tokens"), self._usage.get("completion_tokens")
        return Usage(count_of(sent), count_of(answered), cached_tokens=cached)

    def _written(self) -> Iterator[str]:
        yield from self._text
        for parts in self._reasoning.values():
            yield from parts
        for slot in self._slots:
            yield slot.arguments


def _may_own(slot: _Slot, piece: _Piece) -> bool:
    if piece.index is not None:
        return slot.index == piece.index
    if piece.id:
        return slot.id == piece.id
    return not piece.name


def _opens_another(slot: _Slot, piece: _Piece) -> bool:
    """Whether a piece at the same index or id is a call of its own."""
    if not piece.name:
        return False
    if piece.id and slot.id and piece.id != slot.id:
        return True
    whole = slot.whole
    return whole is not None and (piece.name != slot.name or not _says_again(whole, piece))


def _repeats(slot: _Slot, piece: _Piece) -> bool:
    """Whether a piece says a finished call over again (LiteLLM sends such a last chunk)."""
    whole = slot.whole
    return whole is not None and bool(piece.arguments.strip()) and _says_again(whole, piece)


def _says_again(whole: JsonObject, piece: _Piece) -> bool:
    read, broken = read_arguments(piece.arguments)
    blank = not piece.arguments.strip()
    return blank or (broken is None and isinstance(read, Mapping) and read == whole)
