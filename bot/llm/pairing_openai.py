"""What OpenAI's chat dialect, and those who speak it, demand of a request body.

Each rule carries the id of the reference table and, where it is known, the provider's own words. Pure.
"""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from bot.llm.pairing import Check, JsonMap, enforce, first_repeated, inner, maps
from bot.llm.texts import is_tool_name

MAX_ID = 40
"""Characters of a call id (C07)."""


def check_openai(body: JsonMap) -> None:
    """Raise PairingError, with the rule of RULES, for a request body that would be refused."""
    enforce(RULES, body)


def _assistants(body: JsonMap) -> list[JsonMap]:
    return [message for message in maps(body.get("messages")) if message.get("role") == "assistant"]


def _calls(message: JsonMap) -> list[JsonMap]:
    return maps(message.get("tool_calls"))


def _ids(message: JsonMap) -> list[str]:
    return [str(call.get("id")) for call in _calls(message)]


def _blocks(body: JsonMap) -> Iterator[tuple[JsonMap, list[str]]]:
    """Each message that is no tool result, with the call ids of the results right after it."""
    before: JsonMap = {}
    answered: list[str] = []
    for message in maps(body.get("messages")):
        if message.get("role") == "tool":
            answered.append(str(message.get("tool_call_id")))
            continue
        yield before, answered
        before, answered = message, []
    yield before, answered


def _no_empty_call_list(body: JsonMap) -> str | None:
    broken = any(message.get("tool_calls") == [] for message in _assistants(body))
    return "Invalid 'tool_calls': empty array" if broken else None


def _content_or_calls(body: JsonMap) -> str | None:
    broken = any(message.get("content") is None and not _calls(message) for message in _assistants(body))
    return "Invalid value for 'content': expected a string, got null." if broken else None


def _no_empty_content_list(body: JsonMap) -> str | None:
    broken = any(message.get("content") == [] for message in _assistants(body))
    return "Invalid 'content': empty array" if broken else None


def _no_empty_content(body: JsonMap) -> str | None:
    broken = any(message.get("content") == "" for message in _assistants(body))
    return "the message with role 'assistant' must not be empty" if broken else None


def _ids_are_short(body: JsonMap) -> str | None:
    ids = [call.get("id") for message in _assistants(body) for call in _calls(message)]
    broken = any(not isinstance(one, str) or not 0 < len(one) <= MAX_ID for one in ids)
    return f"Invalid 'tool_calls.id': expected a string with maximum length {MAX_ID}" if broken else None


def _ids_differ_in_a_message(body: JsonMap) -> str | None:
    again = next(filter(None, (first_repeated(_ids(message)) for message in _assistants(body))), None)
    return f"Duplicate tool call id '{again}'" if again else None


def _every_call_is_answered(body: JsonMap) -> str | None:
    for message, answered in _blocks(body):
        missing = [one for one in _ids(message) if one not in answered]
        if missing:
            return (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(missing)}"
            )
    return None


def _results_follow_calls(body: JsonMap) -> str | None:
    broken = any(answered and not _ids(message) for message, answered in _blocks(body))
    return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'." if broken else None


def _results_name_a_call(body: JsonMap) -> str | None:
    for message, answered in _blocks(body):
        wrong = next((one for one in answered if one not in _ids(message)), None)
        if wrong is not None:
            return f"'tool_call_id' of '{wrong}' not found in 'tool_calls' of previous message."
    return None


def _one_result_a_call(body: JsonMap) -> str | None:
    again = next(filter(None, (first_repeated(answered) for _, answered in _blocks(body))), None)
    return f"Duplicate value for 'tool_call_id' of '{again}'" if again else None


def _names_fit(body: JsonMap) -> str | None:
    owners = maps(body.get("tools")) + [call for message in _assistants(body) for call in _calls(message)]
    names = [inner(owner, "function").get("name") for owner in owners]
    wrong = [name for name in names if not is_tool_name(name)]
    return f"Invalid 'function.name': {wrong[0]!r}" if wrong else None


def _arguments(body: JsonMap) -> list[object]:
    return [inner(call, "function").get("arguments") for message in _assistants(body) for call in _calls(message)]


def _read(arguments: object) -> object:
    try:
        return json.loads(str(arguments))
    except ValueError:
        return None


def _arguments_are_json(body: JsonMap) -> str | None:
    broken = any(not isinstance(one, str) or _read(one) is None for one in _arguments(body))
    return 'The "function.arguments" parameter of the code model must be in JSON format.' if broken else None


def _arguments_are_objects(body: JsonMap) -> str | None:
    broken = any(not isinstance(_read(one), Mapping) for one in _arguments(body))
    return "the arguments of a call must be a JSON object" if broken else None


def _reasoning_comes_back(body: JsonMap) -> str | None:
    if inner(body, "thinking").get("type") != "enabled":
        return None
    broken = any(_calls(message) and not message.get("reasoning_content") for message in _assistants(body))
    return "The `reasoning_content` in the thinking mode must be passed back to the API." if broken else None


RULES: Mapping[str, Check[JsonMap]] = MappingProxyType({
    "C08": _no_empty_call_list,
    "C10": _no_empty_content_list,
    "K01": _no_empty_content,
    "C09": _content_or_calls,
    "C07": _ids_are_short,
    "C13": _ids_differ_in_a_message,
    "C14": _names_fit,
    "C01": _every_call_is_answered,
    "C03": _results_follow_calls,
    "C04": _results_name_a_call,
    "C05": _one_result_a_call,
    "Q02": _arguments_are_json,
    "V01": _arguments_are_objects,
    "D03": _reasoning_comes_back,
})
"""Rule -> check. C11 and C12 are accepted inputs and need none."""

SAME_AS: Mapping[str, str] = MappingProxyType({
    "C02": "C01",
    "C06": "C01",
    "D01": "C01",
    "D02": "C03",
    "K02": "C01",
    "K03": "D03",
    "Q01": "C01",
    "X01": "C13",
})
"""Rows of the reference table that refuse the same input in other words -> the rule that stands for them."""
