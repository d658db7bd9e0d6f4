"""The spans inside one paragraph of a model's Markdown: code, links, bold, addresses.

Pure. Reads and rewrites raw text; never escapes and never counts. What stands inside code is never changed.
Every search is linear or nearly so in the length of the text: it comes from a model, which copies it from anywhere.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

LONGEST_NAMED = 200
"""Characters of a link's label in which a host is looked for."""

_TICKS = re.compile(r"`+")
_STARS = re.compile(r"(?<![\\*])\*{2,3}(?!\*)")
_LINK = re.compile(
    r"(?P<bangs>!*)\[(?P<label>(?:[^\[\]\\]|\\.)*)\]"
    r"\(\s*<?(?P<url>(?:[^\s()<>]|\([^\s()<>]*\))+)>?(?P<title>\s+\"[^\"\n]*\")?\s*\)"
)
_DEFINITION = re.compile(r"^ {0,3}(?=\[[^\]\n]+\]:)", re.MULTILINE)
_BARE_URL = re.compile(r"https?://[^\s<>]+")
_ANY_ADDRESS = re.compile(rf"{_LINK.pattern}|(?i:https?://|mailto:)[^\s<>]+")
_LIVE = re.compile(r"(?:https?://|mailto:)(?P<authority>[^/?#\\]*)", re.IGNORECASE)
_HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Inline:
    """A span that is not to be cut; `marks` close and re-open it where it has to be."""

    start: int
    end: int
    marks: str = ""


@dataclass(frozen=True, slots=True)
class Address:
    """An address in a text: as it is written there, and the label of its link, empty for a bare one."""

    written: str
    label: str
    url: str

    @property
    def host(self) -> str:
        """The host that a browser would go to; empty where it is no address of the web."""
        live = _LIVE.match(self.url)
        return live["authority"].rpartition("@")[2].partition(":")[0].lower() if live else ""


class Spans:
    """Spans of a text, overlapping ones taken as one."""

    def __init__(self, spans: Iterable[Inline]) -> None:
        self._spans = sorted(spans, key=lambda span: (span.start, -span.end))
        self._starts: list[int] = []
        self._ends: list[int] = []
        for span in self._spans:
            self._add(span)

    def touch(self, start: int, end: int) -> bool:
        """Whether any span has a character in common with this stretch."""
        found = bisect_right(self._ends, start)
        return found < len(self._ends) and self._starts[found] < end

    def start_around(self, at: int) -> int:
        """Where the outermost span begins that a cut before the character `at` would tear; `at` where none is torn."""
        found = bisect_right(self._ends, at)
        return min(at, self._starts[found]) if found < len(self._ends) else at

    def marks_around(self, at: int) -> list[str]:
        """The marks of all spans that a cut before the character `at` would tear, outermost first."""
        return [span.marks for span in self._spans if span.marks and span.start < at < span.end]

    def _add(self, span: Inline) -> None:
        if self._ends and span.start < self._ends[-1]:
            self._ends[-1] = max(self._ends[-1], span.end)
        else:
            self._starts.append(span.start)
            self._ends.append(span.end)


def spans_of(text: str) -> Spans:
    """Everything in a paragraph that should stay in one piece."""
    taken = _code_and_links(text)
    bare = (Inline(found.start(), found.end()) for found in _BARE_URL.finditer(text))
    return Spans([*taken, *_bold(text, Spans(taken)), *bare])


def honest(text: str) -> str:
    """A paragraph whose links say where they lead.

    A label that names a host other than the link's own gets the real one behind it. Images become links, so that
    nothing is fetched. Links to anything but the web, and labels defined elsewhere in the text, become plain words.
    """
    return _outside_code(_DEFINITION, _outside_code(_LINK, text, _honest_link), lambda found: found[0] + "\\")


def rewritten_addresses(text: str, shown: Callable[[Address], str]) -> str:
    """A paragraph in which each link and each bare address is what `shown` makes of it."""

    def rewritten(found: re.Match[str]) -> str:
        if found["url"] is None:
            return shown(Address(found[0], "", found[0]))
        return found["bangs"] + shown(Address(found[0][len(found["bangs"]) :], found["label"], found["url"]))

    return _outside_code(_ANY_ADDRESS, text, rewritten)


def in_slack_words(text: str) -> str:
    """A paragraph for Slack's older markup: bold and headings with one star, links as label and address."""
    flat = _outside_code(_LINK, text, lambda found: f"{found['label']} ({found['url']})")
    headed = _outside_code(_HEADING, flat, lambda found: f"*{found[1].replace('**', '').rstrip('# ')}*")
    kept, at = [], 0
    for span in _bold(headed, Spans(_code_and_links(headed))):
        kept += [headed[at : span.start], "*", headed[span.start + len(span.marks) : span.end - len(span.marks)], "*"]
        at = span.end
    return "".join((*kept, headed[at:]))


def _outside_code(pattern: re.Pattern[str], text: str, replacement: Callable[[re.Match[str]], str]) -> str:
    code = Spans(_code(text))
    return pattern.sub(lambda found: found[0] if code.touch(found.start(), found.end()) else replacement(found), text)


def _honest_link(found: re.Match[str]) -> str:
    label, url = found["label"], found["url"]
    # One mark makes an image; a second one would make one of the link that is left.
    before = f"{found['bangs'][1:]} " if len(found["bangs"]) > 1 else ""
    live = _LIVE.match(url)
    if live is None:
        return f"{before}[{label}] ({url})"
    host = live["authority"].rpartition("@")[2].partition(":")[0].lower()
    named = _HOST.search(label[:LONGEST_NAMED])
    if named and named[0].lower() != host and not label.endswith(f"({host})"):
        label = f"{label} ({host})"
    return f"{before}[{label if label.strip() else host}]({url}{found['title'] or ''})"


def _code_and_links(text: str) -> list[Inline]:
    """What stars have no meaning in."""
    code = list(_code(text))
    taken = Spans(code)
    links = [Inline(found.start(), found.end()) for found in _LINK.finditer(text)]
    return code + [link for link in links if not taken.touch(link.start, link.end)]


def _code(text: str) -> Iterator[Inline]:
    """Code spans: from a run of backticks to the next run of the same length."""
    runs = list(_TICKS.finditer(text))
    following = _next_of_same_length(runs)
    at = 0
    while at < len(runs):
        end, is_escaped = following[at], text[max(runs[at].start() - 1, 0)] == "\\"
        if end is None or is_escaped:
            at += 1
            continue
        yield Inline(runs[at].start(), runs[end].end(), runs[at][0])
        at = end + 1


def _next_of_same_length(runs: list[re.Match[str]]) -> list[int | None]:
    seen: dict[int, int] = {}
    following: list[int | None] = [None] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        length = len(runs[at][0])
        following[at] = seen.get(length)
        seen[length] = at
    return following


def _bold(text: str, taken: Spans) -> Iterator[Inline]:
    """Bold spans: from stars before a word to the same stars after one."""
    opener: re.Match[str] | None = None
    for stars in _STARS.finditer(text):
        if taken.touch(stars.start(), stars.end()):
            continue
        if opener and opener[0] == stars[0] and not text[stars.start() - 1].isspace():
            yield Inline(opener.start(), stars.end(), stars[0])
            opener = None
        elif text[stars.end() : stars.end() + 1].strip():
            opener = stars
