"""The templates of a scripted model: what may stand between {{ and }} in a script, and what takes its place.

  {{result N}}     the text of the Nth tool result after the newest user message, trimmed
  {{find REGEX}}   the first group (or the whole match) in a tool result of the conversation, newest result first
  {{user}}         the first line of the newest user message
  {{var NAME}}     a value given by whoever plays the script

What is put in is not looked at again, so a tool result cannot smuggle a template in. Never raises: what is not there
is said in brackets.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

NOT_FOUND = "(not found)"
TRIM = 400
"""How many characters a template puts in at most."""

TEMPLATE = re.compile(r"\{\{\s*([a-z]+)\b\s*(.*?)\s*\}\}(?!\})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Known:
    """What templates may speak of.

    `results` are those after the newest user message, in order; `newest_first` are all of the conversation.
    """

    user: str
    results: tuple[str, ...]
    newest_first: tuple[str, ...]
    variables: Mapping[str, str]


def fill(text: str, known: Known) -> str:
    """Fill in the templates of a text; braces around other words are left as they are."""

    def value(match: re.Match[str]) -> str:
        source = SOURCES.get(match[1])
        return source(match[2], known) if source else match[0]

    return TEMPLATE.sub(value, text)


def fill_all(value: object, known: Known) -> object:
    """Fill in the templates of every string in a JSON value; the keys of objects are left alone."""
    match value:
        case str():
            return fill(value, known)
        case Mapping():
            return {key: fill_all(inner, known) for key, inner in value.items()}
        case list() | tuple():
            return [fill_all(inner, known) for inner in value]
        case _:
            return value


def _result(number: str, known: Known) -> str:
    at = int(number) - 1 if re.fullmatch("[0-9]{1,6}", number) else -1
    return _trimmed(known.results[at]) if 0 <= at < len(known.results) else f"(no result {number})"


def _find(pattern: str, known: Known) -> str:
    try:
        expression = re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError, Warning):
        return NOT_FOUND
    found = next((match for match in map(expression.search, known.newest_first) if match), None)
    value = found and found[1 if expression.groups else 0]
    return NOT_FOUND if value is None else _trimmed(value)


def _user(_: str, known: Known) -> str:
    lines = known.user.strip().splitlines()
    return _trimmed(lines[0]) if lines else ""


def _var(name: str, known: Known) -> str:
    return known.variables.get(name, f"(no variable {name})")


SOURCES: Mapping[str, Callable[[str, Known], str]] = MappingProxyType({
    "result": _result,
    "find": _find,
    "user": _user,
    "var": _var,
})
"""The words that may open a template."""


def _trimmed(text: str) -> str:
    clean = text.strip()
    return clean if len(clean) <= TRIM else clean[:TRIM].rstrip() + " …"
