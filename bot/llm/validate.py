"""What every dialect demands of a history, checked on the neutral messages before anything is sent.

A history with an unpaired call is refused with HTTP 400 by every provider, for ever. These rules are the strictest of
all dialects taken together, so what passes here passes everywhere. Pure; it judges and never mends.
The rules per dialect are in pairing_openai.py and pairing_anthropic.py.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from bot.llm.pairing import Check, enforce, first_repeated
from bot.llm.pairing_anthropic import check_anthropic
from bot.llm.pairing_openai import check_openai
from bot.llm.texts import clean, clean_json, is_tool_name
from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, ToolSchema, UserMessage

__all__ = ["RULES", "TOOL_RULES", "check_anthropic", "check_messages", "check_openai", "check_tools", "is_portable"]

_PORTABLE = re.compile(r"[a-zA-Z0-9]{9}")


def check_messages(messages: Sequence[Message]) -> None:
    """Raise PairingError, with the rule of RULES, for a history that some dialect would refuse."""
    enforce(RULES, messages)


def check_tools(tools: Sequence[ToolSchema]) -> None:
    """Raise PairingError, with the rule of TOOL_RULES, for tools that some dialect would refuse."""
    enforce(TOOL_RULES, tools)


def is_portable(call_id: object) -> bool:
    """Whether every dialect accepts this call id: 9 letters or digits (the rule of Mistral, the narrowest)."""
    return isinstance(call_id, str) and _PORTABLE.fullmatch(call_id) is not None


def rounds(messages: Sequence[Message]) -> Iterator[tuple[tuple[ToolCall, ...], list[ToolResult]]]:
    """Each message that is no result, as its calls, with the results right after it; results before any come first."""
    calls: tuple[ToolCall, ...] = ()
    results: list[ToolResult] = []
    for message in messages:
        if isinstance(message, ToolResult):
            results.append(message)
            continue
        yield calls, results
        calls = message.calls if isinstance(message, AssistantMessage) else ()
        results = []
    yield calls, results


def _first_is_user(messages: Sequence[Message]) -> str | None:
    if not messages or not isinstance(messages[0], UserMessage):
        return "the first message must be the user's"
    return None


def _last_awaits_an_answer(messages: Sequence[Message]) -> str | None:
    return "the last message is the model's own" if isinstance(messages[-1], AssistantMessage) else None


def _texts_are_not_blank(messages: Sequence[Message]) -> str | None:
    for at, message in enumerate(messages):
        may_be_blank = isinstance(message, AssistantMessage) and message.calls
        if not may_be_blank and not message.text.strip():
            return f"message {at} has no text"
    return None


def _texts_are_clean(messages: Sequence[Message]) -> str | None:
    for at, message in enumerate(messages):
        if clean(message.text) != message.text:
            return f"message {at} holds NUL or a lone surrogate"
    return None


def _calls(messages: Sequence[Message]) -> Iterator[ToolCall]:
    for message in messages:
        if isinstance(message, AssistantMessage):
            yield from message.calls


def _ids_are_portable(messages: Sequence[Message]) -> str | None:
    ids = [call.id for call in _calls(messages)]
    ids += [message.call_id for message in messages if isinstance(message, ToolResult)]
    wrong = next((one for one in ids if not is_portable(one)), None)
    return None if wrong is None else f"the call id {wrong!r} is not 9 letters or digits"


def _ids_are_unique(messages: Sequence[Message]) -> str | None:
    again = first_repeated(call.id for call in _calls(messages))
    return f"the call id {again} is used twice" if again else None


def _every_call_is_answered(messages: Sequence[Message]) -> str | None:
    for calls, results in rounds(messages):
        missing = {call.id for call in calls} - {result.call_id for result in results}
        if missing:
            return f"no result right after the call {min(missing)}"
    return None


def _every_result_has_its_call(messages: Sequence[Message]) -> str | None:
    for calls, results in rounds(messages):
        orphans = {result.call_id for result in results} - {call.id for call in calls}
        if orphans:
            return f"a result for {min(orphans)}, which the message before did not call"
    return None


def _no_call_is_answered_twice(messages: Sequence[Message]) -> str | None:
    for _, results in rounds(messages):
        again = first_repeated(result.call_id for result in results)
        if again:
            return f"two results for the call {again}"
    return None


def _roles_alternate(messages: Sequence[Message]) -> str | None:
    for at, (one, other) in enumerate(pairwise(messages), start=1):
        if isinstance(one, UserMessage) and isinstance(other, UserMessage):
            return f"message {at} is a second user message in a row"
        if isinstance(one, AssistantMessage) and isinstance(other, AssistantMessage):
            return f"message {at} is a second message of the model in a row"
    return None


def _names_fit(messages: Sequence[Message]) -> str | None:
    names = [call.name for call in _calls(messages)]
    wrong = next((name for name in names if not is_tool_name(name)), None)
    return None if wrong is None else f"the tool name {wrong!r} is not 1 to 64 letters, digits, _ or -"


def _arguments_are_objects(messages: Sequence[Message]) -> str | None:
    wrong = next((call for call in _calls(messages) if not has_good_arguments(call)), None)
    return None if wrong is None else f"the arguments of the call {wrong.id} are no clean JSON object"


def has_good_arguments(call: ToolCall) -> bool:
    """Whether the arguments are a JSON object that can be stored and sent."""
    if not isinstance(call.arguments, Mapping):
        return False
    try:
        return clean_json(call.arguments) == call.arguments
    except (TypeError, ValueError):
        return False


RULES: Mapping[str, Check[Sequence[Message]]] = MappingProxyType({
    "N01": _first_is_user,
    "N02": _last_awaits_an_answer,
    "N03": _ids_are_portable,
    "N04": _ids_are_unique,
    "N05": _every_call_is_answered,
    "N06": _every_result_has_its_call,
    "N07": _no_call_is_answered_twice,
    "N08": _roles_alternate,
    "N09": _texts_are_not_blank,
    "N10": _texts_are_clean,
    "N11": _names_fit,
    "N12": _arguments_are_objects,
})
"""Rule -> check. Sources: N01 A15, N02 A19 G07 M04, N03 M03 A12 C07, N04 A08 X01, N05 C01 A01 G01 B01, N06 C03 A03 G03,
N07 C05 A09 B02, N08 V02 B03 G05, N09 A10 A11 K01 B04, N10 JSON and PostgreSQL, N11 C14, N12 V01 A13."""


def _tool_names_fit(tools: Sequence[ToolSchema]) -> str | None:
    wrong = next((tool.name for tool in tools if not is_tool_name(tool.name)), None)
    return None if wrong is None else f"the tool name {wrong!r} is not 1 to 64 letters, digits, _ or -"


def _tool_names_are_unique(tools: Sequence[ToolSchema]) -> str | None:
    again = first_repeated(tool.name for tool in tools)
    return f"two tools are named {again}" if again else None


TOOL_RULES: Mapping[str, Check[Sequence[ToolSchema]]] = MappingProxyType({
    "T01": _tool_names_fit,
    "T02": _tool_names_are_unique,
})
