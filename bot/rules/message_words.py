"""What a message's text says to the bot: whether it is meant for it, and whether it is a word that acts as a button.

Texts are read as Slack sent them, escaped and with its references. What is not certainly a command is ordinary text:
a sentence that a model reads does less harm than a run that ends by mistake.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from bot.rules.terms import Command, Phase

UNSETTLED = frozenset({Phase.RUNNING, Phase.PAUSED, Phase.WAITING_APPROVAL})
"""The phases of a thread that has a run."""

# Only of status is the question the order too: "stop?" asks the others whether to.
_COMMANDS: Mapping[str, Command] = MappingProxyType(
    {each.value: each for each in Command} | {"status?": Command.STATUS}
)
_APPROVAL_WORDS = frozenset({"approve", "yes", "ok", "go", "deny", "no"})
_AROUND = " \t\r\n\u00a0.,:;!\u2026\"'\u2018\u2019\u201c\u201d*_~`()-"
_PERSON = re.compile(r"\s*<(?:@(?P<user>[A-Za-z0-9]+)|!subteam\^)")


def interject(text: str, *, mentions_bot: bool, is_direct: bool, phase: Phase) -> bool:
    """Whether a message is meant for the bot: it mentions it, or is direct, or begins with `!` while a run is at it."""
    return mentions_bot or is_direct or (phase in UNSETTLED and text.lstrip().startswith("!"))


def addresses_another(text: str, bot_user_id: str) -> bool:
    """Whether a message begins by addressing another person, or a group of people."""
    found = _PERSON.match(text)
    return found is not None and found["user"] != bot_user_id


def without_mention(text: str, bot_user_id: str) -> str:
    """The text without the mentions of the bot."""
    return re.sub(rf"<@{re.escape(bot_user_id)}(?:\|[^<>]*)?>", " ", text).strip()


def command_of(text: str, bot_user_id: str) -> Command | None:
    """The command that is the whole text; a sentence that begins with one is none, nor a word with a mark inside."""
    return _COMMANDS.get(_word(text, bot_user_id))


def approval_word(text: str, bot_user_id: str) -> bool:
    """Whether the whole text is a word that people answer approvals with."""
    return _word(text, bot_user_id) in _APPROVAL_WORDS


def _word(text: str, bot_user_id: str) -> str:
    # lower, not casefold: casefold makes words of signs that nobody can tell from other signs
    return without_mention(text, bot_user_id).strip(_AROUND).lower()
