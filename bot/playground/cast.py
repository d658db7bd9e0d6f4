"""Who and what there is in the playground's workspace: people, groups, apps, channels.

Ids are fixed, so that a deep link and a database keep their meaning over a restart.
"""

from dataclasses import dataclass
from enum import StrEnum

TEAM = "T0PLAYGROUND"
OTHER_TEAM = "T0OTHERCORP"


class Standing(StrEnum):
    """What a user is to the workspace."""

    MEMBER = "member"
    GUEST = "guest"
    EXTERNAL = "external"
    APP = "app"


@dataclass(frozen=True, slots=True)
class User:
    """A person, or the bot user of an app; only an app has `bot_id` and `app_id`."""

    id: str
    name: str
    standing: Standing = Standing.MEMBER
    team: str = TEAM
    bot_id: str | None = None
    app_id: str | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel, or the direct messages of one person and the bot."""

    id: str
    name: str
    members: tuple[str, ...]
    direct: bool = False

    @property
    def kind(self) -> str:
        """What events call it in `channel_type`."""
        return "im" if self.direct else "channel"


@dataclass(frozen=True, slots=True)
class UserGroup:
    """People under one handle."""

    id: str
    handle: str
    members: tuple[str, ...]


ANA = User("U0ANA", "ana")
BEN = User("U0BEN", "ben")
GUS = User("U0GUS", "gus", Standing.GUEST)
EVE = User("U0EVE", "eve", Standing.EXTERNAL, OTHER_TEAM)
STEERSMAN = User("UBOT", "Steersman", Standing.APP, bot_id="B0STEERSMAN", app_id="A0STEERSMAN")
ALERTMANAGER = User("U0ALERTS", "Alertmanager", Standing.APP, bot_id="B0ALERTS", app_id="A0ALERTS")

USERS = (ANA, BEN, GUS, EVE, STEERSMAN, ALERTMANAGER)
PEOPLE = (ANA, BEN, GUS, EVE)

ONCALL = UserGroup("S0ONCALL", "oncall", (ANA.id, BEN.id))
GROUPS = (ONCALL,)

INCIDENTS = Channel("C0INCIDENTS", "incidents", tuple(user.id for user in USERS))
# Eve is not in it: only #incidents is shared with the other company.
CHECKOUT = Channel("C0CHECKOUT", "checkout", tuple(user.id for user in USERS if user is not EVE))
DIRECT = tuple(
    Channel(f"D0{person.name.upper()}", STEERSMAN.name, (person.id, STEERSMAN.id), direct=True) for person in PEOPLE
)

CHANNELS = (INCIDENTS, CHECKOUT, *DIRECT)
