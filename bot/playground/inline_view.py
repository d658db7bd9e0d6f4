"""How the tokens and the styles inside a line look on the page: mentions, links, times, bold, code.

Pure. A link that is not http, https or mailto is words; nothing a text says can become markup.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from bot.playground.cast import User
from bot.playground.markup import Html, join, tag, text
from bot.playground.texts import TOKEN, Piece, pieces
from bot.playground.workspace import Workspace

MRKDWN = re.compile(
    rf"{TOKEN.pattern}"
    r"|```\n?(?P<fence>.+?)\n?```"
    r"|`(?P<code>[^`\n]+)`"
    r"|(?<![\w*])\*(?P<bold>[^*\n]+)\*(?![\w*])"
    r"|(?<!\w)_(?P<italic>[^_\n]+)_(?!\w)"
    r"|(?<!\w)~(?P<strike>[^~\n]+)~(?!\w)",
    re.DOTALL,
)
STYLE_TAGS = {"bold": "strong", "italic": "em", "strike": "s"}
SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s<>\"']+", re.IGNORECASE)
DATE_FORMATS = {
    "{time}": "%H:%M", "{time_secs}": "%H:%M:%S", "{date_num}": "%Y-%m-%d", "{date}": "%-d %B %Y",
    "{date_short}": "%-d %b %Y", "{date_long}": "%A %-d %B %Y", "{date_pretty}": "%-d %B %Y",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reader:
    """Who looks at the page: `url` is the playground's own address, whose permalinks stay in the page."""

    workspace: Workspace
    user: User
    url: str

    def name_of(self, user_id: str) -> str:
        """The name of a user, or the id of one who is not here."""
        found = self.workspace.users.get(user_id)
        return found.name if found else user_id

    def handle_of(self, group_id: str) -> str:
        """The handle of a user group, or the id of one that is not here."""
        found = self.workspace.groups.get(group_id)
        return found.handle if found else group_id

    def channel_name(self, channel_id: str) -> str:
        """The name of a channel."""
        found = self.workspace.channels.get(channel_id)
        return found.name if found else channel_id


def mrkdwn(stored: str, reader: Reader) -> Html:
    """A text in Slack's own markup, as it is stored."""
    if "```" in stored:
        return join(_styled_parts(stored, reader))
    shown = []
    for quoted, lines in groupby(stored.split("\n"), key=lambda line: line.startswith("&gt;")):
        words = "\n".join(line.removeprefix("&gt;").removeprefix(" ") if quoted else line for line in lines)
        body = join(_styled_parts(words, reader))
        shown.append(tag("blockquote", body) if quoted else body)
    return join(shown)


def plain(stored: str) -> str:
    """The words of a stored text, for a code block: tokens as they read."""
    return "".join(piece.label or piece.text for piece in pieces(stored))


def token(piece: Piece, reader: Reader) -> Html:
    """A token, or plain words."""
    match piece.kind:
        case "user":
            return mention(piece.text, reader)
        case "channel":
            return tag("span", f"#{reader.channel_name(piece.text)}", class_="mention")
        case "group":
            return group_mention(piece.text, reader)
        case "call":
            return tag("span", f"@{piece.text}", class_="mention call")
        case "date":
            shape, _, fallback = piece.label.partition("|")
            return moment(piece.text, shape, fallback)
        case "url":
            return link(piece.text, piece.label or piece.text, reader)
        case _:
            return text(piece.text)


def mention(user_id: str, reader: Reader) -> Html:
    """A user's name, marked where it is the reader's own."""
    mine = " me" if user_id == reader.user.id else ""
    return tag("span", f"@{reader.name_of(user_id)}", class_=f"mention{mine}")


def group_mention(group_id: str, reader: Reader) -> Html:
    """A user group's handle, marked where the reader is in it."""
    found = reader.workspace.groups.get(group_id)
    mine = " me" if found and reader.user.id in found.members else ""
    return tag("span", f"@{reader.handle_of(group_id)}", class_=f"mention{mine}")


def link(url: str, label: str, reader: Reader) -> Html:
    """A link; words where the address could do anything else than open a page."""
    if not SAFE_LINK.fullmatch(url):
        return text(label)
    if url.startswith(f"{reader.url}/archives/"):
        path = url.removeprefix(reader.url)
        return tag("a", label, href=f"{path}{'&' if '?' in path else '?'}as={reader.user.name}")
    return tag("a", label, href=url, target="_blank", rel="noopener noreferrer")


def moment(seconds: str, shape: str, fallback: str) -> Html:
    """A time in the zone of this machine; the fallback where the format is unknown."""
    words = shape
    for name, pattern in DATE_FORMATS.items():
        words = words.replace(name, local_time(float(seconds)).strftime(pattern))
    return tag("time", fallback if "{" in words else words)


def local_time(seconds: float) -> datetime:
    """A time of the epoch in the zone of this machine."""
    return datetime.fromtimestamp(seconds, tz=UTC).astimezone()


def _styled_parts(stored: str, reader: Reader) -> Iterator[Html]:
    at = 0
    for found in MRKDWN.finditer(stored):
        yield text(html.unescape(stored[at : found.start()]))
        yield _styled(found, reader)
        at = found.end()
    yield text(html.unescape(stored[at:]))


def _styled(found: re.Match[str], reader: Reader) -> Html:
    if found["fence"]:
        return tag("pre", plain(found["fence"]))
    if found["code"]:
        return tag("code", plain(found["code"]))
    for style, name in STYLE_TAGS.items():
        if found[style]:
            return tag(name, join(_styled_parts(found[style], reader)))
    return token(next(pieces(found.group())), reader)
