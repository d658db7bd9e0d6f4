"""Text that every model service, JSON and PostgreSQL can carry.

NUL cannot be stored in PostgreSQL, and a lone surrogate cannot be sent as UTF-8: one such character in a history
would block its thread for ever. Pure: what cannot be carried is replaced, never refused.
"""

import json
import re
from collections.abc import Mapping

REPLACEMENT = "\ufffd"
MAX_DEPTH = 100
"""Nesting of JSON that is still accepted; below the depth at which Python's own reader and writer give up."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def clean(text: str) -> str:
    """Give `text` with NUL and lone surrogates replaced by U+FFFD.

    Two halves of a pair that came in two chunks are joined: that is what the model meant.
    """
    if text.isascii() and "\0" not in text:
        return text
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return paired.replace("\0", REPLACEMENT)


def clean_json(value: object, depth: int = MAX_DEPTH) -> object:
    """Give a JSON value with every text in it clean; ValueError where it is nested too deep or no JSON at all."""
    if depth == 0:
        raise ValueError("nested too deep")
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item, depth - 1) for item in value]
    json.dumps(value, allow_nan=False, default=_refuse)
    return value


def read_arguments(text: str) -> tuple[Mapping[str, object], str | None]:
    """Read the arguments of a call: the object and None, or an empty object and the text that was none.

    No text at all and `null` both mean a call without arguments.
    """
    if not text.strip():
        return {}, None
    try:
        value = clean_json(json.loads(text))
    except (ValueError, RecursionError):
        return {}, clean(text)
    if value is None:
        return {}, None
    return (value, None) if isinstance(value, Mapping) else ({}, clean(text))


def is_tool_name(name: object) -> bool:
    """Whether every dialect accepts this as the name of a tool."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def tool_name(name: str) -> str:
    """Give the nearest name that every dialect accepts; a made-up one matches no tool and is answered as such."""
    return name if is_tool_name(name) else _NOT_IN_NAME.sub("_", name)[:64] or "unnamed"


def _refuse(value: object) -> object:
    raise ValueError(f"{type(value).__name__} is no JSON")
