"""What Slack makes of a text: which characters it escapes, and which tokens in angle brackets stay alive.

The stored text is always safe to send: every `<` in it opens a token. Facts: Slack's formatting reference.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TOKEN = re.compile(
    r"<(?:@(?P<user>[UW][A-Z0-9]+)(?:\|[^<>]*)?"
    r"|\#(?P<channel>[CD][A-Z0-9]+)(?:\|[^<>]*)?"
    r"|!date\^(?P<date>\d+)\^(?P<format>[^<>|^]*)(?:\^(?P<date_link>[^<>|]*))?\|(?P<fallback>[^<>]*)"
    r"|!subteam\^(?P<group>S[A-Z0-9]+)(?:\|[^<>]*)?"
    r"|!(?P<call>here|channel|everyone)(?:\|[^<>]*)?"
    r"|(?P<url>(?:https?://|mailto:)[^<>|\s]+)(?:\|(?P<label>[^<>]*))?)>"
)
TYPED = re.compile(rf"{TOKEN.pattern}|(?P<bare>https?://[^\s<>|]+)|(?<!\w)@(?P<name>\w+)")
LOOSE_AMPERSAND = re.compile(r"&(?!amp;|lt;|gt;)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a stored text: plain words, already unescaped, or a token with its parts."""

    kind: str
    text: str
    label: str = ""


def posted_text(raw: str) -> str:
    """What Slack stores of a text that came through the Web API: tokens and entities stay, loose brackets do not."""
    return "".join(part if alive else _escape(LOOSE_AMPERSAND.sub("&amp;", part)) for alive, part in _cut(raw))


def typed_text(raw: str, names: Mapping[str, str]) -> str:
    """What Slack stores of a text that a person typed; `names` maps a lower-case name to a user id."""
    parts, at = [], 0
    for found in TYPED.finditer(raw):
        parts += [_escape(raw[at : found.start()].replace("&", "&amp;")), _typed_token(found, names)]
        at = found.end()
    return "".join((*parts, _escape(raw[at:].replace("&", "&amp;"))))


def pieces(stored: str) -> Iterator[Piece]:
    """The parts of a stored text, in order."""
    at = 0
    for found in TOKEN.finditer(stored):
        if at < found.start():
            yield Piece("text", html.unescape(stored[at : found.start()]))
        yield _piece(found)
        at = found.end()
    if at < len(stored):
        yield Piece("text", html.unescape(stored[at:]))


def rich_text(stored: str, block_id: str) -> dict[str, object]:
    """The rich text block that Slack adds to what a person typed."""
    section = {"type": "rich_text_section", "elements": [_element(piece) for piece in pieces(stored)]}
    return {"type": "rich_text", "block_id": block_id, "elements": [section]}


def mentions(stored: str) -> frozenset[str]:
    """The ids of the users that a stored text mentions."""
    return frozenset(piece.text for piece in pieces(stored) if piece.kind == "user")


def _cut(raw: str) -> Iterator[tuple[bool, str]]:
    at = 0
    for found in TOKEN.finditer(raw):
        yield False, raw[at : found.start()]
        yield True, found.group()
        at = found.end()
    yield False, raw[at:]


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _typed_token(found: re.Match[str], names: Mapping[str, str]) -> str:
    if bare := found["bare"]:
        return f"<{bare.replace('&', '&amp;')}>"
    if (name := found["name"]) is None:
        return found.group()
    if name in ("here", "channel", "everyone"):
        return f"<!{name}>"
    user = names.get(name.lower())
    return f"<@{user}>" if user else f"@{name}"


def _piece(found: re.Match[str]) -> Piece:
    for kind in ("user", "channel", "group", "call"):
        if found[kind]:
            return Piece(kind, found[kind])
    if found["date"]:
        return Piece("date", found["date"], html.unescape(f"{found['format']}|{found['fallback']}"))
    return Piece("url", html.unescape(found["url"]), html.unescape(found["label"] or ""))


def _element(piece: Piece) -> dict[str, object]:
    match piece.kind:
        case "user":
            return {"type": "user", "user_id": piece.text}
        case "channel":
            return {"type": "channel", "channel_id": piece.text}
        case "group":
            return {"type": "usergroup", "usergroup_id": piece.text}
        case "call":
            return {"type": "broadcast", "range": piece.text}
        case "url":
            return {"type": "link", "url": piece.text, **({"text": piece.label} if piece.label else {})}
        case _:
            return {"type": "text", "text": piece.text}
