"""One rule of the operator, and the permit that it gives for one URL.

Pure. A public rule needs public addresses, an internal one names its networks, and nothing opens the addresses that
bot/egress/addresses.py calls forbidden. It must never resolve a name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.egress.addresses import Address, Network, Place, Reach, parse_address, place_of
from bot.egress.urls import DEFAULT_PORTS, Refusal, Target
from bot.rules.terms import Grade

MAX_ADDRESSES = 4
"""How many addresses of a name are tried."""
READING = frozenset({"GET", "HEAD"})
"""The methods of a rule that names none; they are reads under every rule."""
METHODS = READING | {"POST", "PUT", "PATCH", "DELETE"}
"""The methods that a rule may name."""
PUBLIC_RATE = 1.0
"""Requests a second to one public host where its rule says nothing else (design, one door)."""


@dataclass(frozen=True, slots=True)
class SecretUse:
    """Which secret a rule lends, by name, and the header that carries it, behind `scheme` and a blank."""

    name: str
    header: str = "Authorization"
    scheme: str = "Bearer"

    def worded(self, value: str) -> str:
        """The header's value."""
        return f"{self.scheme} {value}" if self.scheme else value


@dataclass(frozen=True, slots=True)
class AllowRule:
    """One entry of `egress.allow`.

    `host` may begin with `*.`, which stands for exactly one label. Without `networks` the name must lead to public
    addresses; with them it must lead into these and nowhere else. `rate` is in requests a second and host. `api` says
    that it is made for programs: its robots.txt is not asked.
    """

    scheme: str
    host: str
    ports: tuple[int, ...]
    path: str
    networks: tuple[Network, ...] = ()
    methods: frozenset[str] = READING
    grade: Grade = Grade.READ
    rate: float | None = None
    api: bool = False
    secret: SecretUse | None = None

    @property
    def shown(self) -> str:
        """The rule as the URL prefix it stands for."""
        return Target(self.scheme, self.host, self.ports[0], self.path, "").shown

    @property
    def strictness(self) -> tuple[bool, int]:
        """What makes one rule narrower than another: an exact host before a wildcard, then the longer path."""
        return not self.host.startswith("*."), len(self.path)

    def covers(self, target: Target) -> bool:
        """Whether a URL lies under this rule; a path prefix ends at the border of a segment."""
        path = target.path
        below = path == self.path or path.startswith(self.path if self.path.endswith("/") else f"{self.path}/")
        return self.covers_place(target.scheme, target.host, target.port) and below

    def covers_place(self, scheme: str, host: str, port: int) -> bool:
        """Whether an origin is the rule's."""
        return scheme == self.scheme and port in self.ports and self.covers_host(host)

    def covers_host(self, host: str) -> bool:
        """Whether a host is the rule's, or one label below it where the rule has a wildcard."""
        label, _, rest = host.partition(".")
        # A punycode label can look like any other word, so it must be listed by itself.
        return host == self.host or (self.host == f"*.{rest}" and not label.startswith("xn--"))

    def lets(self, method: str, grade: Grade) -> bool:
        """Whether a call of this method and grade may be made under this rule.

        A write needs a rule of grade write. A read may use GET and HEAD, and the other methods only under a rule of
        grade read: there the operator has declared them as queries.
        """
        if method not in self.methods:
            return False
        if grade is Grade.WRITE:
            return self.grade is Grade.WRITE
        return method in READING or self.grade is Grade.READ


@dataclass(frozen=True, slots=True)
class Permit:
    """A URL that may be called, if its host leads where it should; `rule` is the one that decided."""

    target: Target
    rule: AllowRule
    loopback: bool

    @property
    def is_literal(self) -> bool:
        """Whether the host is an address already, so that there is nothing to look up."""
        return parse_address(self.target.host) is not None

    @property
    def is_public(self) -> bool:
        """Whether it leads out of the operator's networks."""
        return not self.rule.networks and not self.loopback

    @property
    def asks_robots(self) -> bool:
        """Whether the host's robots.txt has a say."""
        return self.is_public and not self.rule.api

    @property
    def rate(self) -> float | None:
        """Requests a second to this host; None for as many as come."""
        return self.rule.rate or (PUBLIC_RATE if self.is_public else None)

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
        if self._fits(address, place):
            return None
        return place if place.reach is not Reach.PUBLIC else Place(place.reach, "outside the networks of the rule")

    def _fits(self, address: Address, place: Place) -> bool:
        if not self.rule.networks:
            return place.reach is Reach.PUBLIC
        return place.reach is Reach.PRIVATE and any(address in network for network in self.rule.networks)


@dataclass(frozen=True, slots=True)
class ModelPermit:
    """The operator's own model service: its host and port only, on this machine and in private networks too."""

    host: str
    port: int

    @classmethod
    def of(cls, scheme: str, host: str, port: int | None) -> "ModelPermit":
        """The permit for a base URL taken apart; a port that is not written is the scheme's."""
        return cls(host, port or DEFAULT_PORTS.get(scheme, 0))

    def admit(self, host: str, port: int, addresses: Sequence[str]) -> tuple[str, ...] | Refusal:
        """Choose the addresses to connect to; what is forbidden stays so whoever configured it."""
        if (host, port) != (self.host, self.port):
            return Refusal("egress.model", f"{host}:{port} is not the configured model service")
        for text in addresses:
            address = parse_address(text)
            place = place_of(address) if address else Place(Reach.FORBIDDEN, "not a plain address")
            if place.reach is Reach.FORBIDDEN:
                return Refusal("egress.address", f"{host} leads to {text}, and that is {place.what}")
        return tuple(addresses[:MAX_ADDRESSES])
