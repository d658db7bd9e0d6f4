"""How a markdown block looks on the page: headings, lists, tables, quotes, code, and the styles inside a line.

Pure, and safe by construction: raw HTML in the text is words. As in Slack, tokens such as <!here> are alive in it.
"""

import html
import re
from collections import deque
from collections.abc import Callable, Iterator

from bot.playground.inline_view import Reader, link, token
from bot.playground.markup import Html, join, tag, text
from bot.playground.texts import TOKEN, pieces

HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
FENCE = re.compile(r"\s*```")
ITEM = re.compile(r"(?P<indent>\s*)(?:[-*+]|(?P<number>\d+)[.)])\s+(?P<words>.*)$")
QUOTE = re.compile(r"\s*>\s?(.*)$")
RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*$")
TABLE_LINE = re.compile(r"\s*\|?(\s*:?-+:?\s*\|)+\s*:?-*:?\s*\|?\s*$")
INLINE = re.compile(
    rf"{TOKEN.pattern}"
    r"|(?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)"
    r"|\[(?P<name>[^\[\]\n]+)\]\((?P<target>[^()\s]+)\)"
    r"|\*\*(?P<bold>.+?)\*\*|(?<!\w)__(?P<bold_too>.+?)__(?!\w)"
    r"|~~(?P<strike>.+?)~~"
    r"|(?<![\w*])\*(?P<italic>[^\s*][^*\n]*?)\*(?![\w*])|(?<!\w)_(?P<italic_too>[^\s_][^_\n]*?)_(?!\w)"
    r"|\\(?P<escaped>[\\`*_{}\[\]()#+.!|~>-])"
    r"|(?P<bare>https?://[^\s<>|)]+)"
)
STYLE_TAGS = {"bold": "strong", "bold_too": "strong", "strike": "s", "italic": "em", "italic_too": "em"}
Lines = deque[str]


def markdown(source: str, reader: Reader) -> Html:
    """A text in Markdown as HTML."""
    lines: Lines = deque(source.split("\n"))
    return join(_blocks(lines, reader))


def _blocks(lines: Lines, reader: Reader) -> Iterator[Html]:
    while lines:
        if not lines[0].strip():
            lines.popleft()
        else:
            yield _block_reader(lines)(lines, reader)


def _block_reader(lines: Lines) -> Callable[[Lines, Reader], Html]:
    for opening, read in READERS:
        if opening.match(lines[0]):
            return read
    is_table = len(lines) > 1 and "|" in lines[0] and TABLE_LINE.match(lines[1])
    return _table if is_table else _paragraph


def _fence(lines: Lines, _reader: Reader) -> Html:
    lines.popleft()
    kept = []
    while lines and not FENCE.match(lines[0]):
        kept.append(lines.popleft())
    if lines:
        lines.popleft()
    return tag("pre", html.unescape("\n".join(kept)))


def _heading(lines: Lines, reader: Reader) -> Html:
    found = HEADING.match(lines.popleft())
    if found is None:
        return Html()
    return tag(f"h{min(len(found[1]) + 2, 6)}", inline(found[2], reader))


def _rule(lines: Lines, _reader: Reader) -> Html:
    lines.popleft()
    return tag("hr")


def _quote(lines: Lines, reader: Reader) -> Html:
    inner: Lines = deque()
    while lines and (found := QUOTE.match(lines[0])):
        inner.append(found[1])
        lines.popleft()
    return tag("blockquote", join(_blocks(inner, reader)))


def _list(lines: Lines, reader: Reader) -> Html:
    """A list; what is indented further than its first item is read again as what stands in the item."""
    first = ITEM.match(lines[0])
    indent, ordered = (len(first["indent"]), bool(first["number"])) if first else (0, False)
    items = []
    while lines and (found := ITEM.match(lines[0])) and len(found["indent"]) == indent:
        lines.popleft()
        items.append(tag("li", inline(found["words"], reader), join(_blocks(_deeper(lines, indent), reader))))
    return tag("ol" if ordered else "ul", *items)


def _deeper(lines: Lines, indent: int) -> Lines:
    kept: Lines = deque()
    while lines and lines[0].strip() and len(lines[0]) - len(lines[0].lstrip()) > indent:
        kept.append(lines.popleft())
    return kept


def _table(lines: Lines, reader: Reader) -> Html:
    head = tag("tr", *(tag("th", inline(cell, reader)) for cell in _cells(lines.popleft())))
    lines.popleft()
    rows = []
    while lines and "|" in lines[0]:
        rows.append(tag("tr", *(tag("td", inline(cell, reader)) for cell in _cells(lines.popleft()))))
    return tag("table", tag("thead", head), tag("tbody", *rows))


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def _paragraph(lines: Lines, reader: Reader) -> Html:
    kept = [lines.popleft()]
    while lines and lines[0].strip() and _block_reader(lines) is _paragraph:
        kept.append(lines.popleft())
    return tag("p", inline("\n".join(kept), reader))


READERS: tuple[tuple[re.Pattern[str], Callable[[Lines, Reader], Html]], ...] = (
    (FENCE, _fence), (HEADING, _heading), (RULE, _rule), (QUOTE, _quote), (ITEM, _list)
)  # fmt: skip


def inline(source: str, reader: Reader) -> Html:
    """The styles, links and tokens inside a line; entities are words."""
    parts, at = [], 0
    for found in INLINE.finditer(source):
        parts += [text(html.unescape(source[at : found.start()])), _styled(found, reader)]
        at = found.end()
    return join((*parts, text(html.unescape(source[at:]))))


def _styled(found: re.Match[str], reader: Reader) -> Html:
    if found["code"]:
        return tag("code", html.unescape(found["code"].strip()))
    if found["name"]:
        return link(html.unescape(found["target"]), html.unescape(found["name"]), reader)
    if found["escaped"]:
        return text(found["escaped"])
    if found["bare"]:
        return link(html.unescape(found["bare"]), html.unescape(found["bare"]), reader)
    for style, name in STYLE_TAGS.items():
        if found[style]:
            return tag(name, inline(found[style], reader))
    return token(next(pieces(found.group())), reader)
