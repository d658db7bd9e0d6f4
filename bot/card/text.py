"""Text from anywhere, made fit to be shown: cleaned, cut between whole characters, escaped, without secrets in URLs.

Pure. Knows no block and no state; every limit comes in as an argument.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

ELLIPSIS = "…"

ZWJ = "\u200d"
LONGEST_CLUSTER = 32
"""Code points; the longest emoji in use has 10. Without a bound one 'character' could be as long as the text."""
MOST_MARKS = 8
"""Combining marks kept on one character; living scripts stay below, stacked ones would cover the lines around."""

MOST_READ = 5
"""Characters of a text that are read for each one that is shown: a step's title may be as long as a log."""
LONGEST_URL = 1_000

_ENTITY = re.compile(r"&(amp|lt|gt);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">"}
_HALF = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_JOINER = re.compile(ZWJ)
# Controls, format characters and letters that are shown as nothing; the signs of Arabic that enclose numbers are seen.
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)?(?P<authority>[^/?#\\]*)(?P<path>[^?#]*)")
_HOST = re.compile(r"[\w.-]+(?::\d+)?")
_LAST_DAY = 253_402_300_799


def escape(text: str) -> str:
    """The three characters that Slack reads as markup, as entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """One layer of Slack's three entities taken off."""
    return _ENTITY.sub(lambda found: _CHARACTERS[found[1]], text)


def escape_once(text: str) -> str:
    """Escaped, where entities that stand there already stay as they are: doing it twice changes nothing."""
    return escape(unescape(text))


def units(text: str) -> int:
    """Length as Slack's clients count it: UTF-16 code units, never less than the number of characters."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def escaped_units(text: str) -> int:
    """Length of the text once it is escaped."""
    return units(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def clusters(text: str) -> Iterator[str]:
    """What a reader takes for one character: emoji with their joiners and letters with their marks stay whole."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or _is_border(text, start, at):
            yield text[start:at]
            start = at


def clip(text: str, limit: int, size: Callable[[str], int] = units) -> str:
    """The text, or its beginning and an ellipsis, within `limit` as `size` counts; never half a character."""
    if size(text) <= limit:
        return text
    room, kept = limit - size(ELLIPSIS), []
    for cluster in clusters(text):
        room -= size(cluster)
        if room < 0:
            break
        kept.append(cluster)
    return "".join(kept).rstrip() + ELLIPSIS if limit >= size(ELLIPSIS) else ""


def clean(text: str) -> str:
    """One line that can be put anywhere: no controls, nothing invisible, nothing that turns the reading order.

    Joiners stay inside emoji only, and at most MOST_MARKS marks on one character.
    """
    line = " ".join(text.split())
    if line.isascii() and line.isprintable():
        return line
    visible = _INVISIBLE.sub("", _HALF.sub("\ufffd", line))
    joined = _JOINER.sub(lambda found: ZWJ if _joins_emoji(visible, found.start()) else "", visible)
    return " ".join(_without_stacks(joined).split())


def sound(text: str) -> str:
    """Text of many lines without what no service takes: NUL and other controls, halves of characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _HALF.sub("\ufffd", _CONTROL.sub("", lines))


def label(text: str, limit: int) -> str:
    """A clean line of at most `limit` UTF-16 units; of a very long text only the beginning is looked at."""
    return clip(clean(text[: MOST_READ * limit]), limit)


def shown_url(target: str) -> str:
    """What a call goes to, with no URL in it that has a query, a fragment or credentials."""
    words = clean(target[:LONGEST_URL])
    # A space does not end a URL that begins the text: what follows it may be the query.
    return _where(words) if _SCHEME.match(words) else " ".join(map(_where, words.split(" ")))


def _where(url: str) -> str:
    """Where a URL leads; a word that is none stays as it is."""
    found = _URL.match(url)
    if found is None:
        return url
    host = found["authority"].rpartition("@")[2]
    is_bare_host = "." in host and len(url) > found.end("authority") and _HOST.fullmatch(host)
    if not (found["scheme"] or is_bare_host):
        return url
    return f"{found['scheme'] or ''}{host}{found['path']}".replace("|", "%7C")


def duration(seconds: float) -> str:
    """A length of time in two units at most: 42 s, 2 min 10 s, 1 h 5 min."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def took(milliseconds: int) -> str:
    """How long a call took: 812 ms, 1.2 s, 42 s."""
    if milliseconds < 1000:
        return f"{max(milliseconds, 0)} ms"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 10_000 else duration(milliseconds / 1000)


def count(number: int, one: str, many: str | None = None) -> str:
    """A number and its noun: 1 call, 2 calls."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def whole_second(at: float) -> int:
    """A time as Slack takes it, brought into the range that has a date."""
    return int(min(max(at, 0), _LAST_DAY))


def clock(at: float) -> str:
    """The time of day of an epoch time, for those whose client shows no local time."""
    return datetime.fromtimestamp(whole_second(at), UTC).strftime("%H:%M UTC")


def _is_border(text: str, start: int, at: int) -> bool:
    """Whether a new character begins at `at`, after the one that began at `start`."""
    before, char = text[at - 1], text[at]
    if "\ud800" <= before <= "\udbff" and "\udc00" <= char <= "\udfff":
        return False
    if at - start >= LONGEST_CLUSTER:
        return True
    if _joins(char) or before == ZWJ or (before, char) == ("\r", "\n"):
        return False
    return not (_is_flag_letter(before) and _is_flag_letter(char) and (at - start) % 2 == 1)


def _joins(char: str) -> bool:
    """Whether this belongs to the character before it: marks, joiners, skin tones, tags, the later parts of Hangul."""
    return (
        char == ZWJ
        or unicodedata.category(char).startswith("M")
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _joins_emoji(text: str, at: int) -> bool:
    """Whether the joiner at `at` stands between two emoji; anywhere else it is only invisible."""
    return 0 < at < len(text) - 1 and _is_emoji(text[at - 1]) and _is_emoji(text[at + 1])


def _is_emoji(char: str) -> bool:
    return char == "\ufe0f" or unicodedata.category(char) in ("So", "Sk")


def _without_stacks(text: str) -> str:
    kept, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        if marks <= MOST_MARKS:
            kept.append(char)
    return "".join(kept)
