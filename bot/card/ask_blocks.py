"""The blocks of the calls that wait for a yes: each whole, in text that nobody can break out of.

Pure. It never cuts a call: one that does not fit is left out together with its buttons, and counted.
"""

from bot.card import spans
from bot.card.asks import AskView
from bot.card.elements import LONGEST_LINE, Json, block, context, inlines, pressable, rich, section, size, weight, words
from bot.card.spans import Line
from bot.card.text import clusters, count

LONGEST_CHUNK = 2_500
"""Bytes of one piece of a call that waits for a yes; a section may have 3,000 characters, and this is the same text."""
MOST_ASKS = 10
"""Each has three blocks, of the 50 of a message."""
ROOM_FOR_COUNT = 200
"""Bytes kept for the words of what does not fit."""


def ask_blocks(asks: tuple[AskView, ...], room: int) -> list[Json]:
    """The calls that wait for a yes, each whole, as many as fit in order; the others are counted."""
    shown: list[Json] = []
    for number, ask in enumerate(asks, 1):
        group = _ask(ask, number)
        if weight([*shown, *group]) + ROOM_FOR_COUNT > room or number > MOST_ASKS:
            return [*shown, *rich("more", [_unshown(asks[number - 1 :], is_first=not shown)])]
        shown += group
    return shown


def _ask(ask: AskView, number: int) -> list[Json]:
    """One call in full, who may say yes to it, and its buttons."""
    pieces: list[Json] = [{"type": "rich_text_preformatted", "elements": [words(each)]} for each in _chunks(ask.shown)]
    title = section(inlines(spans.strong(ask.title), LONGEST_LINE))
    return [
        block("rich_text", f"ask{number}", elements=[title, *pieces]),
        context(f"ask{number}-who", ask.context_line),
        block("actions", f"ask{number}-ctl", elements=[pressable(each) for each in ask.buttons]),
    ]


def _chunks(text: str) -> list[str]:
    """The text in pieces that Slack takes, which put together are the text again; never half a character."""
    pieces, left = [""], LONGEST_CHUNK
    for cluster in clusters(text):
        left -= size(cluster)
        if left < 0:
            pieces, left = [*pieces, ""], LONGEST_CHUNK - size(cluster)
        pieces[-1] += cluster
    return list(filter(None, pieces))


def _unshown(asks: tuple[AskView, ...], *, is_first: bool) -> Line:
    if is_first:
        too_large = "is too large to be shown in full, so it cannot be approved. Stop ends the analysis"
        return (*spans.foreign(asks[0].title), *spans.own(f" {too_large}"))
    waits = "waits" if len(asks) == 1 else "wait"
    return spans.own(f"{count(len(asks), 'more call')} {waits} for a yes, shown here when these are decided")
