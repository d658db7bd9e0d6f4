"""A message put together from the events of Anthropic's messages dialect.

Pure. Blocks keep their order. Where one of them is opaque (thinking with its signature, redacted thinking), all are
kept as they came, because the service refuses a message in which any of them was changed; only the ids of calls are
replaced by ours, and blank texts left out. A message without message_stop and a stop_reason is no message.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bot.errors import ModelStreamError
from bot.llm.assembly import Origin, count_of, index_of, kept_json, read_event, text_of
from bot.llm.pairing import JsonMap, inner
from bot.llm.provider import ModelReply
from bot.llm.texts import REPLACEMENT, clean, read_arguments
from bot.rules.messages import AssistantMessage, JsonObject, ToolCall, Usage

CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
"""The stop reasons of a message that ends before the model's own end: none of its calls may run."""
OPAQUE = frozenset({"thinking", "redacted_thinking"})
"""Blocks that only the service can make and that it wants back (A16 to A18)."""

_DELTAS: Mapping[str, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
"""A delta's type -> the key of its text; a delta of another type adds nothing that we keep."""


@dataclass(slots=True)
class _Block:
    """A block on its way: as it was opened, and what was added to it, by key."""

    index: int | None
    opened: JsonMap
    added: dict[str, list[str]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Its type."""
        return text_of(self.opened.get("type"))

    def text(self, key: str) -> str:
        """What stood under a key at first and what was added to it; halves of a character are joined."""
        return clean(text_of(self.opened.get(key)) + "".join(self.added.get(key, ())))

    @property
    def altered(self) -> bool:
        """Whether something in it cannot be stored or sent as it came; what was signed is then worth nothing."""
        raw = [text_of(value) for value in self.opened.values()] + ["".join(parts) for parts in self.added.values()]
        return any(clean(text).count(REPLACEMENT) != text.count(REPLACEMENT) for text in raw)

    @property
    def arguments(self) -> str | None:
        """The arguments as text; None where they came whole with the opening."""
        return self.text("partial_json") or None


@dataclass(slots=True)
class AnthropicAssembly:
    """The message of one stream."""

    origin: Origin
    _blocks: list[_Block] = field(default_factory=list)
    _stop_reason: str = ""
    _stopped: bool = False
    _usage: dict[str, object] = field(default_factory=dict)

    def feed(self, event: str, text: str) -> bool:
        """Take one event; True when the message has stopped. Raises the ModelError that it reports."""
        body = read_event(event, text, self.origin.secret)
        match body.get("type") or event:
            case "message_start":
                self._count(inner(inner(body, "message"), "usage"))
            case "content_block_start":
                self._blocks.append(_Block(index_of(body.get("index")), inner(body, "content_block")))
            case "content_block_delta":
                self._add(index_of(body.get("index")), inner(body, "delta"))
            case "message_delta":
                self._stop_reason = text_of(inner(body, "delta").get("stop_reason")) or self._stop_reason
                self._count(inner(body, "usage"))
            case "message_stop":
                self._stopped = True
        return self._stopped

    def reply(self) -> ModelReply:
        """Give the finished message; raises ModelStreamError where its proper end has not come."""
        if not self._stopped or not self._stop_reason:
            raise ModelStreamError("the stream ended without its message_stop and stop_reason")
        made = [(block, self._call(block) if block.kind == "tool_use" else None) for block in self._blocks]
        message = AssistantMessage(
            "".join(block.text("text") for block in self._blocks if block.kind == "text"),
            tuple(call for _, call in made if call is not None),
            self.origin.provider,
            self.origin.model,
            _sent_back(made),
        )
        return ModelReply(message, self._spent(), stopped_at_limit=self._stop_reason in CUT_OFF)

    def _add(self, index: int | None, delta: JsonMap) -> None:
        kind = text_of(delta.get("type"))
        owner = next((block for block in reversed(self._blocks) if index is None or block.index == index), None)
        if owner is None:
            raise ModelStreamError("a part came for a block that was never opened")
        if kind in _DELTAS:
            key = _DELTAS[kind]
            owner.added.setdefault(key, []).append(text_of(delta.get(key)))

    def _call(self, block: _Block) -> ToolCall:
        written = block.arguments
        call = self.origin.call(text_of(block.opened.get("name")), written or "")
        if written is None:
            # Some gateways send the whole input with the opening and no delta.
            return _with_input(call, inner(block.opened, "input"))
        return call

    def _count(self, usage: JsonMap) -> None:
        # The counts of message_delta are totals so far, and may repeat those of message_start.
        self._usage.update({key: value for key, value in usage.items() if value is not None})

    def _spent(self) -> Usage:
        if "output_tokens" not in self._usage:
            return self.origin.estimate(sum(map(len, self._written())))
        cached = count_of(self._usage.get("cache_read_input_tokens"))
        fresh = count_of(self._usage.get("input_tokens")) + count_of(self._usage.get("cache_creation_input_tokens"))
        return Usage(fresh + cached, count_of(self._usage.get("output_tokens")), cached_tokens=cached)

    def _written(self) -> Iterator[str]:
        for block in self._blocks:
            for parts in block.added.values():
                yield from parts


def _with_input(call: ToolCall, given: JsonMap) -> ToolCall:
    return ToolCall(call.id, call.name, kept_json(given))


def _sent_back(made: list[tuple[_Block, ToolCall | None]]) -> tuple[JsonObject, ...]:
    """The blocks that go back with the message; none where nothing is opaque, or where that could not be kept."""
    opaque = [block for block, _ in made if block.kind in OPAQUE]
    if not opaque or any(block.altered for block in opaque):
        return ()
    return tuple(_finished(block, call) for block, call in made if block.kind != "text" or block.text("text").strip())


def _finished(block: _Block, call: ToolCall | None) -> JsonObject:
    body = dict(block.opened)
    if call is not None:
        body |= {"id": call.id, "name": call.name, "input": call.arguments}
        return kept_json(body)
    for key in block.added:
        if key == "partial_json":
            body["input"], _ = read_arguments(block.text(key))
        else:
            body[key] = block.text(key)
    return kept_json(body)
