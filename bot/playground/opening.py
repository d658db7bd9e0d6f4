"""The methods that open something: a socket, a modal, the session of a thread. And the tickets that they take.

A trigger of a click opens one modal within three seconds; a ticket of apps.connections.open opens one socket.
"""

from collections.abc import Callable

from bot.errors import SlackError
from bot.playground.block_rules import BlockRules
from bot.playground.json_reading import JsonObject, object_at, objects_at, text_at
from bot.playground.stamps import Stamps
from bot.playground.workspace import Session, View, Workspace

TRIGGER_S = 3.0
STATUSES = frozenset({"active", "processing", "suspended", "closed"})
LONGEST_SESSION_TITLE = 200
LONGEST_VIEW_TITLE = 24
MOST_VIEW_BLOCKS = 100


class Triggers:
    """The trigger ids that clicks have handed out."""

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._given: dict[str, tuple[str, float]] = {}
        self._used: set[str] = set()

    def give(self, user: str) -> str:
        """A new trigger id for a user's click."""
        trigger = self._stamps.identifier("1.2.")
        self._given[trigger] = (user, self._stamps.now())
        return trigger

    def use(self, trigger: str) -> str:
        """The user whose click it was; SlackError where it is unknown, used or older than three seconds."""
        if trigger in self._used:
            raise SlackError("views.open", "exchanged_trigger_id")
        if trigger not in self._given:
            raise SlackError("views.open", "invalid_trigger_id")
        user, at = self._given[trigger]
        if self._stamps.now() - at > TRIGGER_S:
            raise SlackError("views.open", "expired_trigger_id")
        self._used.add(trigger)
        return user


class Opening:
    """What the bot may open."""

    def __init__(self, workspace: Workspace, rules: BlockRules, triggers: Triggers, url: Callable[[], str]) -> None:
        self._workspace, self._rules, self._triggers, self._url = workspace, rules, triggers, url
        self.agent_view = True
        self._tickets: set[str] = set()

    def connection(self, _arguments: JsonObject) -> dict[str, object]:
        """apps.connections.open: an address for one socket."""
        ticket = self._workspace.stamps.unique()
        self._tickets.add(ticket)
        return {"url": f"{self._url().replace('http://', 'ws://', 1)}/link?ticket={ticket}"}

    def take_ticket(self, ticket: str) -> bool:
        """Whether a ticket opens a socket; it does so once."""
        known = ticket in self._tickets
        self._tickets.discard(ticket)
        return known

    def session_status(self, arguments: JsonObject) -> dict[str, object]:
        """agents.sessions.setStatus."""
        if not self.agent_view:
            raise SlackError("agents.sessions.setStatus", "not_authorized")
        channel = self._workspace.channel(text_at(arguments, "channel_id"))
        thread_ts = self._workspace.thread(channel.id, text_at(arguments, "thread_ts"))[0].ts
        status, title = text_at(arguments, "status"), text_at(arguments, "title")
        if status not in STATUSES or len(title) > LONGEST_SESSION_TITLE:
            raise SlackError("agents.sessions.setStatus", "invalid_arguments")
        self._workspace.set_session(Session(channel.id, thread_ts, status, title))
        return {}

    def view(self, arguments: JsonObject) -> dict[str, object]:
        """views.open: a modal for the person who clicked."""
        given = object_at(arguments, "view")
        self._check_view(given)
        user = self._triggers.use(text_at(arguments, "trigger_id"))
        view = View(self._workspace.stamps.identifier("V"), user, given)
        self._workspace.set_view(view)
        return {"view": {**given, "id": view.id}}

    def _check_view(self, view: JsonObject) -> None:
        blocks, title = objects_at(view, "blocks"), text_at(object_at(view, "title"), "text")
        if view.get("type") != "modal" or not 0 < len(title) <= LONGEST_VIEW_TITLE:
            raise SlackError("views.open", "invalid_arguments")
        if problem := self._rules.first_problem(blocks, most=MOST_VIEW_BLOCKS):
            raise SlackError(str(problem), "invalid_arguments")
