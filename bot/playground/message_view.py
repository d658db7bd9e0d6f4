"""How a message looks on the page: who, when, what it says, and what its reader may do with it.

Pure: the same store and the same reader give the same HTML.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.playground.block_view import BlockView
from bot.playground.cast import Standing, User
from bot.playground.element_view import Place
from bot.playground.inline_view import Reader, local_time, mrkdwn
from bot.playground.json_reading import JsonObject
from bot.playground.markup import Html, join, tag
from bot.playground.texts import Piece, pieces
from bot.playground.workspace import Ephemeral, Message


@dataclass(frozen=True, slots=True)
class Pane:
    """The list that a message stands in: `name` is channel or thread."""

    name: str
    reader: Reader

    def log(self, messages: Sequence[Message], ephemerals: Sequence[Ephemeral]) -> Html:
        """Messages and what only the reader sees, in order of time."""
        shown = [(found.ts, self.message(found)) for found in messages]
        shown += [(found.ts, self.whisper(found)) for found in ephemerals]
        return join(drawn for _, drawn in sorted(shown))

    def message(self, message: Message) -> Html:
        """A message."""
        author = self.reader.workspace.users.get(message.user)
        body = tag("div", self._body(message, author), class_="body", data_raw=_raw(message, self.reader))
        content = tag("div", _head(author, message.ts, message.edited_ts is not None), body, self._replies(message))
        tools = Html() if message.tombstone else self._tools(message)
        return self._article(message.ts, author, content, tools, class_="message")

    def whisper(self, ephemeral: Ephemeral) -> Html:
        """A message that only the reader sees."""
        author = self.reader.workspace.users["UBOT"]
        note = tag("p", "Only visible to you", class_="only-you")
        body = tag("div", self._said(ephemeral.text, ephemeral.blocks, ephemeral.ts, ephemeral.channel), class_="body")
        content = tag("div", note, _head(author, ephemeral.ts, edited=False), body)
        return self._article(ephemeral.ts, author, content, Html(), class_="message ephemeral")

    def _article(self, ts: str, author: User | None, content: Html, tools: Html, *, class_: str) -> Html:
        return tag(
            "article", _avatar(author), content, tools, class_=class_, id=f"{self.name}-{ts}",
            data_testid=f"message-{ts}", data_ts=ts,
        )  # fmt: skip

    def _body(self, message: Message, author: User | None) -> Html:
        if message.tombstone:
            return tag("p", message.text, class_="small")
        app = author is not None and author.standing is Standing.APP
        opener = self._broadcast_line(message)
        return join((opener, self._said(message.text, message.blocks if app else (), message.ts, message.channel)))

    def _said(self, stored: str, blocks: Sequence[JsonObject], ts: str, channel: str) -> Html:
        if not blocks:
            return tag("p", mrkdwn(stored, self.reader))
        return BlockView(self.reader, Place(channel, ts)).blocks(blocks)

    def _broadcast_line(self, message: Message) -> Html:
        if not message.broadcast or self.name == "thread":
            return Html()
        return tag("p", "replied to a ", self._thread_link(message, "thread"), class_="small")

    def _replies(self, message: Message) -> Html:
        replies = self.reader.workspace.replies(message.channel, message.ts)
        if self.name == "thread" or not replies:
            return Html()
        count = "1 reply" if len(replies) == 1 else f"{len(replies)} replies"
        last = tag("span", f" last at {clock(replies[-1].ts)}", class_="small")
        return tag("p", self._thread_link(message, count), last, class_="replies")

    def _thread_link(self, message: Message, words: str) -> Html:
        address = f"/?channel={message.channel}&thread={message.root_ts}&as={self.reader.user.name}"
        return tag("a", words, href=address, data_testid=f"open-thread-{message.root_ts}")

    def _tools(self, message: Message) -> Html:
        tools = [] if self.name == "thread" else [self._thread_link(message, "Reply")]
        if message.user == self.reader.user.id:
            for verb in ("edit", "delete"):
                tools.append(tag(
                    "button", verb.capitalize(), type="button", data_do=verb, data_channel=message.channel,
                    data_ts=message.ts, data_testid=f"{verb}-{message.ts}",
                ))  # fmt: skip
        return tag("div", *tools, class_="tools")


def clock(ts: str) -> str:
    """The time of day of a message, in the zone of this machine."""
    return local_time(float(ts)).strftime("%H:%M")


def _avatar(author: User | None) -> Html:
    name = author.name if author else "?"
    return tag("span", name[0], class_=f"avatar {name.lower()}", aria_hidden="true")


def _head(author: User | None, ts: str, edited: bool) -> Html:
    app = [tag("span", "APP", class_="badge")] if author and author.standing is Standing.APP else []
    place = {Standing.GUEST: "guest", Standing.EXTERNAL: "other company"}.get(author.standing) if author else None
    notes = [tag("span", place, class_="small")] if place else []
    time = tag("time", clock(ts), title=ts)
    mark = [tag("span", "(edited)", class_="small")] if edited else []
    return tag("p", tag("strong", author.name if author else "Slack"), *app, *notes, time, *mark, class_="head")


def _raw(message: Message, reader: Reader) -> str | None:
    """What the author would see in the composer; None for everybody else."""
    if message.user != reader.user.id or message.tombstone:
        return None
    return "".join(_typed(piece, reader) for piece in pieces(message.text))


def _typed(piece: Piece, reader: Reader) -> str:
    match piece.kind:
        case "user":
            return f"@{reader.name_of(piece.text)}"
        case "call":
            return f"@{piece.text}"
        case "url" if piece.label:
            return f"<{piece.text}|{piece.label}>"
        case _:
            return piece.text
