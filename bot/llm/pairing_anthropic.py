"""What Anthropic's messages dialect demands of a request body.

Each rule carries the id of the reference table and the provider's own words. Messages of one role in a row count as
one message, as the provider counts them (A07). Pure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

from bot.llm.pairing import Check, JsonMap, enforce, first_repeated, inner, maps

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_THINKING = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Turn:
    """All messages of one role in a row."""

    role: str
    blocks: tuple[JsonMap, ...]

    def of(self, kind: str) -> list[JsonMap]:
        """The blocks of one type, in order."""
        return [block for block in self.blocks if block.get("type") == kind]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request body taken apart; `signed` is what the provider signed: signature -> the text it belongs to."""

    body: JsonMap
    turns: tuple[Turn, ...]
    signed: Mapping[str, str] | None

    @property
    def blocks(self) -> list[JsonMap]:
        """Every block of every turn."""
        return [block for turn in self.turns for block in turn.blocks]

    @property
    def pairs(self) -> list[tuple[Turn, Turn]]:
        """Every turn with the one after it; nothing stands before the first and after the last."""
        nothing = Turn("", ())
        return list(pairwise((nothing, *self.turns, nothing)))


_Rule: TypeAlias = Check[Asked]


def check_anthropic(body: JsonMap, signed: Mapping[str, str] | None = None) -> None:
    """Raise PairingError, with the rule of RULES, for a request body that would be refused.

    With `signed`, thinking blocks are also compared with what the provider has signed.
    """
    enforce(RULES, Asked(body, _turns(body), signed))


def _turns(body: JsonMap) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for message in maps(body.get("messages")):
        role, blocks = str(message.get("role")), _blocks(message.get("content"))
        if turns and turns[-1].role == role:
            turns[-1] = Turn(role, turns[-1].blocks + blocks)
        else:
            turns.append(Turn(role, blocks))
    return tuple(turns)


def _blocks(content: object) -> tuple[JsonMap, ...]:
    return ({"type": "text", "text": content},) if isinstance(content, str) else tuple(maps(content))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _use_ids(turn: Turn) -> list[str]:
    return [str(block.get("id")) for block in turn.of("tool_use")]


def _result_ids(turn: Turn) -> list[str]:
    return [str(block.get("tool_use_id")) for block in turn.of("tool_result")]


def _first_is_user(asked: Asked) -> str | None:
    broken = not asked.turns or asked.turns[0].role != "user"
    return 'messages: first message must use the "user" role' if broken else None


def _no_empty_content(asked: Asked) -> str | None:
    messages = maps(asked.body.get("messages"))
    broken = any(
        not message.get("content") and not (message is messages[-1] and message.get("role") == "assistant")
        for message in messages
    )
    return "all messages must have non-empty content except the optional final assistant message" if broken else None


def _no_blank_text(asked: Asked) -> str | None:
    broken = any(block.get("type") == "text" and not _text(block.get("text")).strip() for block in asked.blocks)
    return "messages: text content blocks must be non-empty" if broken else None


def _ids_fit(asked: Asked) -> str | None:
    wrong = next((one for turn in asked.turns for one in _use_ids(turn) if not _ID.fullmatch(one)), None)
    return f"tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$': {wrong!r}" if wrong is not None else None


def _inputs_are_objects(asked: Asked) -> str | None:
    uses = [block for block in asked.blocks if block.get("type") == "tool_use"]
    broken = any(not isinstance(block.get("input"), Mapping) for block in uses)
    return "tool_use.input: Input should be a valid dictionary" if broken else None


def _ids_are_unique(asked: Asked) -> str | None:
    again = first_repeated(one for turn in asked.turns for one in _use_ids(turn))
    return f"`tool_use` ids must be unique: {again}" if again else None


def _every_use_is_answered(asked: Asked) -> str | None:
    for turn, after in asked.pairs:
        missing = [one for one in _use_ids(turn) if one not in _result_ids(after)]
        if missing:
            return (
                "`tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
    return None


def _every_result_has_its_use(asked: Asked) -> str | None:
    for before, turn in asked.pairs:
        orphan = next((one for one in _result_ids(turn) if one not in _use_ids(before)), None)
        if orphan is not None:
            return f"unexpected `tool_use_id` found in `tool_result` blocks: {orphan}"
    return None


def _one_result_a_use(asked: Asked) -> str | None:
    again = next(filter(None, (first_repeated(_result_ids(turn)) for turn in asked.turns)), None)
    return f"each tool_use must have a single result. Found multiple `tool_result` blocks: {again}" if again else None


def _results_come_first(asked: Asked) -> str | None:
    for turn in asked.turns:
        count = len(turn.of("tool_result"))
        if any(block.get("type") != "tool_result" for block in turn.blocks[:count]):
            return f"Did not find {count} `tool_result` block(s) at the beginning of this message."
    return None


def _tools_are_defined(asked: Asked) -> str | None:
    used = any(block.get("type") in {"tool_use", "tool_result"} for block in asked.blocks)
    broken = used and not asked.body.get("tools")
    return "Requests which include `tool_use` or `tool_result` blocks must define tools" if broken else None


def _last_is_user(asked: Asked) -> str | None:
    broken = bool(asked.turns) and asked.turns[-1].role == "assistant"
    return "This model does not support assistant message prefill." if broken else None


def _starts_with_thinking(asked: Asked) -> str | None:
    if inner(asked.body, "thinking").get("type") != "enabled":
        return None
    last = next((turn for turn in reversed(asked.turns) if turn.role == "assistant"), None)
    broken = last is not None and bool(last.of("tool_use")) and last.blocks[0].get("type") not in _THINKING
    return "Expected `thinking` or `redacted_thinking`, but found `tool_use`." if broken else None


def _thinking(turns: Sequence[Turn]) -> list[JsonMap]:
    return [block for turn in turns for block in turn.of("thinking")]


def _thinking_is_unchanged(asked: Asked) -> str | None:
    signed = asked.signed or {}
    broken = any(
        signed.get(_text(block.get("signature")), block.get("thinking")) != block.get("thinking")
        for block in _thinking(asked.turns)
    )
    return "`thinking` blocks in the latest assistant message cannot be modified." if broken else None


def _signatures_are_known(asked: Asked) -> str | None:
    signatures = [_text(block.get("signature")) for block in _thinking(asked.turns)]
    broken = any(not one or (asked.signed is not None and one not in asked.signed) for one in signatures)
    return "Invalid `signature` in `thinking` block" if broken else None


RULES: Mapping[str, _Rule] = MappingProxyType({
    "A15": _first_is_user,
    "A11": _no_empty_content,
    "A10": _no_blank_text,
    "A12": _ids_fit,
    "A13": _inputs_are_objects,
    "A08": _ids_are_unique,
    "A01": _every_use_is_answered,
    "A03": _every_result_has_its_use,
    "A09": _one_result_a_use,
    "A05": _results_come_first,
    "A14": _tools_are_defined,
    "A16": _starts_with_thinking,
    "A17": _thinking_is_unchanged,
    "A18": _signatures_are_known,
    "A19": _last_is_user,
})
"""Rule -> check. A06 and A07 are accepted inputs and need none."""

SAME_AS: Mapping[str, str] = MappingProxyType({"A02": "A01", "A04": "A01"})
"""Rows of the reference table that another rule stands for."""
