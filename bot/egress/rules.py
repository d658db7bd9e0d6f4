"""Which URLs a run may call.

Owns the taking apart of URLs and the rules of the operator: `egress.allow` says which URLs may be called, and
`egress.loopback` which host and port of those is on this machine. It must never resolve a name, repair a URL or guess
what was meant: a spelling that two parsers could read in two ways is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from urllib.parse import quote, unquote

from bot.egress.addresses import (
    PRIVATE_NETWORKS,
    Network,
    Place,
    Reach,
    is_reserved_name,
    parse_address,
    place_of,
)
from bot.errors import SettingsError
from bot.rules.redaction import scrub_url

MAX_URL = 8192
"""Characters; the limit of common servers and proxies."""
MAX_ADDRESSES = 4
"""How many addresses of a name are tried."""
METHODS = frozenset({"GET", "HEAD"})
"""What a rule of `egress.allow` covers: reading."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PLAIN_TEXT = re.compile(r"[!-\[\]-~]*")  # printable ASCII without blanks and without the backslash
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)(/[^?#]*)?(?:\?([^#]*))?(?:#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(?::([1-9][0-9]{0,4}))?")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")  # what a URL parser would read as an IPv4 address
_WITH_NETWORKS = re.compile(r"([^@]*)@([0-9a-fA-F:./,]+)")
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
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """The URL without its query, which may hold a secret."""
        return f"{self.scheme}://{self.netloc}{self.path}"

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
    if match is None or match[1].lower() not in _DEFAULT_PORTS:
        return Refusal("egress.scheme", "only URLs that begin with https:// or http:// can be called")
    return _target(match[1].lower(), match[2], match[3] or "/", match[4] or "")


def _target(scheme: str, authority: str, path: str, query: str) -> Target | Refusal:
    if "@" in authority:
        return Refusal("egress.userinfo", "a URL may not hold a user name or password")
    match = _AUTHORITY.fullmatch(authority)
    port = int(match[2] or _DEFAULT_PORTS[scheme]) if match else 0
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


@dataclass(frozen=True, slots=True)
class AllowRule:
    """One entry of `egress.allow`.

    `host` may begin with `*.`, which stands for exactly one label. Without `networks` the name must lead to public
    addresses; with them it must lead into these and nowhere else.
    """

    scheme: str
    host: str
    port: int
    path: str
    networks: tuple[Network, ...] = ()

    @property
    def shown(self) -> str:
        """The rule as the URL prefix it stands for."""
        return Target(self.scheme, self.host, self.port, self.path, "").shown

    def covers(self, target: Target) -> bool:
        """Whether a URL lies under this rule; a path prefix ends at the border of a segment."""
        path = target.path
        below = path == self.path or path.startswith(self.path if self.path.endswith("/") else f"{self.path}/")
        return (self.scheme, self.port) == (target.scheme, target.port) and below and self.covers_host(target.host)

    def covers_host(self, host: str) -> bool:
        """Whether a host is the rule's, or one label below it where the rule has a wildcard."""
        label, _, rest = host.partition(".")
        # A punycode label can look like any other word, so it must be listed by itself.
        return host == self.host or (self.host == f"*.{rest}" and not label.startswith("xn--"))


@dataclass(frozen=True, slots=True)
class Permit:
    """A URL that may be called, if its host leads where it should."""

    target: Target
    public: bool
    networks: tuple[Network, ...]
    loopback: bool

    @property
    def is_literal(self) -> bool:
        """Whether the host is an address already, so that there is nothing to look up."""
        return parse_address(self.target.host) is not None

    def admit(self, addresses: Sequence[str]) -> tuple[str, ...] | Refusal:
        """Choose the addresses to connect to; a single wrong one among them refuses the name."""
        if not addresses:
            return Refusal("egress.address", f"{self.target.host} has no address")
        for text in addresses:
            place = self._misplaced(text)
            if place is not None:
                return Refusal("egress.address", f"{self.target.host} leads to {text}, and that is {place.what}")
        return tuple(addresses[:MAX_ADDRESSES])

    def _misplaced(self, text: str) -> Place | None:
        address = parse_address(text)
        if address is None:
            return Place(Reach.FORBIDDEN, "not a plain address")
        place = place_of(address)
        if self.loopback:
            return None if place.reach is Reach.LOOPBACK else Place(place.reach, "not an address of this machine")
        inside = place.reach is Reach.PRIVATE and any(address in network for network in self.networks)
        if inside or (place.reach is Reach.PUBLIC and self.public):
            return None
        return place if place.reach is not Reach.PUBLIC else Place(place.reach, "outside the networks of the rule")


@dataclass(frozen=True, slots=True)
class EgressRules:
    """What the operator allows; without entries nothing may be called."""

    allow: tuple[AllowRule, ...] = ()
    loopback: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def parse(cls, allow: Sequence[str], loopback: Sequence[str]) -> "EgressRules":
        """Read `egress.allow` (URL prefixes, `@network,...` behind a private one) and `egress.loopback` (host:port).

        Raises SettingsError with the entry that is wrong and what to write instead.
        """
        rules = tuple(_allow_rule(entry) for entry in allow)
        return cls(rules, frozenset(_loopback_pair(entry, rules) for entry in loopback))

    def judge(self, method: str, url: str) -> Permit | Refusal:
        """Say whether a call may be made, before anything is looked up."""
        if method not in METHODS:
            return Refusal("egress.method", "only GET and HEAD are allowed")
        target = parse_url(url)
        if isinstance(target, Refusal):
            return target
        rules = [rule for rule in self.allow if rule.covers(target)]
        if not rules:
            return Refusal("egress.allow", f"{target.shown} is not under any allowed prefix: {self._listed()}")
        loopback = (target.host, target.port) in self.loopback
        if is_reserved_name(target.host) and not loopback:
            return Refusal("egress.name", f"{target.host} is a name for this machine or the platform it runs on")
        networks = tuple(network for rule in rules for network in rule.networks)
        permit = Permit(target, any(not rule.networks for rule in rules), networks, loopback)
        verdict = permit.admit([target.host]) if permit.is_literal else None
        return verdict if isinstance(verdict, Refusal) else permit

    def _listed(self) -> str:
        return ", ".join(rule.shown for rule in self.allow) or "none is set"


def _allow_rule(entry: str) -> AllowRule:
    match = _WITH_NETWORKS.fullmatch(entry)
    prefix, networks = (match[1], match[2].split(",")) if match else (entry, [])
    if "?" in prefix or "#" in prefix:
        raise _bad_rule(scrub_url(entry), "a prefix has no query and no fragment")
    wild = "://*." in prefix
    target = parse_url(prefix.replace("://*.", "://", 1))
    if isinstance(target, Refusal):
        raise _bad_rule(scrub_url(entry), target.message)
    if wild and (parse_address(target.host) or ("." not in target.host and not networks)):
        raise _bad_rule(entry, "a wildcard stands for one label before a name of at least two")
    host = f"*.{target.host}" if wild else target.host
    return AllowRule(target.scheme, host, target.port, target.path, tuple(_network(entry, text) for text in networks))


def _network(entry: str, text: str) -> Network:
    try:
        network = ip_network(text)
    except ValueError as error:
        raise _bad_rule(entry, f"{text} is not a network such as 10.20.0.0/16") from error
    if not any(_lies_in(network, private) for private in PRIVATE_NETWORKS):
        raise _bad_rule(entry, f"{text} is not inside a private network, and nothing else is opened like this")
    return network


def _lies_in(inner: Network, outer: Network) -> bool:
    return inner.version == outer.version and inner.network_address in outer and inner.prefixlen >= outer.prefixlen


def _bad_rule(entry: str, problem: str) -> SettingsError:
    remedy = "Write a URL prefix such as https://api.example.com/v1, or http://prometheus.internal:9090@10.20.0.0/16"
    return SettingsError("egress.allow", f"{entry!r}: {problem}", remedy)


def _loopback_pair(entry: str, rules: Sequence[AllowRule]) -> tuple[str, int]:
    target = parse_url(f"http://{entry}")
    if isinstance(target, Refusal) or target.resource != "/" or not re.search(r":[0-9]+\Z", entry):
        raise _bad_pair(entry, "is not a host and a port")
    address = parse_address(target.host)
    if address and place_of(address).reach is not Reach.LOOPBACK:
        raise _bad_pair(entry, "is not an address of this machine")
    if not any(rule.port == target.port and rule.covers_host(target.host) for rule in rules):
        problem = f"{entry!r} is not under any prefix of egress.allow"
        raise SettingsError("egress.loopback", problem, f"Add http://{entry} to egress.allow as well")
    return target.host, target.port


def _bad_pair(entry: str, problem: str) -> SettingsError:
    shown = scrub_url(f"http://{entry}").removeprefix("http://")
    return SettingsError("egress.loopback", f"{shown!r} {problem}", "Write a pair such as 127.0.0.1:8123")
