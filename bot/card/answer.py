"""The final answer of a run, from the model's Markdown to the texts of as many posts as it takes.

Pure. Nothing of it can ring or pretend: every `<`, `>` and `&` is escaped, once. Each part stands by itself: code is
closed and opened again, and a link, a bold span or a line of a table is cut only where it is longer than a whole post.
Doing it twice gives the same texts.
"""

from collections.abc import Callable, Iterator

from bot.card.inline import Spans, in_slack_words, spans_of
from bot.card.links import only_links_to
from bot.card.markdown import Block, Fence, Prose, read
from bot.card.text import clip, clusters, escape, escaped_units, sound, unescape
from bot.rules.blank import is_blank

PART_LIMIT = 11_000
"""UTF-16 units of one part, escaped: a `markdown` block takes 12,000 characters."""
LEAST_LIMIT = 500
"""Below this a fence with its marks would leave no room for code."""
PLAIN_LIMIT = 12_000
"""UTF-16 units of the plain form, escaped: chat.postMessage cuts off a text at 40,000 characters."""

_ROOM_FOR_MARKS = 64
_OPENS_A_BLOCK = ("`", "~", "#", ">", "-", "+", "*", "=", "|", "[", *"0123456789")
"""A new post must not begin with one of these by accident: the rest of a sentence would become a heading or a list."""


def parts(
    markdown_text: str, limit: int = PART_LIMIT, *, is_ours: Callable[[str], bool] | None = None
) -> tuple[str, ...]:
    """The texts of the `markdown` blocks to post, in order; none for a text that shows nothing.

    `limit` is in UTF-16 units of the escaped text, at least LEAST_LIMIT. With `is_ours` only links to hosts that are
    ours stay links.
    """
    raw, packed = unescape(sound(markdown_text)), list[str]()
    for gap, text in _pieces(only_links_to(raw, is_ours) if is_ours else raw, max(limit, LEAST_LIMIT)):
        if gap is None or not packed or escaped_units(joined := packed[-1] + gap + text) > max(limit, LEAST_LIMIT):
            packed.append(text)
        else:
            packed[-1] = joined
    return tuple(escape(part) for part in packed if not is_blank(part))


def plain(markdown_text: str, limit: int = PLAIN_LIMIT) -> str:
    """The answer for notifications, and for a post that Slack refuses blocks in; empty for one that shows nothing."""
    text = unescape(sound(markdown_text))
    if is_blank(text):
        return ""
    words = "".join(block.gap + _plain_block(block) for block in read(text)).strip("\n")
    return escape(clip(words, limit, escaped_units))


def _plain_block(block: Block) -> str:
    match block:
        case Fence(body=body):
            return "\n".join(("```", *body, "```"))
        case Prose(text=text):
            return in_slack_words(text)


def _pieces(text: str, limit: int) -> Iterator[tuple[str | None, str]]:
    """Texts that each fit, with what stood before them; None before one that has to begin a new post."""
    for block in read(text):
        if escaped_units(block.text) <= limit:
            yield block.gap, block.text
            continue
        cut = _cut_fence(block, limit) if isinstance(block, Fence) else _cut_prose(block.text, limit)
        yield from ((None, piece) for piece in cut)


def _cut_fence(fence: Fence, limit: int) -> Iterator[str]:
    """Code in several fences, each with the opening line of the first; a line is cut only where it is too long."""
    room = limit - escaped_units(fence.opener) - escaped_units(fence.closer) - 2
    body: list[str] = []
    used = 0
    for line in (piece for whole in fence.body for piece in _cut_line(whole, room)):
        size = escaped_units(line) + 1
        if body and used + size > room:
            yield Fence(fence.opener, tuple(body), fence.closer, "").text
            body, used = [], 0
        body.append(line)
        used += size
    yield Fence(fence.opener, tuple(body), fence.closer, "").text


def _cut_line(line: str, room: int) -> Iterator[str]:
    while escaped_units(line) > room:
        at = _reach(line, room)
        yield line[:at]
        line = line[at:]
    yield line


def _cut_prose(text: str, limit: int) -> Iterator[str]:
    while escaped_units(text) > limit:
        head, text = _cut_once(text, limit)
        yield head
    yield text


def _cut_once(text: str, limit: int) -> tuple[str, str]:
    """A beginning that fits, and the rest."""
    spans, reach = spans_of(text), _reach(text, limit)
    half = reach // 2
    if at := _line_end(text, reach, half, spans) or _space(text, reach, spans) or _line_end(text, half, 0, spans):
        rest = text[at + 1 :]
        return text[:at].rstrip(), rest if text[at] == "\n" else rest.lstrip(" \t")
    if before := spans.start_around(reach):
        return text[:before], text[before:]
    at = _reach(text, limit - _ROOM_FOR_MARKS) if spans.marks_around(reach) else reach
    return _torn(text, at, spans)


def _line_end(text: str, last: int, first: int, spans: Spans) -> int:
    """The last end of a line that tears no span; 0 where there is none."""
    ends = (at for at in range(last, first, -1) if text[at] == "\n")
    return next((at for at in ends if spans.start_around(at) == at), 0)


def _space(text: str, last: int, spans: Spans) -> int:
    """The last space that tears no span and does not make the rest something else; 0 where there is none."""
    spaces = (at for at in range(last, 0, -1) if text[at] == " ")
    whole = (at for at in spaces if spans.start_around(at) == at)
    return next((at for at in whole if not text[at:].lstrip(" ").startswith(_OPENS_A_BLOCK)), 0)


def _torn(text: str, at: int, spans: Spans) -> tuple[str, str]:
    """A cut inside a span that is longer than a post: code and bold are closed here and opened again."""
    marks = spans.marks_around(at)
    if len("".join(marks)) > _ROOM_FOR_MARKS:
        marks = []
    head, rest = text[:at], text[at:]
    if marks and "*" in marks[-1]:
        head, rest = head.rstrip(), rest.lstrip()
    return head + "".join(reversed(marks)), "".join(marks) + rest


def _reach(text: str, limit: int) -> int:
    """How many characters from the beginning fit; at least one."""
    at = 0
    for cluster in clusters(text):
        limit -= escaped_units(cluster)
        if limit < 0 and at:
            break
        at += len(cluster)
    return at
