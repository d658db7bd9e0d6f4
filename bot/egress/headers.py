"""Which headers a caller may give a request, and which are ours.

Pure. A header can change where a request goes, who it is from and what it does, so a name that does any of this is
refused; a secret is no header of a caller, it is lent by the rule.
"""

import re
from collections.abc import Sequence
from typing import TypeAlias

from bot.egress.urls import Refusal

Headers: TypeAlias = tuple[tuple[str, str], ...]

MOST = 32
LONGEST_VALUE = 4_096

FORBIDDEN = frozenset({
    # where it goes
    "host", "forwarded", "via", "x-real-ip", "x-original-url", "x-rewrite-url",
    # who it is from
    "authorization", "cookie", "cookie2", "x-identity-header",
    # what it does: some servers take a GET with one of these for a write
    "x-http-method", "x-http-method-override", "x-method-override",
    # how it is framed and how it is answered
    "connection", "content-length", "content-encoding", "expect", "keep-alive", "te", "trailer", "transfer-encoding",
    "upgrade", "accept-encoding",
    # ours
    "user-agent", "x-request-id", "idempotency-key",
    # what cloud metadata services want to see
    "metadata",
})  # fmt: skip
"""Names that a caller may not give, in lower case."""
FORBIDDEN_STARTS = ("proxy-", "sec-", "x-forwarded-", "metadata-", "x-aws-", "x-google-", "x-ms-")
"""Beginnings of such names."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_VALUE = re.compile(r"[ -~]*")  # printable ASCII: a line break in a value is a second header


def judge_headers(headers: Sequence[tuple[str, str]]) -> Refusal | None:
    """Say which header a caller may not give; None where all may be sent."""
    if len(headers) > MOST:
        return Refusal("egress.header", f"more than {MOST} headers")
    return next((Refusal("egress.header", fault) for fault in map(_fault, headers) if fault), None)


def fault_of_secret_header(name: str) -> str | None:
    """What is wrong with the header that is to carry a secret; None where it may."""
    if not _TOKEN.fullmatch(name):
        return f"{name[:64]!r} is no name of a header"
    if name.lower() != "authorization" and is_forbidden(name):
        return f"the header {name} may not carry a secret"
    return None


def is_forbidden(name: str) -> bool:
    """Whether a header's name is not for callers."""
    lower = name.lower()
    return lower in FORBIDDEN or lower.startswith(FORBIDDEN_STARTS)


def _fault(header: tuple[str, str]) -> str | None:
    name, value = header
    if not _TOKEN.fullmatch(name):
        return "the name of a header has a character that does not belong there"
    if is_forbidden(name):
        return f"the header {name} is not for tools to set"
    if not _VALUE.fullmatch(value) or len(value) > LONGEST_VALUE:
        return f"the value of the header {name} is too long or holds a line break or another control character"
    return None
