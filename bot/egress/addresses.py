"""Which addresses a request may reach.

Owns the table of special networks and of names that lead inside. It must never resolve a name, and never trust
`ipaddress.is_global`: on Python 3.11 that is true for 6to4 and NAT64 spellings of private addresses, for multicast and
for two cloud metadata services. Source: the IANA special-purpose registries of 2026-11, and the metadata addresses
that the cloud vendors document.
"""

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from bot.rules.markdown import table

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


class Reach(StrEnum):
    """How far away an address is: what may unlock it follows from that."""

    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class Place:
    """What an address is; `what` ends the sentence "that is ..."."""

    reach: Reach
    what: str


def _row(network: str, reach: Reach, what: str) -> tuple[Network, Place]:
    return ip_network(network), Place(reach, what)


_METADATA = "an address of a cloud's metadata service"
_TRANSLATED = "an IPv6 spelling of an IPv4 address"
_DOCUMENTATION = "an address for documentation"

# The first network that holds the address decides, so an exception stands before the network it lies in.
_PLACES = (
    _row("168.63.129.16/32", Reach.FORBIDDEN, _METADATA),
    _row("169.254.0.0/16", Reach.FORBIDDEN, "a link-local or metadata address"),
    _row("100.100.100.200/32", Reach.FORBIDDEN, _METADATA),
    _row("192.0.0.0/24", Reach.FORBIDDEN, "an address for protocols and metadata services"),
    _row("fd00:ec2::/32", Reach.FORBIDDEN, _METADATA),
    _row("fd20:ce::254/128", Reach.FORBIDDEN, _METADATA),
    _row("10.0.0.0/8", Reach.PRIVATE, "a private address"),
    _row("172.16.0.0/12", Reach.PRIVATE, "a private address"),
    _row("192.168.0.0/16", Reach.PRIVATE, "a private address"),
    _row("100.64.0.0/10", Reach.PRIVATE, "a shared address (CGNAT)"),
    _row("fc00::/7", Reach.PRIVATE, "a private address"),
    _row("127.0.0.0/8", Reach.LOOPBACK, "an address of this machine"),
    _row("::1/128", Reach.LOOPBACK, "an address of this machine"),
    _row("0.0.0.0/8", Reach.FORBIDDEN, "an unspecified address"),
    _row("192.0.2.0/24", Reach.FORBIDDEN, _DOCUMENTATION),
    _row("198.51.100.0/24", Reach.FORBIDDEN, _DOCUMENTATION),
    _row("203.0.113.0/24", Reach.FORBIDDEN, _DOCUMENTATION),
    _row("192.88.99.0/24", Reach.FORBIDDEN, "a 6to4 relay"),
    _row("198.18.0.0/15", Reach.FORBIDDEN, "an address for benchmarks"),
    _row("224.0.0.0/4", Reach.FORBIDDEN, "a multicast address"),
    _row("240.0.0.0/4", Reach.FORBIDDEN, "a reserved or broadcast address"),
    _row("::ffff:0:0/96", Reach.FORBIDDEN, _TRANSLATED),
    _row("::/96", Reach.FORBIDDEN, "an unspecified address or an IPv6 spelling of an IPv4 address"),
    _row("64:ff9b::/96", Reach.FORBIDDEN, f"{_TRANSLATED} (NAT64)"),
    _row("64:ff9b:1::/48", Reach.FORBIDDEN, f"{_TRANSLATED} (NAT64)"),
    _row("2002::/16", Reach.FORBIDDEN, f"{_TRANSLATED} (6to4)"),
    _row("2001::/32", Reach.FORBIDDEN, f"{_TRANSLATED} (Teredo)"),
    _row("2001::/23", Reach.FORBIDDEN, "an address for protocols"),
    _row("2001:db8::/32", Reach.FORBIDDEN, _DOCUMENTATION),
    _row("3fff::/20", Reach.FORBIDDEN, _DOCUMENTATION),
    _row("fe80::/10", Reach.FORBIDDEN, "a link-local address"),
    _row("ff00::/8", Reach.FORBIDDEN, "a multicast address"),
    # All global unicast IPv6 is inside 2000::/3 (RFC 4291, section 2.4): what IANA hands out later stays refused.
    _row("2000::/3", Reach.PUBLIC, "a public address"),
    _row("::/0", Reach.FORBIDDEN, "outside the public IPv6 space"),
    _row("0.0.0.0/0", Reach.PUBLIC, "a public address"),
)

PRIVATE_NETWORKS = tuple(network for network, place in _PLACES if place.reach is Reach.PRIVATE)
"""The networks that a rule may open in part, by naming a network inside them."""

_RESERVED_NAMES = frozenset({
    "localhost", "ip6-localhost", "ip6-loopback", "metadata", "instance-data",
    "kubernetes", "kubernetes.default", "host.docker.internal", "gateway.docker.internal",
})  # fmt: skip
_RESERVED_STARTS = ("metadata.", "instance-data.", "kubernetes.default.")
_RESERVED_ENDS = (".localhost", ".localdomain")


def as_markdown() -> dict[str, str]:
    """The table for the operator's page: what each network is, and what may open it. The first that fits decides."""
    opened = {
        Reach.PUBLIC: "a public rule",
        Reach.PRIVATE: "a rule that names its network",
        Reach.LOOPBACK: "`[[egress.loopback]]`",
        Reach.FORBIDDEN: "nothing",
    }
    rows = [[f"`{network}`", place.what, opened[place.reach]] for network, place in _PLACES]
    return {"addresses": table(["network", "what it is", "opened by"], rows)}


def parse_address(text: str) -> Address | None:
    """Read an address in its plain spelling; None for anything else (short, octal or hex forms, zone ids)."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def place_of(address: Address) -> Place:
    """Say what an address is."""
    return next(place for network, place in _PLACES if network.version == address.version and address in network)


def is_reserved_name(host: str) -> bool:
    """Whether a lower-case name leads to this machine or to a platform's inside wherever it is resolved."""
    return host in _RESERVED_NAMES or host.startswith(_RESERVED_STARTS) or host.endswith(_RESERVED_ENDS)
