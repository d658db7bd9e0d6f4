"""Read a script from its TOML text; the form is in docs/model-scripts.md.

A wrong file is a SettingsError that names the file, the play, the round and what to do about it, before anything is
played. Pure: bot/llm/scripted.py reads from the disk.
"""

import math
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bot.errors import SettingsError
from bot.llm.script import Call, Fault, FaultKind, Gate, Play, Round, Script
from bot.llm.script_templates import SOURCES, TEMPLATE

SETTING = "STEERSMAN_MODEL"
FAULT_KINDS = tuple(kind.value for kind in FaultKind if kind is not FaultKind.STATUS)
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
GATE_POINT = re.compile(r"before_first_chunk|before_end|chunk:[1-9][0-9]{0,5}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the file we are, for the message of an error."""

    name: str

    def inside(self, part: str) -> "_Place":
        return _Place(f"{self.name}, {part}")

    def wrong(self, problem: str, remedy: str) -> SettingsError:
        return SettingsError(SETTING, f"{self.name}: {problem}", remedy)


def parse_script(text: str, file_name: str) -> Script:
    """Read a script; raises SettingsError."""
    place = _Place(file_name)
    try:
        table: Mapping[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise place.wrong(f"this is no TOML: {error}", "Mend the line that is named.") from error
    _only(table, ("plays",), place)
    plays = _tables(table, "plays", place)
    if not plays:
        raise place.wrong("there is no play", "Write at least one [[plays]] with a [[plays.rounds]].")
    return Script(tuple(_play(play, place.inside(f"play {n}")) for n, play in enumerate(plays, start=1)))


def _play(table: Mapping[str, object], place: _Place) -> Play:
    when = _one(table, "when", str, "", place)
    place = _Place(f'{place.name} (when "{when}")')
    _only(table, ("when", "rounds"), place)
    rounds = _tables(table, "rounds", place)
    if not rounds:
        raise place.wrong("it has no round", "Write at least one [[plays.rounds]] under it.")
    return Play(when, tuple(_round(one, place.inside(f"round {n}")) for n, one in enumerate(rounds, start=1)))


def _round(table: Mapping[str, object], place: _Place) -> Round:
    _only(table, ("say", "calls", "chunks", "chunk_ms", "first_ms", "fault", "gate"), place)
    say = _one(table, "say", str, "", place)
    calls = tuple(_call(call, place.inside(f"call {n}")) for n, call in enumerate(_tables(table, "calls", place), 1))
    fault = _fault(table["fault"], place) if "fault" in table else None
    if not (say or calls or fault):
        raise place.wrong("it neither says nor calls anything", 'Give it `say` or `calls`, or fault = "empty".')
    _check_templates(say, place)
    return Round(
        say=say,
        calls=calls,
        chunks=max(_count(table, "chunks", 1, place), 1),
        chunk_ms=_count(table, "chunk_ms", 0, place),
        first_ms=_count(table, "first_ms", 0, place),
        fault=fault,
        gate=_gate(table["gate"], place) if "gate" in table else None,
    )


def _call(table: Mapping[str, object], place: _Place) -> Call:
    _only(table, ("name", "arguments"), place)
    name = _one(table, "name", str, "", place)
    if not TOOL_NAME.fullmatch(name):
        raise place.wrong(f'"{name}" is no name of a tool', "Use 1 to 64 letters, digits, _ or -.")
    arguments: Mapping[str, object] = _one(table, "arguments", dict, {}, place)
    _check_argument(arguments, place)
    return Call(name, arguments)


def _check_argument(value: object, place: _Place) -> None:
    match value:
        case str():
            _check_templates(value, place)
        case dict() | list():
            for inner in value.values() if isinstance(value, dict) else value:
                _check_argument(inner, place)
        case float() if not math.isfinite(value):
            raise place.wrong(f"JSON has no number {value}", "Use a finite number.")
        case bool() | int() | float():
            pass
        case _:
            raise place.wrong(f"JSON has nothing like {value}", "Write it as a string.")


def _check_templates(text: str, place: _Place) -> None:
    for word, rest in TEMPLATE.findall(text):
        if word not in SOURCES:
            raise place.wrong(f"unknown template {{{{{word}}}}}", f"Use one of {', '.join(SOURCES)}.")
        if word == "find":
            _check_pattern(rest, place)


def _check_pattern(pattern: str, place: _Place) -> None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise place.wrong(f"{{{{find {pattern}}}}} is no regular expression: {error}", "Mend it.") from error


def _fault(value: object, place: _Place) -> Fault:
    place = place.inside("fault")
    table: Mapping[str, object] = value if isinstance(value, dict) else {"kind": value}
    _only(table, ("kind", "retry_after", "after", "times"), place)
    kind = table.get("kind")
    status = kind if type(kind) is int and 400 <= kind <= 599 else None
    if status is None and kind not in FAULT_KINDS:
        raise place.wrong(
            f"unknown kind {kind!r}", f"Use an HTTP status from 400 to 599 or one of {', '.join(FAULT_KINDS)}."
        )
    return Fault(
        FaultKind.STATUS if status else FaultKind(str(kind)),
        status=status,
        retry_after=_seconds(table, "retry_after", place),
        after=_count(table, "after", None, place),
        times=_count(table, "times", None, place),
    )


def _gate(value: object, place: _Place) -> Gate:
    place = place.inside("gate")
    table: Mapping[str, object] = value if isinstance(value, dict) else {"at": value}
    _only(table, ("name", "at"), place)
    at = _one(table, "at", str, "", place)
    if not GATE_POINT.fullmatch(at):
        raise place.wrong(f'"{at}" is no point of a round', "Use before_first_chunk, chunk:N or before_end.")
    return Gate(_one(table, "name", str, at, place), at)


def _only(table: Mapping[str, object], keys: Collection[str], place: _Place) -> None:
    unknown = sorted(set(table) - set(keys))
    if unknown:
        raise place.wrong(f"unknown key `{unknown[0]}`", f"Use only {', '.join(keys)}.")


def _one(table: Mapping[str, object], key: str, kind: type[T], default: T, place: _Place) -> T:
    value = table.get(key, default)
    if not isinstance(value, kind):
        raise place.wrong(f"`{key}` is no {_KINDS[kind]}", f"Write `{key}` as a {_KINDS[kind]}.")
    return value


_KINDS: Mapping[type[object], str] = {str: "string", dict: "table", list: "list"}


def _tables(table: Mapping[str, object], key: str, place: _Place) -> tuple[Mapping[str, object], ...]:
    rows: list[object] = _one(table, key, list, [], place)
    return tuple(_one({f"{key} {n}": row}, f"{key} {n}", dict, {}, place) for n, row in enumerate(rows, start=1))


def _count(table: Mapping[str, object], key: str, default: T, place: _Place) -> int | T:
    if key not in table:
        return default
    value = table[key]
    if type(value) is not int or value < 0:
        raise place.wrong(f"`{key}` is {value!r}", "Write a whole number, 0 or more.")
    return value


def _seconds(table: Mapping[str, object], key: str, place: _Place) -> float | None:
    value = table.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
        raise place.wrong(f"`{key}` is {value!r}", "Write a number of seconds, 0 or more.")
    return None if value is None else float(value)
