"""The page as a set of parts, each the HTML of one place in it, for one person looking at one channel.

Pure but for the facts, which are asked for each time. Sending the parts is for bot/playground/live_page.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from bot.errors import SlackError
from bot.playground.cast import ANA, INCIDENTS, PEOPLE, Channel, Standing, User
from bot.playground.inline_view import Reader
from bot.playground.markup import Html, join, tag
from bot.playground.message_view import Pane
from bot.playground.modal_view import modal
from bot.playground.workspace import Workspace

MOST_SHOWN = 200
ROLES = {Standing.MEMBER: "member", Standing.GUEST: "guest", Standing.EXTERNAL: "other company"}
Facts = Callable[[], list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Visit:
    """Who looks at what; `thread` is the ts of an open thread."""

    user: User
    channel: Channel
    thread: str | None

    @classmethod
    def of(cls, workspace: Workspace, who: str, channel: str, thread: str) -> Self:
        """What an address asks for; what does not exist, or is not for this person, falls back to #incidents."""
        try:
            user = workspace.user(who or ANA.name)
        except SlackError:
            user = ANA
        user = user if user in PEOPLE else ANA
        place = _visible(workspace, user, channel)
        root = workspace.messages.get((place.id, thread))
        return cls(user, place, root.root_ts if root else None)

    def address(self, user: User | None = None, channel: Channel | None = None) -> str:
        """The address of the same view for another person or channel; a thread stays open in its channel."""
        who, where = user or self.user, channel or self.channel
        thread = f"&thread={self.thread}" if self.thread and where == self.channel else ""
        return f"/?channel={where.id}{thread}&as={who.name}"


@dataclass(frozen=True, slots=True)
class Page:
    """What is on the page."""

    workspace: Workspace
    url: Callable[[], str]
    facts: Facts | None = None

    def parts(self, visit: Visit) -> dict[str, Html]:
        """Every part by its name, as it is now."""
        reader = Reader(self.workspace, visit.user, self.url())
        return {
            "sidebar": self._sidebar(visit),
            "channel-head": self._channel_head(visit),
            "channel-log": self._channel_log(visit, reader),
            "thread-head": tag("span", tag("h2", "Thread"), tag("span", channel_name(visit.channel), class_="small")),
            "thread-log": self._thread_log(visit, reader),
            "native-stop": self._native_stop(visit),
            "modal": modal(self.workspace.open_view(visit.user.id), reader),
        }

    def _sidebar(self, visit: Visit) -> Html:
        mine = [channel for channel in self.workspace.channels.values() if visit.user.id in channel.members]
        channels, direct = (
            [
                _entry(channel_name(found), visit.address(channel=found), found == visit.channel)
                for found in mine if found.direct is wanted
            ]
            for wanted in (False, True)
        )  # fmt: skip
        people = [
            _entry(f"{person.name} ({ROLES[person.standing]})", visit.address(user=person), person == visit.user,
                   testid=f"person-{person.name}")
            for person in PEOPLE
        ]  # fmt: skip
        facts = [tag("p", f"{name}: {value}", class_="fact") for name, value in (self.facts() if self.facts else ())]
        sick = [tag("h3", "Sick service"), *facts] if facts else []
        return join((tag("h3", "Channels"), *channels, tag("h3", "Direct messages"), *direct,
                     tag("h3", "You are"), *people, *sick))  # fmt: skip

    def _channel_head(self, visit: Visit) -> Html:
        members = [self.workspace.users[member] for member in visit.channel.members]
        apps = sum(member.standing is Standing.APP for member in members)
        count = f"{_count(len(members) - apps, 'person', 'people')}, {_count(apps, 'app', 'apps')}"
        return tag("span", tag("h2", channel_name(visit.channel)), tag("span", count, class_="small"))

    def _channel_log(self, visit: Visit, reader: Reader) -> Html:
        shown = self.workspace.history(visit.channel.id)[-MOST_SHOWN:]
        whispers = [found for found in self.workspace.ephemerals if _is_for(found.user, found.channel, visit)]
        log = Pane("channel", reader).log(shown, [found for found in whispers if not found.thread_ts])
        return log or tag(
            "p", f"Nothing here yet. Mention @Steersman in {channel_name(visit.channel)}.", class_="empty"
        )

    def _thread_log(self, visit: Visit, reader: Reader) -> Html:
        if visit.thread is None:
            return Html()
        root = self.workspace.messages.get((visit.channel.id, visit.thread))
        shown = [root] if root else []
        shown += self.workspace.replies(visit.channel.id, visit.thread)[-MOST_SHOWN:]
        whispers = [found for found in self.workspace.ephemerals if _is_for(found.user, found.channel, visit)]
        return Pane("thread", reader).log(shown, [found for found in whispers if found.thread_ts == visit.thread])

    def _native_stop(self, visit: Visit) -> Html:
        session = self.workspace.sessions.get((visit.channel.id, visit.thread or ""))
        if session is None or session.status != "processing":
            return Html()
        stop = tag(
            "button", "Stop", type="button", class_="btn", data_do="native-stop", data_channel=session.channel,
            data_ts=session.thread_ts, data_testid="native-stop",
        )  # fmt: skip
        return tag("p", tag("span", class_="icon in_progress"), session.title or "Steersman is working", stop)


def _visible(workspace: Workspace, user: User, channel: str) -> Channel:
    try:
        found = workspace.channel(channel or INCIDENTS.id, user)
    except SlackError:
        return INCIDENTS
    return found if user.id in found.members else INCIDENTS


def _is_for(user: str, channel: str, visit: Visit) -> bool:
    return (user, channel) == (visit.user.id, visit.channel.id)


def channel_name(channel: Channel) -> str:
    """A channel as the page writes it."""
    return channel.name if channel.direct else f"# {channel.name}"


def _entry(words: str, address: str, chosen: bool, testid: str | None = None) -> Html:
    return tag("a", words, href=address, class_="chosen" if chosen else None, data_testid=testid)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
