"""The operator's entries read into rules: `egress.allow` and `egress.loopback`.

Pure. Whatever is wrong in an entry is a SettingsError that says what to write instead; nothing is repaired.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from bot.egress.addresses import PRIVATE_NETWORKS, Network, Reach, parse_address, place_of
from bot.egress.headers import fault_of_secret_header
from bot.egress.permits import METHODS, READING, AllowRule, SecretUse
from bot.egress.urls import Refusal, Target, parse_url
from bot.errors import SettingsError
from bot.rules.redaction import scrub_url
from bot.rules.terms import Grade

_WITH_NETWORKS = re.compile(r"([^@]*)@([0-9a-fA-F:./,]+)")
_REMEDY = "Write a URL prefix such as https://api.example.com/v1, or http://prometheus.internal:9090@10.20.0.0/16"


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A table of `[[egress.allow]]`; `url` alone is what a plain string says. Ports are besides that of the URL."""

    url: str
    ports: tuple[int, ...] = ()
    cidr: tuple[str, ...] = ()
    methods: tuple[str, ...] = tuple(sorted(READING))
    grade: Grade = Grade.READ
    rate: float | None = None
    api: bool = False
    secret: SecretUse | None = None


def allow_rule(entry: str | RuleEntry) -> AllowRule:
    """Read one entry of `egress.allow`; raises SettingsError with the entry that is wrong and what to write instead."""
    asked = entry if isinstance(entry, RuleEntry) else _of_text(entry)
    target, wild = _prefix(asked.url, internal=bool(asked.cidr))
    _check_terms(asked)
    return AllowRule(
        scheme=target.scheme,
        host=f"*.{target.host}" if wild else target.host,
        ports=tuple(dict.fromkeys((target.port, *asked.ports))),
        path=target.path,
        networks=tuple(_network(asked.url, text) for text in asked.cidr),
        methods=frozenset(asked.methods),
        grade=asked.grade,
        rate=asked.rate,
        api=asked.api,
        secret=asked.secret,
    )


def loopback_pair(entry: str, rules: Sequence[AllowRule]) -> tuple[str, int]:
    """Read one host:port of `egress.loopback`; it opens only what a rule of `egress.allow` covers too."""
    target = parse_url(f"http://{entry}")
    if isinstance(target, Refusal) or target.resource != "/" or not re.search(r":[0-9]+\Z", entry):
        raise _bad_pair(entry, "is not a host and a port")
    address = parse_address(target.host)
    if address and place_of(address).reach is not Reach.LOOPBACK:
        raise _bad_pair(entry, "is not an address of this machine")
    if not any(target.port in rule.ports and rule.covers_host(target.host) for rule in rules):
        problem = f"{entry!r} is not under any prefix of egress.allow"
        raise SettingsError("egress.loopback", problem, f"Add http://{entry} to egress.allow as well")
    return target.host, target.port


def _of_text(entry: str) -> RuleEntry:
    match = _WITH_NETWORKS.fullmatch(entry)
    return RuleEntry(match[1], cidr=tuple(match[2].split(","))) if match else RuleEntry(entry)


def _prefix(entry: str, *, internal: bool) -> tuple[Target, bool]:
    if "?" in entry or "#" in entry:
        raise _bad_rule(scrub_url(entry), "a prefix has no query and no fragment")
    wild = "://*." in entry
    target = parse_url(entry.replace("://*.", "://", 1))
    if isinstance(target, Refusal):
        raise _bad_rule(scrub_url(entry), target.message)
    if wild and (parse_address(target.host) or ("." not in target.host and not internal)):
        raise _bad_rule(entry, "a wildcard stands for one label before a name of at least two")
    return target, wild


def _check_terms(asked: RuleEntry) -> None:
    """Refuse what a rule may not say of itself."""
    strange = [method for method in asked.methods if method not in METHODS]
    if strange or not asked.methods:
        raise _bad_rule(asked.url, f"methods may be {', '.join(sorted(METHODS))}")
    if any(not 0 < port < 65536 for port in asked.ports):
        raise _bad_rule(asked.url, "a port is a number from 1 to 65535")
    if asked.rate is not None and not 0 < asked.rate <= 1000:
        raise _bad_rule(asked.url, "a rate is a number of requests a second, above 0 and at most 1000")
    fault = fault_of_secret_header(asked.secret.header) if asked.secret else None
    if fault is not None:
        raise _bad_rule(asked.url, fault)
    if asked.secret and asked.url.lower().startswith("http:") and not asked.cidr:
        raise _bad_rule(asked.url, "a secret may leave over https only, or over http into a network that is named")


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
    return SettingsError("egress.allow", f"{entry!r}: {problem}", _REMEDY)


def _bad_pair(entry: str, problem: str) -> SettingsError:
    shown = scrub_url(f"http://{entry}").removeprefix("http://")
    return SettingsError("egress.loopback", f"{shown!r} {problem}", "Write a pair such as 127.0.0.1:8123")
