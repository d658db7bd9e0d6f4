"""How JSON of unknown shape is read: a key that is missing or of another type reads as empty.

Never judges: what a missing key means is for the caller to say.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonObject: TypeAlias = Mapping[str, object]


def text_at(source: JsonObject, key: str, default: str = "") -> str:
    """The string under a key, else the default."""
    found = source.get(key)
    return found if isinstance(found, str) else default


def object_at(source: JsonObject, key: str) -> JsonObject:
    """The object under a key, else an empty one."""
    return as_object(source.get(key))


def objects_at(source: JsonObject, key: str) -> list[JsonObject]:
    """The objects in the list under a key; whatever else is in the list reads as an empty object."""
    return [as_object(item) for item in list_at(source, key)]


def list_at(source: JsonObject, key: str) -> Sequence[object]:
    """The list under a key, else an empty one."""
    found = source.get(key)
    return found if isinstance(found, list | tuple) else ()


def flag_at(source: JsonObject, key: str) -> bool:
    """Whether a key is set; forms say it as 1 or true."""
    return source.get(key) in (True, 1, "1", "true", "True")


def as_object(found: object) -> JsonObject:
    """The value itself where it is an object, else an empty one."""
    return found if isinstance(found, Mapping) else {}
