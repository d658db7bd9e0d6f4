"""A strict judge of model requests in the Anthropic messages dialect.

It stands where the provider stands and shares no code with what it judges. It answers with the first rule that is
broken, in the provider's own words. Never raises, whatever the body is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.playground.openai_judge import Refusal

Block: TypeAlias = Mapping[str, object]

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
BLOCK_TYPES = frozenset({
    "text",
    "image",
    "document",
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
})
THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class _Turn:
    """The blocks of neighbouring messages of one role, which the provider reads as one message."""

    index: int
    role: str
    blocks: tuple[Block, ...]

    def of_type(self, kind: str) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.get("type") == kind)

    def ids(self, kind: str, key: str) -> tuple[str, ...]:
        return tuple(str(block.get(key)) for block in self.of_type(kind))


def judge_anthropic(body: Mapping[str, object]) -> Refusal | None:
    """Say which rule a messages request breaks, if any."""
    return next(_refusals(body), None)


def _refusals(body: Mapping[str, object]) -> Iterator[Refusal]:
    yield from _settings(body)
    yield from _tools(body.get("tools"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Refusal("A00", "messages: at least one message is required")
        return
    yield from _shapes(messages)
    turns = _turns(messages)
    if turns[0].role != "user":
        yield Refusal("A15", 'messages: first message must use the "user" role')
    yield from _unique_ids(turns)
    yield from _pairs(turns)
    yield from _whole(body, turns)


def _settings(body: Mapping[str, object]) -> Iterator[Refusal]:
    limit = body.get("max_tokens")
    if "max_tokens" not in body:
        yield Refusal("A00", "max_tokens: Field required")
    elif type(limit) is not int or limit < 1:
        yield Refusal("A00", "max_tokens: Input should be greater than or equal to 1")
    system = body.get("system")
    if isinstance(system, list) and any(_is_blank_text(block) for block in system):
        yield Refusal("A10", "system: text content blocks must be non-empty")


def _tools(tools: object) -> Iterator[Refusal]:
    for number, tool in enumerate(tools if isinstance(tools, list) else ()):
        name = tool.get("name") if isinstance(tool, dict) else None
        schema = tool.get("input_schema") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not NAME.fullmatch(name):
            yield Refusal("C14", f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield Refusal("A00", f"tools.{number}.custom.input_schema.type: Field required")


def _shapes(messages: Sequence[object]) -> Iterator[Refusal]:
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(message, dict) or role not in ("user", "assistant"):
            yield Refusal("A00", f"messages.{index}.role: Input should be 'user' or 'assistant'")
            return
        content = message.get("content")
        if not isinstance(content, str | list):
            yield Refusal("A00", f"messages.{index}.content: Input should be a valid list")
            return
        if not content and not (role == "assistant" and index == len(messages) - 1):
            text = "all messages must have non-empty content except for the optional final assistant message"
            yield Refusal("A11", f"messages.{index}: {text}")
        for number, block in enumerate(_blocks(content)):
            yield from _block(f"messages.{index}.content.{number}", role, block)


def _block(at: str, role: str, block: object) -> Iterator[Refusal]:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or not isinstance(kind, str) or kind not in BLOCK_TYPES:
        yield Refusal("A00", f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags")
    elif _is_blank_text(block):
        yield Refusal("A10", "messages: text content blocks must be non-empty")
    elif kind == "tool_use":
        yield from _tool_use(at, role, block)
    elif kind == "tool_result":
        yield from _tool_result(at, role, block)


def _tool_use(at: str, role: str, block: Block) -> Iterator[Refusal]:
    call_id = block.get("id")
    if role != "assistant":
        yield Refusal("A03", f"{at}: `tool_use` blocks can only be in `assistant` messages")
    if not isinstance(call_id, str) or not CALL_ID.fullmatch(call_id):
        yield Refusal("A12", f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not isinstance(block.get("name"), str):
        yield Refusal("A00", f"{at}.tool_use.name: Field required")
    if not isinstance(block.get("input"), dict):
        yield Refusal("A13", f"{at}.tool_use.input: Input should be a valid dictionary")


def _tool_result(at: str, role: str, block: Block) -> Iterator[Refusal]:
    if role != "user":
        yield Refusal("A03", f"{at}: `tool_result` blocks can only be in `user` messages")
    if not isinstance(block.get("tool_use_id"), str):
        yield Refusal("A00", f"{at}.tool_result.tool_use_id: Field required")
    content = block.get("content")
    if isinstance(content, list) and any(_is_blank_text(inner) for inner in content):
        yield Refusal("A10", "messages: text content blocks must be non-empty")


def _is_blank_text(block: object) -> bool:
    if not isinstance(block, dict) or block.get("type") != "text":
        return False
    text = block.get("text")
    return not isinstance(text, str) or not text.strip()


def _blocks(content: object) -> tuple[Block, ...]:
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return tuple(content) if isinstance(content, list) else ()


def _turns(messages: Sequence[Mapping[str, object]]) -> tuple[_Turn, ...]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        role, blocks = str(message["role"]), _blocks(message["content"])
        if turns and turns[-1].role == role:
            turns[-1] = _Turn(turns[-1].index, role, turns[-1].blocks + blocks)
        else:
            turns.append(_Turn(index, role, blocks))
    return tuple(turns)


def _unique_ids(turns: Sequence[_Turn]) -> Iterator[Refusal]:
    seen: set[str] = set()
    for turn in turns:
        for number, block in enumerate(turn.blocks):
            if block.get("type") == "tool_use":
                call_id = str(block.get("id"))
                if call_id in seen:
                    at = f"messages.{turn.index}.content.{number}"
                    yield Refusal("A08", f"{at}: `tool_use` ids must be unique")
                seen.add(call_id)


def _pairs(turns: Sequence[_Turn]) -> Iterator[Refusal]:
    nothing = _Turn(0, "assistant", ())
    for before, turn in zip((nothing, *turns), (*turns, nothing), strict=True):
        called = before.ids("tool_use", "id")
        answered = Counter(turn.ids("tool_result", "tool_use_id"))
        missing = [call_id for call_id in called if call_id not in answered]
        if missing:
            yield Refusal(
                "A01",
                f"messages.{before.index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message.",
            )
        yield from _results(turn, called, answered)


def _results(turn: _Turn, called: Sequence[str], answered: Counter[str]) -> Iterator[Refusal]:
    for number, block in enumerate(turn.blocks):
        at, call_id = f"messages.{turn.index}.content.{number}", str(block.get("tool_use_id"))
        if block.get("type") != "tool_result":
            continue
        if call_id not in called:
            yield Refusal(
                "A03",
                f"{at}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message.",
            )
        if answered[call_id] > 1:
            text = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
            yield Refusal("A09", f"{at}: {text}: {call_id}")
    head = turn.blocks[: len(called)]
    if called and any(block.get("type") != "tool_result" for block in head):
        yield Refusal(
            "A05",
            f"messages.{turn.index}: Did not find {len(called)} `tool_result` block(s) at the beginning of this "
            "message. Messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks.",
        )


def _whole(body: Mapping[str, object], turns: Sequence[_Turn]) -> Iterator[Refusal]:
    if not body.get("tools") and any(turn.of_type("tool_use") or turn.of_type("tool_result") for turn in turns):
        yield Refusal("A14", "Requests which include `tool_use` or `tool_result` blocks must define tools")
    thinking = body.get("thinking")
    spoken = [turn for turn in turns if turn.role == "assistant" and turn.of_type("tool_use")]
    if isinstance(thinking, dict) and thinking.get("type") == "enabled" and spoken:
        first = spoken[-1].blocks[0].get("type")
        if first not in THINKING:
            yield Refusal(
                "A16",
                f"messages.{spoken[-1].index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block "
                "(preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
            )
    if turns[-1].role == "assistant":
        text = "This model does not support assistant message prefill. The conversation must end with a user message."
        yield Refusal("A19", text)
