"""The rules of the door out, each with what it refuses in words: for the card, and for the operator's page.

Pure. The names are those that the audit and the metrics carry as `blocked_by`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from bot.rules.markdown import table

DOOR_RULES: Mapping[str, str] = MappingProxyType({
    "egress.url": "a URL that is not plain ASCII, or too long",
    "egress.scheme": "a URL that is neither https nor http",
    "egress.userinfo": "a user name or password in a URL",
    "egress.port": "a port that is no number from 1 to 65535",
    "egress.host": "a host that is no plain name or address",
    "egress.path": "a path with . or .. in it, in any spelling",
    "egress.allow": "a URL under no allowed prefix",
    "egress.method": "a method that no rule there lets, or a write under a rule for reads",
    "egress.header": "a header that tools may not set",
    "egress.name": "a name for this machine or its platform",
    "egress.address": "a host that leads to an address which may not be reached",
    "egress.peer": "a connection that is not with the checked address",
    "egress.redirect": "a redirect that may not be followed",
    "egress.robots": "what the host's robots.txt does not want read",
    "egress.secret": "a secret that is not set, or no longer lent",
    "egress.encoding": "a compressed answer",
    "egress.size": "an answer that is announced as too long",
    "egress.model": "another host or port than the model's own",
})
"""Rule -> what it refuses."""


def refused_in_words(rule: str) -> str:
    """A rule as the card names it; a rule that is not the door's stands as it is."""
    return f"{rule} ({DOOR_RULES[rule]})" if rule in DOOR_RULES else rule


def as_markdown() -> dict[str, str]:
    """The table for the operator's page."""
    rows = [[f"`{rule}`", words] for rule, words in DOOR_RULES.items()]
    return {"door_rules": table(["rule", "what it refuses"], rows)}
