"""A strict judge of model requests in the OpenAI chat dialect, and the form of a refusal.

It stands where a provider stands and shares no code with what it judges. It answers with the first rule that is
broken, in the provider's own words; the Anthropic dialect has a judge of its own. Never raises, whatever the body is.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONGEST_ID = 40
ROLES = ("system", "developer", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused with 400; `rule` is the judge's own number and is not sent."""

    rule: str
    message: str
    param: str | None = None
    code: str | None = None


@dataclass(slots=True)
class _Open:
    """The calls of the last assistant message: all of them, and which message answered each."""

    ids: tuple[str, ...] = ()
    answered: dict[str, int] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(call_id for call_id in self.ids if call_id not in self.answered)


def judge_openai(body: Mapping[str, object]) -> Refusal | None:
    """Say which rule a chat completion request breaks, if any."""
    return next(_refusals(body), None)


def _refusals(body: Mapping[str, object]) -> Iterator[Refusal]:
    yield from _tools(body)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Refusal("C00", f"Invalid 'messages': {_EMPTY}", "messages", "empty_array")
        return
    open_calls = _Open()
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            yield Refusal("C00", f"Invalid value: '{role}'. Supported values are: {ROLES}.", f"messages[{index}].role")
            return
        if role == "tool":
            yield from _tool_message(index, message, open_calls)
            continue
        yield from _unanswered(index, open_calls)
        open_calls = _Open()
        yield from _content(index, message)
        if role == "assistant" and "tool_calls" in message:
            yield from _calls(index, message["tool_calls"])
            open_calls = _Open(tuple(_call_ids(message["tool_calls"])))
    yield from _unanswered(len(messages), open_calls)


def _unanswered(index: int, open_calls: _Open) -> Iterator[Refusal]:
    if open_calls.missing:
        yield Refusal(
            "C01",
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(open_calls.missing),
            f"messages.[{index}].role",
        )


def _tool_message(index: int, message: Mapping[str, object], open_calls: _Open) -> Iterator[Refusal]:
    call_id = message.get("tool_call_id")
    param = f"messages.[{index}].tool_call_id"
    if not open_calls.ids:
        text = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        yield Refusal("C03", f"Invalid parameter: {text}", f"messages.[{index}].role")
    elif call_id not in open_calls.ids or not isinstance(call_id, str):
        text = f"'tool_call_id' of '{call_id}' not found in 'tool_calls' of previous message."
        yield Refusal("C04", f"Invalid parameter: {text}", param)
    elif call_id in open_calls.answered:
        first = open_calls.answered[call_id]
        text = f"Duplicate value for 'tool_call_id' of '{call_id}', in messages[{first}] and messages[{index}]."
        yield Refusal("C05", f"Invalid parameter: {text}", param)
    elif not isinstance(message.get("content"), str | list):
        yield Refusal("C09", "Invalid value for 'content': expected a string, got null.", f"messages.[{index}].content")
    else:
        open_calls.answered[call_id] = index


def _content(index: int, message: Mapping[str, object]) -> Iterator[Refusal]:
    content = message.get("content")
    calls = message.get("role") == "assistant" and "tool_calls" in message
    if content == []:
        param = f"messages[{index}].content"
        yield Refusal("C10", f"Invalid '{param}': {_EMPTY}", param, "empty_array")
    elif not isinstance(content, str | list) and not (calls and content is None):
        text = "Invalid value for 'content': expected a string, got null."
        yield Refusal("C09", text, f"messages.[{index}].content")


def _calls(index: int, calls: object) -> Iterator[Refusal]:
    param = f"messages[{index}].tool_calls"
    if not isinstance(calls, list) or not calls:
        yield Refusal("C08", f"Invalid '{param}': {_EMPTY}", param, "empty_array")
        return
    ids = tuple(_call_ids(calls))
    if len(set(ids)) < len(ids):
        yield Refusal("C13", f"Invalid '{param}': duplicate 'id' in one message.", param)
    for number, call in enumerate(calls):
        yield from _call(f"{param}[{number}]", call)


def _call(param: str, call: object) -> Iterator[Refusal]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict) or call.get("type") != "function":
        yield Refusal("C00", f"Invalid '{param}': expected a call of type 'function'.", param)
        return
    call_id = call.get("id")
    if not isinstance(call_id, str) or not call_id:
        yield Refusal("C00", f"Missing required parameter: '{param}.id'.", f"{param}.id")
    elif len(call_id) > LONGEST_ID:
        yield Refusal("C07", f"Invalid '{param}.id': {_too_long(call_id, LONGEST_ID)}", f"{param}.id", _LONG)
    yield from _name(f"{param}.function.name", function.get("name"))
    if not _is_json_object(function.get("arguments")):
        # OpenAI itself does not look, vLLM, SGLang and DashScope refuse it: strict is what runs everywhere.
        text = 'The "function.arguments" parameter of the code model must be in JSON format.'
        yield Refusal("V01", text, f"{param}.function.arguments")


def _tools(body: Mapping[str, object]) -> Iterator[Refusal]:
    tools = body.get("tools")
    if tools is None:
        return
    if not isinstance(tools, list) or not tools:
        yield Refusal("C14", f"Invalid 'tools': {_EMPTY}", "tools", "empty_array")
        return
    for number, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            yield Refusal("C14", f"Missing required parameter: 'tools[{number}].function'.", f"tools[{number}]")
        else:
            yield from _name(f"tools[{number}].function.name", function.get("name"))


def _name(param: str, name: object) -> Iterator[Refusal]:
    if isinstance(name, str) and len(name) > 64:
        yield Refusal("C14", f"Invalid '{param}': {_too_long(name, 64)}", param, _LONG)
    elif not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        text = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        yield Refusal("C14", f"Invalid '{param}': {text}", param, "invalid_value")


_LONG = "string_above_max_length"
_EMPTY = "empty array. Expected an array with minimum length 1, but got an empty array instead."


def _too_long(text: str, limit: int) -> str:
    expected = f"Expected a string with maximum length {limit}"
    return f"string too long. {expected}, but got a string with length {len(text)} instead."


def _call_ids(calls: object) -> Iterator[str]:
    entries: Sequence[object] = calls if isinstance(calls, list) else ()
    for call in entries:
        call_id = call.get("id") if isinstance(call, dict) else None
        if isinstance(call_id, str):
            yield call_id


def _is_json_object(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
