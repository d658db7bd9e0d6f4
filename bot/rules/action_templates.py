"""The templates of an action: `{name}` in its URL, its body and its title, and what is put in its place.

Pure. In a URL an argument is one path segment or one query value, whatever stands in it: it can change neither the
host nor the shape of the path, and adds no query. In a body a string that is one hole and nothing else becomes the
value in its own type. Nothing that is put in is looked at again.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import quote, unquote

from bot.errors import ToolArgumentsError

Value: TypeAlias = str | int | bool

_HOLE = re.compile(r"\{(\w+)\}")
_URL = re.compile(r"(?P<origin>https?://[^/?#{}@\s\\]+)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?")
_PLAIN = re.compile(r"[!-\[\]-~]*")
_BORDER = re.compile(r"[/\\;%\x00-\x1f\x7f]")
"""What some server reads as the border of a segment, or as the beginning of one that is encoded twice."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DOTS = frozenset({".", ".."})


def holes(template: str) -> frozenset[str]:
    """The names of the holes of a template."""
    return frozenset(_HOLE.findall(template))


def holes_of_body(text: str) -> frozenset[str]:
    """The names of the holes in the strings of a body; raises ValueError for what is no JSON or has a hole in a key."""
    return _holes_in(json.loads(text))


def url_problem(template: str) -> str | None:
    """What is wrong with the template of a URL, in words that say what to write; None where it is sound."""
    bare = _HOLE.sub("", template)
    if "{" in bare or "}" in bare:
        return "a { or } that is no hole; write a hole as {name}, and other braces as %7B and %7D"
    if not _PLAIN.fullmatch(bare):
        return "a blank, a backslash or a character that is not ASCII; write it as %XX"
    found = _URL.fullmatch(template)
    if found is None:
        return "no fixed host; write http:// or https://, a host without holes or user name, and no #"
    names = (pair.partition("=")[0] for pair in (found["query"] or "").split("&"))
    if any(map(_HOLE.search, names)):
        return "a hole in the name of a query value; write ?name={hole}"
    return "a . or .. segment; write the whole path" if _climbs(found["path"] or "") else None


def example_url(template: str) -> str:
    """The URL with some word in every hole."""
    return _HOLE.sub("x", template)


def filled_url(template: str, values: Mapping[str, Value], trusted: frozenset[str] = frozenset()) -> str:
    """The URL with every hole filled; raises ToolArgumentsError where a value cannot be one segment or one value.

    `trusted` names the parameters whose values the operator has listed: they may hold a slash, which is encoded.
    """
    found = _URL.fullmatch(template)
    if found is None:
        raise ToolArgumentsError("the URL of this action has no fixed host")
    path, query = found["path"] or "", found["query"]
    _check_path(path, values, trusted)
    for name in holes(query or ""):
        if _CONTROL.search(_words(values[name])):
            raise ToolArgumentsError(f"{name!r} may hold no control characters: it stands in a URL")
    filled = found["origin"] + _filled(path, values, _encoded)
    return filled if query is None else f"{filled}?{_filled(query, values, _encoded)}"


def filled_body(text: str, values: Mapping[str, Value]) -> str:
    """The body with every hole filled, as JSON text."""
    return json.dumps(_put_in(json.loads(text), values), ensure_ascii=False, indent=2)


def filled_words(template: str, values: Mapping[str, Value]) -> str:
    """Words with every hole filled."""
    return _filled(template, values, _words)


def _check_path(path: str, values: Mapping[str, Value], trusted: frozenset[str]) -> None:
    for name in sorted(holes(path)):
        words = _words(values[name])
        if name not in trusted and _BORDER.search(words):
            raise ToolArgumentsError(f"{name!r} may hold no slash, backslash, semicolon or %: it is a part of a path")
    if _climbs(_filled(path, values, _words)) or _has_gap(path, values):
        raise ToolArgumentsError("an argument that is part of a path may not be empty, . or ..")


def _has_gap(path: str, values: Mapping[str, Value]) -> bool:
    """Whether a segment with a hole in it is empty when it is filled: the path would have another shape."""
    return any(_HOLE.search(part) and not _filled(part, values, _words) for part in path.split("/"))


def _climbs(path: str) -> bool:
    """Whether a path has a step upwards in it, also once it is decoded."""
    return any(unquote(segment) in _DOTS for segment in path.split("/"))


def _filled(template: str, values: Mapping[str, Value], spell: Callable[[Value], str]) -> str:
    return _HOLE.sub(lambda found: spell(values[found[1]]), template)


def _encoded(value: Value) -> str:
    return quote(_words(value), safe="")


def _words(value: Value) -> str:
    """A value in words, as JSON spells it."""
    return value if isinstance(value, str) else json.dumps(value)


def _holes_in(found: object) -> frozenset[str]:
    match found:
        case str():
            return holes(found)
        case list():
            return frozenset[str]().union(*map(_holes_in, found))
        case dict():
            if any(_HOLE.search(key) for key in found):
                raise ValueError("a hole in the name of a field")
            return frozenset[str]().union(*map(_holes_in, found.values()))
        case _:
            return frozenset()


def _put_in(found: object, values: Mapping[str, Value]) -> object:
    match found:
        case str():
            whole = _HOLE.fullmatch(found)
            return values[whole[1]] if whole else filled_words(found, values)
        case list():
            return [_put_in(each, values) for each in found]
        case dict():
            return {key: _put_in(each, values) for key, each in found.items()}
        case _:
            return found
