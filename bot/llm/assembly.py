"""What the assemblies of all dialects share: where a message comes from, JSON of unknown shape, tokens.

Pure. Whatever a service sends, an assembly gives a message, or raises a ModelError; it never raises anything else.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.errors import ModelStreamError
from bot.llm import refusals
from bot.llm.texts import clean, clean_json, read_arguments, tool_name
from bot.rules.messages import JsonObject, ToolCall, Usage

CHARS_PER_TOKEN = 4
"""For an estimate where a service reports no usage; a rough mean for English and JSON."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who makes a message, who mints the ids of its calls, how many characters were asked, the key to strike out."""

    provider: str
    model: str
    mint_id: Callable[[], str]
    asked_chars: int
    secret: str = ""

    def estimate(self, answered_chars: int) -> Usage:
        """What a call may have cost, where the service does not say."""
        return Usage(self.asked_chars // CHARS_PER_TOKEN, answered_chars // CHARS_PER_TOKEN, reported=False)

    def call(self, name: str, arguments: str) -> ToolCall:
        """A call under an id of ours; providers' own ids repeat, are empty, or are too long for others."""
        read, broken = read_arguments(clean(arguments))
        return ToolCall(self.mint_id(), tool_name(clean(name)), read, broken)


def read_event(event: str, text: str, secret: str) -> JsonObject:
    """Read the JSON object of an event; raises the ModelError that it reports, ModelStreamError where it is none."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    if event == "error" or refusals.error_of(body) is not None:
        raise refusals.of_error(refusals.error_of(body) or body, secret)
    if not isinstance(body, Mapping):
        raise ModelStreamError("an event of the stream is no JSON object")
    return body


def text_of(value: object) -> str:
    """A text where there is one; a list of content parts gives the text of its text parts."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    return "".join(
        str(part["text"]) for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def count_of(value: object) -> int:
    """A number of tokens; 0 where there is none."""
    return value if isinstance(value, int) and value > 0 else 0


def index_of(value: object) -> int | None:
    """An index, where one was sent."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def kept_json(value: JsonObject) -> JsonObject:
    """A JSON object that can be stored and sent; empty where it is nested too deep for that."""
    try:
        cleaned = clean_json(value)
    except ValueError:
        return {}
    return cleaned if isinstance(cleaned, Mapping) else {}
