"""What Slack told us, in the form that the rules and the storage read.

bot/slack/inbound.py makes these from payloads; nothing here knows what a payload looks like, and nothing here
decides. Ids are plain ASCII and Slack's times stay the strings that they came as: a time that went through a float
names another message.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

_SLACK_TS = re.compile(r"[0-9]{1,13}\.[0-9]{1,6}")
_BEFORE_ALL = Decimal(0)


def is_ts(value: object) -> bool:
    """Whether this is a Slack time: seconds, a dot, and up to six digits, all of them kept."""
    return isinstance(value, str) and _SLACK_TS.fullmatch(value) is not None


def ts_order(ts: str) -> Decimal:
    """A Slack time as an exact number to order by; what is no Slack time comes before every one. Never raises."""
    return Decimal(ts) if is_ts(ts) else _BEFORE_ALL


def message_key(team_id: str, channel_id: str, ts: str) -> str:
    """The key under which a message is seen, whichever of its copies comes first, and whether or not it is gone."""
    return f"m:{team_id}:{channel_id}:{ts}"


@dataclass(frozen=True, slots=True)
class OurIds:
    """How Slack names us: auth.test and the app's settings say it."""

    team_id: str
    bot_user_id: str
    bot_id: str | None = None
    app_id: str | None = None


@dataclass(frozen=True, slots=True)
class AuthorFacts:
    """What a payload says about who wrote or pressed; access.source_of makes a source of it.

    `team_id` is the author's own team, None where the payload does not say it. `is_system` is a message that Slack
    itself made: somebody joined, a topic was set.
    """

    user_id: str | None
    bot_id: str | None = None
    app_id: str | None = None
    team_id: str | None = None
    is_self: bool = False
    is_system: bool = False

    @property
    def is_app(self) -> bool:
        """Whether an app wrote it, also one that wrote in a person's name."""
        return self.bot_id is not None or self.app_id is not None


@dataclass(frozen=True, slots=True)
class Message:
    """One message, whichever of its events told us of it; `text` is for the model and never empty.

    `raw_text` is Slack's own, still escaped: commands and addressees are read from it. `thread_ts` is the root's
    time, for a root its own. `mentions_bot` may be False in one copy and True in another.
    """

    team_id: str
    channel_id: str
    channel_type: str
    ts: str
    thread_ts: str
    author: AuthorFacts
    text: str
    raw_text: str
    mentions_bot: bool
    dedupe_key: str
    client_msg_id: str | None = None
    files: tuple[str, ...] = ()
    is_ext_shared: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether it was written to the bot alone."""
        return self.channel_type == "im"

    @property
    def gesture_key(self) -> str | None:
        """The second key of a message: Slack has been seen to deliver one gesture under two times."""
        if self.client_msg_id is None:
            return None
        return f"g:{self.team_id}:{self.channel_id}:{self.author.user_id}:{self.client_msg_id}"


@dataclass(frozen=True, slots=True)
class Edit:
    """A message has another text.

    `changed` is False where no person changed the text (a link preview, a bot's update): then there is nothing to do,
    and its key is the event's own, so that it cannot take the key of a true edit.
    """

    team_id: str
    channel_id: str
    channel_type: str
    message_ts: str
    thread_ts: str
    edited_ts: str
    editor_id: str | None
    author: AuthorFacts
    text: str
    raw_text: str
    mentions_bot: bool
    changed: bool
    dedupe_key: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """A message is gone; `by` is its author (Slack does not say who deleted it), None where the payload lacks it."""

    team_id: str
    channel_id: str
    deleted_ts: str
    thread_ts: str | None
    by: str | None
    dedupe_key: str


@dataclass(frozen=True, slots=True)
class OwnEcho:
    """Slack shows us what we posted: it says where the post with this key stands."""

    team_id: str
    channel_id: str
    ts: str
    post_key: str


@dataclass(frozen=True, slots=True)
class NativeStop:
    """Somebody pressed Slack's own stop button in this thread."""

    team_id: str
    channel_id: str
    thread_ts: str
    user_id: str
    event_ts: str
    dedupe_key: str

    @property
    def author(self) -> AuthorFacts:
        """Who pressed; Slack does not say of which team."""
        return AuthorFacts(self.user_id)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing for us; `why` is for the log."""

    why: str
    dedupe_key: str | None = None


Inbound: TypeAlias = Message | Edit | Deletion | OwnEcho | NativeStop | Nothing


@dataclass(frozen=True, slots=True)
class Press:
    """A button was pressed. `ref` names the pause, the approval or the checkpoint that the button was painted for.

    `choice` is the word of the menu's option that was chosen (bot.rules.card_menu), None for a button. `trigger_id`
    opens a modal, within 3 seconds of the press.

    Nothing in it gives a right: who may press is looked up from `user_id`, and that the card is this run's is
    checked against the database.
    """

    team_id: str | None
    action_id: str
    run_id: str
    ref: str | None
    channel_id: str
    message_ts: str
    thread_ts: str
    user_id: str
    user_team_id: str | None
    action_ts: str
    response_url: str | None
    dedupe_key: str
    choice: str | None = None
    trigger_id: str | None = None

    @property
    def author(self) -> AuthorFacts:
        """Who pressed."""
        return AuthorFacts(self.user_id, team_id=self.user_team_id)


@dataclass(frozen=True, slots=True)
class GoBack:
    """A step was chosen in the modal to go back to: `checkpoint` is the number of its event in the thread.

    Like a press it gives no right, and whether the checkpoint still stands is looked at under the thread's lock.
    """

    run_id: str
    checkpoint: int
    channel_id: str
    message_ts: str
    thread_ts: str
    user_id: str
    user_team_id: str | None
    dedupe_key: str

    @property
    def author(self) -> AuthorFacts:
        """Who chose."""
        return AuthorFacts(self.user_id, team_id=self.user_team_id)
