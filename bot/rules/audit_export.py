"""What an exported line of the audit holds: the names are stable, since other people's programs read them.

Pure. A name is never renamed and never means something else; new ones are added at the end.
"""

from collections.abc import Mapping
from types import MappingProxyType

FIELDS: Mapping[str, str] = MappingProxyType({
    "time": "when the call was written down, before anything started (UTC)",
    "thread": "the thread's id",
    "run": "the run's id",
    "person": "who asked for the run: a Slack user id, or the app that raised the alert",
    "agent": "`main`, or the sub-agent's name",
    "tool": "the tool's name, as the model called it",
    "grade": "`read` or `write`",
    "target": "what it went to, as the card shows it",
    "arguments": "the arguments, without secrets",
    "method": "the HTTP method, where it made a request",
    "url": "the URL without query and credentials, where it made a request",
    "status": "the HTTP status of the answer",
    "started_at": "when the call was let go (UTC); null: it never was",
    "elapsed_ms": "how long it took, in milliseconds",
    "outcome": "how it ended; null while it runs",
    "interrupted": "whether an interrupt ended it or kept it from starting",
    "blocked_by": "the rule that refused it",
    "approved_by": "who approved it",
    "request_id": "the call's own id; it went out with every request as `Idempotency-Key`",
    "attempts": "its HTTP requests, a list of objects as below",
})
"""The fields of a line, one line a call, in their order."""

ATTEMPT_FIELDS: Mapping[str, str] = MappingProxyType({
    "attempt": "counts from 1 within the call; a redirect and a second try are requests of their own",
    "method": "the HTTP method",
    "url": "the URL without query and credentials",
    "address": "the address that was connected to",
    "status": "the HTTP status",
    "outcome": "how the request ended",
    "rule": "the rule that let it out or refused it",
    "elapsed_ms": "how long it took, in milliseconds",
    "received_bytes": "how much came back, in bytes over the wire",
})
"""The fields of one attempt."""
