"""The blocks of a model's Markdown: paragraphs, fenced code, and tables, which become fenced code.

Pure. Reads raw text; never escapes and never counts. What stands inside code is never changed.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.card.inline import honest
from bot.card.text import clip

LONGEST_INFO = 40
"""UTF-16 units of what stands behind an opening fence: it is repeated in every part."""

_FENCE = re.compile(r"(?P<indent>[ \t]{0,12})(?P<marks>`{3,64}(?=[^`\n]*$)|~{3,64}(?!~))(?P<info>[^\n]*)")
_RULE = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_BAR = re.compile(r"(?<!\\)\|")
_CELL_MARKS = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*")
_TICKS = re.compile(r"`+")


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph; `gap` is what stood between it and the block before."""

    text: str
    gap: str


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of code with its opening and closing line."""

    opener: str
    body: tuple[str, ...]
    closer: str
    gap: str

    @property
    def text(self) -> str:
        """The block as it is written."""
        return "\n".join((self.opener, *self.body, self.closer))


Block: TypeAlias = Prose | Fence


def read(text: str) -> Iterator[Block]:
    """The blocks of a text in order."""
    lines, at, gap = text.split("\n"), 0, ""
    while at < len(lines):
        if not lines[at].strip():
            at, gap = at + 1, gap + "\n"
            continue
        block, at = _block(lines, at, gap)
        yield block
        gap = "\n"


def _block(lines: list[str], at: int, gap: str) -> tuple[Block, int]:
    """The block that begins at this line, and where the next one begins."""
    if opening := _FENCE.fullmatch(lines[at]):
        return _fence(lines, at, opening, gap)
    if _is_table(lines, at):
        end = _table_end(lines, at)
        return _as_code(lines[at:end], gap), end
    end = at + 1
    while end < len(lines) and not _ends_prose(lines, end):
        end += 1
    return Prose(honest("\n".join(lines[at:end]).rstrip()), gap), end


def _ends_prose(lines: list[str], at: int) -> bool:
    return not lines[at].strip() or bool(_FENCE.fullmatch(lines[at])) or _is_table(lines, at)


def _fence(lines: list[str], at: int, opening: re.Match[str], gap: str) -> tuple[Fence, int]:
    """A fence up to its closing line; one that is never closed is closed at the end of the text."""
    marks = opening["marks"]
    closing = re.compile(rf"[ \t]*{re.escape(marks[0])}{{{len(marks)},}}[ \t]*")
    end = next((n for n in range(at + 1, len(lines)) if closing.fullmatch(lines[n])), None)
    body = lines[at + 1 : end]
    while end is None and body and not body[-1].strip():
        body.pop()
    opener = opening["indent"] + marks + clip(opening["info"].rstrip(), LONGEST_INFO)
    return Fence(opener, tuple(body), opening["indent"] + marks, gap), len(lines) if end is None else end + 1


def _is_table(lines: Sequence[str], at: int) -> bool:
    """Whether a table begins here: a line with bars above a rule with as many columns."""
    if at + 1 >= len(lines) or "|" not in lines[at] or "|" not in lines[at + 1]:
        return False
    return bool(_RULE.fullmatch(lines[at + 1].strip())) and len(_cells(lines[at])) == len(_cells(lines[at + 1]))


def _table_end(lines: list[str], at: int) -> int:
    end = at + 2
    while end < len(lines) and "|" in lines[end] and not _FENCE.fullmatch(lines[end]):
        end += 1
    return end


def _cells(line: str) -> list[str]:
    """The cells of a row; the bars at its ends make none."""
    cells = [cell.strip().replace("\\|", "|") for cell in _BAR.split(line.strip())]
    first, last = int(not cells[0]), len(cells) - int(len(cells) > 1 and not cells[-1])
    return cells[first:last]


def _as_code(lines: list[str], gap: str) -> Fence:
    """A table as aligned columns, because Slack aligns no other text, in a fence that no cell can close."""
    to_the_right = [cell.endswith(":") and not cell.startswith(":") for cell in _cells(lines[1])]
    rows = [_shown_cells(line, len(to_the_right)) for line in (lines[0], *lines[2:])]
    widths = [max(1, *map(_width, column)) for column in zip(*rows, strict=True)]
    body = ["  ".join(map(_padded, row, widths, to_the_right)).rstrip() for row in rows]
    rule = "  ".join("-" * width for width in widths)
    longest = max(len(found) for line in (*body, "``") for found in _TICKS.findall(line))
    marks = "`" * min(longest + 1, 64)
    return Fence(marks, (body[0], rule, *body[1:]), marks, gap)


def _shown_cells(line: str, columns: int) -> list[str]:
    """The cells of a row, as many as there are columns, without marks that would stand there as characters."""
    cells = [_CELL_MARKS.sub(lambda found: found[1] or found[2], cell) for cell in _cells(line)]
    return (cells + [""] * columns)[:columns]


def _padded(cell: str, width: int, to_the_right: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if to_the_right else cell + space


def _width(text: str) -> int:
    """Columns in a fixed-width font: East Asian characters and emoji take two, marks none."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in text)
