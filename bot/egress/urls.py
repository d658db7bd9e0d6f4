"""URLs taken apart.

Pure. It must never resolve a name, repair a URL or guess what was meant: a spelling that two parsers could read in two
ways is refused.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urljoin

from bot.egress.addresses import parse_address
from bot.rules.redaction import scrub_url

MAX_URL = 8192
"""Characters; the limit of common servers and proxies."""
DEFAULT_PORTS = {"http": 80, "https": 443}

_PLAIN_TEXT = re.compile(r"[!-\[\]-~]*")  # printable ASCII without blanks and without the backslash
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)(/[^?#]*)?(?:\?([^#]*))?(?:#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(?::([1-9][0-9]{0,4}))?")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")  # what a URL parser would read as an IPv4 address
_SEGMENT_BORDER = re.compile(r"[/\\;]")
_STRUCTURE = "!$%&'()*+,/:;=?@[]~"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that may not be made: the rule that says so, and the reason in words for the model."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart.

    `host` is lower case, and an IPv6 literal in its short form without brackets. `path` begins with a slash; `query`
    is without its question mark. A fragment is dropped.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str

    @property
    def netloc(self) -> str:
        """Host and port as the Host header says them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """The URL without its query, which may hold a secret."""
        return f"{self.scheme}://{self.netloc}{self.path}"

    @property
    def recorded(self) -> str:
        """The URL with the names of its query and without their values; what has no name is left out."""
        names = [f"{part.partition('=')[0]}=" for part in self.query.split("&") if "=" in part]
        return f"{self.shown}?{'&'.join(names)}" if names else self.shown

    @property
    def origin(self) -> tuple[str, str, int]:
        """What secrets are bound to: scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def resource(self) -> str:
        """What the request line asks for."""
        return f"{self.path}?{self.query}" if self.query else self.path


def parse_url(text: str) -> Target | Refusal:
    """Take a URL apart; whatever is not plain is refused."""
    if len(text) > MAX_URL:
        return Refusal("egress.url", f"the URL is longer than {MAX_URL} characters")
    if not _PLAIN_TEXT.fullmatch(text):
        return Refusal("egress.url", "write the URL in ASCII, with blanks and other characters as %XX, no backslash")
    match = _URL.fullmatch(text)
    if match is None or match[1].lower() not in DEFAULT_PORTS:
        return Refusal("egress.scheme", "only URLs that begin with https:// or http:// can be called")
    return _target(match[1].lower(), match[2], match[3] or "/", match[4] or "")


def recorded_url(text: str) -> str:
    """A URL as the audit keeps it: in its normal form without query values, or what may be shown of nonsense."""
    target = parse_url(text)
    return scrub_url(text)[:300] if isinstance(target, Refusal) else target.recorded


def led_to(base: Target, location: str) -> Target | Refusal:
    """Take apart where a redirect of `base` leads; it is as strict as a URL that somebody gave."""
    if not _PLAIN_TEXT.fullmatch(location) or len(location) > MAX_URL:
        return Refusal("egress.url", "its address is not a plain URL")
    try:
        return parse_url(urljoin(f"{base.scheme}://{base.netloc}{base.resource}", location))
    except ValueError:
        return Refusal("egress.url", "its address is not a plain URL")


def shown_location(base: Target, location: str) -> str:
    """Where a redirect of `base` leads, as it may be shown: without credentials and query."""
    try:
        return scrub_url(urljoin(base.shown, location))[:300]
    except ValueError:
        return "an address that is not valid"


def _target(scheme: str, authority: str, path: str, query: str) -> Target | Refusal:
    if "@" in authority:
        return Refusal("egress.userinfo", "a URL may not hold a user name or password")
    match = _AUTHORITY.fullmatch(authority)
    port = int(match[2] or DEFAULT_PORTS[scheme]) if match else 0
    if match is None or port > 65535:
        return Refusal("egress.port", "the port is not a number from 1 to 65535")
    host = _host(match[1])
    if host is None:
        return Refusal("egress.host", "the host is not a plain name (letters, digits, -) or a plain address")
    if _climbs(path):
        return Refusal("egress.path", "the path may not hold . or .. segments, encoded ones included")
    return Target(scheme, host, port, quote(path, _STRUCTURE), quote(query, _STRUCTURE))


def _host(text: str) -> str | None:
    host = text.lower()
    if host.startswith("["):
        address = parse_address(host[1:-1])
        return str(address) if address and address.version == 6 else None
    if _NUMBER.fullmatch(host):
        return host if parse_address(host) else None
    return host if len(host) <= 253 and _NAME.fullmatch(host) else None


def _climbs(path: str) -> bool:
    """Whether some server could read a step upwards in a path: a prefix rule would then not hold."""
    for _ in range(3):
        if any(segment in {".", ".."} for segment in _SEGMENT_BORDER.split(path)):
            return True
        path = unquote(path, errors="replace")
    # Text that is still encoded after three rounds has no honest use and hides what a server would read.
    return unquote(path, errors="replace") != path
