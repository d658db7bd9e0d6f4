"""Lines made of spans, which keep our own words apart from those of people, models and tools.

A span says what it is, so that no later step has to find markup in a text. Pure; knows no block and no state.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from bot.card.text import clip, clock, label, shown_url, units, whole_second
from bot.rules.wording import pieces

LONGEST_NAME = 80
LONGEST_TARGET = 160

_PERSON = re.compile(r"(?:<@)?([UW][A-Z0-9]+)(?:\|[^<>]*)?>?")
_GROUP = re.compile(r"S[A-Z0-9]+")
_LINK = re.compile(r"https?://[^\s<>|\x00-\x1f]+")


class Kind(StrEnum):
    """What a span is; FOREIGN is text that somebody else wrote."""

    OWN = "own"
    STRONG = "strong"
    FOREIGN = "foreign"
    CODE = "code"
    PERSON = "person"
    GROUP = "group"
    LINK = "link"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line: `ref` is the id of a PERSON or a GROUP, the URL of a LINK, the epoch second of a TIME."""

    text: str
    kind: Kind = Kind.OWN
    ref: str = ""


Line: TypeAlias = tuple[Span, ...]

_WORDS = frozenset({Kind.OWN, Kind.FOREIGN})

FOREIGN_KINDS = frozenset({Kind.FOREIGN, Kind.CODE})
"""Spans that must never stand in a text which Slack reads for markup."""


def own(text: str) -> Line:
    """Words of ours; empty for an empty text."""
    return (Span(text),) if text else ()


def strong(text: str) -> Line:
    """Words of ours that must not be missed."""
    return (Span(text, Kind.STRONG),)


def foreign(text: str, limit: int = LONGEST_NAME) -> Line:
    """Words of others, cleaned and shortened."""
    words = label(text, limit)
    return (Span(words, Kind.FOREIGN),) if words else ()


def target(text: str, limit: int = LONGEST_TARGET) -> Line:
    """What a call goes to."""
    words = clip(shown_url(text), limit)
    return (Span(words, Kind.CODE),) if words else ()


def person(who: str) -> Line:
    """A user id (`U1` or `<@U1>`) as a mention; any other name as the words it is."""
    found = _PERSON.fullmatch(who)
    return (Span(f"@{found[1]}", Kind.PERSON, found[1]),) if found else foreign(who)


def approver(who: str) -> Line:
    """Who may say yes: a user group (`S1`) as one, anybody else as a person."""
    return (Span(f"@{who}", Kind.GROUP, who),) if _GROUP.fullmatch(who) else person(who)


def link(text: str, url: str | None) -> Line:
    """A link of ours, which may only lead to Slack; plain words where there is no proper address yet."""
    if url is None or not _LINK.fullmatch(url):
        return own(text)
    return (Span(text, Kind.LINK, url),)


def time(at: float) -> Line:
    """A time of day, which Slack shows in the reader's own time zone."""
    return (Span(clock(at), Kind.TIME, str(whole_second(at))),)


def join(lines: Iterable[Line], separator: str = " · ") -> Line:
    """The lines that are not empty, as one."""
    joined: Line = ()
    for line in filter(None, lines):
        joined = (*joined, *own(separator), *line) if joined else line
    return joined


def fill(template: str, values: Mapping[str, Line]) -> Line:
    """A sentence with its holes filled; a part in brackets is left out where a hole in it has no words."""
    known = {name for name, line in values.items() if line}
    return tuple(
        span
        for piece in pieces(template, known)
        for span in (values.get(piece.text, ()) if piece.is_hole else own(piece.text))
    )


def fit(line: Line, limit: int) -> Line:
    """The line within `limit` UTF-16 units: the span on the border is shortened, those after it are left out."""
    kept: list[Span] = []
    for span in line:
        room, limit = limit, limit - units(span.text)
        if limit >= 0:
            kept.append(span)
        else:
            kept += [replace(span, text=text)] if (text := clip(span.text, room)) else []
            break
    return tuple(kept)


def merged(line: Line) -> Line:
    """The line with neighbouring words that look the same as one span, and without empty ones."""
    kept: list[Span] = []
    for span in line:
        if kept and {kept[-1].kind, span.kind} <= _WORDS:
            kept[-1] = Span(kept[-1].text + span.text)
        elif span.text:
            kept.append(span)
    return tuple(kept)


def plain(line: Line) -> str:
    """The words of a line, without markup."""
    return "".join(span.text for span in line)
