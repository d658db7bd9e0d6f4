"""The response addresses that clicks hand out: five answers within half an hour, each past the bot's permissions."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.errors import SlackError
from bot.playground import delivery
from bot.playground.cast import STEERSMAN
from bot.playground.json_reading import JsonObject, flag_at, objects_at, text_at
from bot.playground.texts import posted_text
from bot.playground.workspace import Ephemeral, Message, Workspace

MOST_USES = 5
LIFE_S = 1_800.0


@dataclass(frozen=True, slots=True)
class Ticket:
    """What an address answers to: a message, or an ephemeral, and the person who clicked."""

    channel: str
    user: str
    ts: str
    thread_ts: str | None
    ephemeral: bool
    given_at: float
    uses: int = 0


class Responses:
    """The addresses that are known, and what is said through them."""

    def __init__(self, workspace: Workspace, publish: Callable[[JsonObject], object]) -> None:
        self._workspace, self._publish = workspace, publish
        self._tickets: dict[str, Ticket] = {}

    def give(self, user: str, message: Message | Ephemeral) -> str:
        """The last part of a new address."""
        key = self._workspace.stamps.identifier("R")
        ephemeral, now = isinstance(message, Ephemeral), self._workspace.stamps.now()
        self._tickets[key] = Ticket(message.channel, user, message.ts, message.thread_ts, ephemeral, now)
        return key

    def answer(self, key: str, body: JsonObject) -> None:
        """Say something through an address; SlackError used_url, expired_url."""
        ticket = self._tickets.get(key)
        if ticket is None or self._workspace.stamps.now() - ticket.given_at > LIFE_S:
            raise SlackError("response_url", "expired_url")
        if ticket.uses >= MOST_USES:
            raise SlackError("response_url", "used_url")
        self._tickets[key] = replace(ticket, uses=ticket.uses + 1)
        if ticket.ephemeral and (flag_at(body, "replace_original") or flag_at(body, "delete_original")):
            self._workspace.drop_whisper(ticket.ts)
        if not flag_at(body, "delete_original"):
            self._say(ticket, body)

    def _say(self, ticket: Ticket, body: JsonObject) -> None:
        text, blocks = posted_text(text_at(body, "text")), tuple(objects_at(body, "blocks"))
        ts = self._workspace.stamps.ts()
        if text_at(body, "response_type") == "in_channel":
            message = Message(ticket.channel, ts, STEERSMAN.id, text, blocks, ticket.thread_ts)
            for event in delivery.said(self._workspace, self._workspace.add(message)):
                self._publish(event)
        else:
            self._workspace.whisper(Ephemeral(ticket.channel, ts, ticket.user, text, blocks, ticket.thread_ts))
