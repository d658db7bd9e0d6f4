"""How a table of pairing rules is enforced.

A rule is an id of the reference table and a check that says what is wrong, or nothing. Pure: a table judges, it never
mends (bot/agent/mending.py does).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from bot.errors import PairingError

Subject = TypeVar("Subject")
Check: TypeAlias = Callable[[Subject], str | None]
JsonMap: TypeAlias = Mapping[str, object]


def enforce(rules: Mapping[str, Check[Subject]], subject: Subject) -> None:
    """Raise PairingError for the first rule, in the table's order, that the subject breaks."""
    for rule, check in rules.items():
        breach = check(subject)
        if breach is not None:
            raise PairingError(rule, breach)


def maps(value: object) -> list[JsonMap]:
    """The JSON objects of a JSON list; empty where it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def inner(value: JsonMap, key: str) -> JsonMap:
    """The JSON object under a key; empty where there is none."""
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def first_repeated(values: Iterable[str]) -> str | None:
    """The first value that was there before."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
