"""Text that a person has to judge: everything in it can be seen, and is read in the order in which it stands.

Pure. It leaves nothing out and shortens nothing: whoever says yes to a call says yes to what is really sent.
"""

import re
import unicodedata

# Marks that are put on one letter, from the fourth on: a stack of them covers the lines around it.
_STACKED = re.compile("(?<=[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{3})"
                      "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+")  # fmt: skip
# What Unicode calls printable and every font shows as nothing.
_SEEN_AS_NOTHING = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)


_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
"""Letters and digits after which a reader goes on to the left, so that neighbouring words change places (UAX 9)."""


def visible(text: str) -> str:
    """The text with what cannot be seen, or turns the reading order, as its code point; lines stay lines.

    Doing it twice changes nothing.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    unstacked = _STACKED.sub(lambda found: "".join(map(_written_out, found[0])), text)
    return "".join(char if _is_seen(char) else _written_out(char) for char in unstacked)


def _is_seen(char: str) -> bool:
    if char == "\n" or char.isascii():
        return char == "\n" or char.isprintable()
    turns = unicodedata.bidirectional(char) in _RIGHT_TO_LEFT
    return char.isprintable() and not turns and char not in _SEEN_AS_NOTHING


def _written_out(char: str) -> str:
    """As JSON writes it: a character beyond the sixteen bits as its two halves."""
    halves = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{halves[at : at + 2].hex()}" for at in range(0, len(halves), 2))
