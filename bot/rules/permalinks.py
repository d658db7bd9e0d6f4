"""What a link to a Slack message names.

Pure. Takes Slack's own links and the local Slack's; the host is not looked at: every workspace has one of its own.
"""

import re
from dataclasses import dataclass

_LINK = re.compile(
    r"https?://[^/\s]+/archives/(?P<channel>[A-Z0-9]+)/p(?P<seconds>\d{1,16})(?P<micros>\d{6})(?:\?(?P<query>\S*))?"
)
_THREAD = re.compile(r"(?:^|&)thread_ts=(?P<ts>\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class MessageLink:
    """The message: its channel and time; `thread_ts` is its own time where it begins a thread, or stands alone."""

    channel_id: str
    ts: str
    thread_ts: str


def parse_link(link: str) -> MessageLink | None:
    """What a link names; None where it is no link to a message."""
    found = _LINK.fullmatch(link.strip().strip("<>"))
    if found is None:
        return None
    ts = f"{found['seconds']}.{found['micros']}"
    thread = _THREAD.search(found["query"] or "")
    return MessageLink(found["channel"], ts, thread["ts"] if thread else ts)
