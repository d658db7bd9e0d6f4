"""What the door would say of a call, without making it.

It asks the same functions as the client (bot/egress/decisions.py, bot/egress/redirects.py), so what it says is what
happens. It must never send anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.egress.decisions import Admitted, Resolver, decide
from bot.egress.redirects import REDIRECTS, Hop, next_hop
from bot.egress.rules import METHODS, READING, Asked, EgressRules, Refusal
from bot.rules.terms import Grade

ALLOW, DENY = "allow", "deny"


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect to follow in thought: its status, its Location, and the addresses of the host it names."""

    status: int
    location: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """A verdict in words: `rule` is the prefix that allows a call, or the rule that refuses it."""

    verdict: str
    rule: str
    reason: str


def fixed_resolver(addresses: Sequence[str]) -> Resolver:
    """A resolver that gives these addresses for every name, and asks nobody."""

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return addresses

    return resolve


async def explain(rules: EgressRules, asked: Asked, resolve: Resolver, redirects: Sequence[Redirect] = ()) -> Explained:
    """Say what would become of a call, and of each redirect that its answers lead to."""
    hop = Hop(asked)
    decision = await _decided(rules, hop, resolve)
    for redirect in redirects:
        if isinstance(decision, Explained) or redirect.status not in REDIRECTS:
            break
        following = next_hop(hop, decision.permit.target, redirect.status, redirect.location)
        if isinstance(following, Refusal):
            return Explained(DENY, following.rule, f"redirect to {redirect.location}: {following.message}")
        hop = following
        decision = await _decided(rules, hop, fixed_resolver(redirect.addresses))
    if isinstance(decision, Explained):
        return decision
    shown, where = decision.permit.target.shown, ", ".join(decision.addresses)
    return Explained(ALLOW, decision.permit.rule.shown, f"{_led(hop)}{shown} is called at {where}")


async def _decided(rules: EgressRules, hop: Hop, resolve: Resolver) -> Admitted | Explained:
    try:
        decision = await decide(rules, hop.asked, resolve)
    except OSError as error:
        problem = f"the look-up of its name failed: {error or 'no answer in time'}"
        return Explained(DENY, "egress.address", f"{_led(hop)}{problem}")
    if isinstance(decision, Refusal):
        return Explained(DENY, decision.rule, f"{_led(hop)}{decision.message}")
    return decision


def _led(hop: Hop) -> str:
    return f"redirect to {hop.asked.url}: " if hop.behind else ""


def asked_of(case: Mapping[str, object]) -> Asked:
    """The call of a case: its url, method and headers; a method that is no read is a write."""
    method, headers = str(case.get("method") or "GET"), case.get("headers")
    given = headers.items() if isinstance(headers, Mapping) else ()
    grade = Grade.WRITE if method in METHODS - READING else Grade.READ
    return Asked(str(case.get("url")), method, grade, tuple((str(name), str(value)) for name, value in given))


def list_of(case: Mapping[str, object], name: str) -> tuple[str, ...]:
    """A list of texts in a case."""
    given = case.get(name)
    return tuple(map(str, given)) if isinstance(given, list) else ()


def redirects_of(case: Mapping[str, object]) -> tuple[Redirect, ...]:
    """The redirects of a case, each written as [status, location, [address...]]."""
    given = case.get("redirects")
    if not isinstance(given, Sequence):
        return ()
    return tuple(Redirect(int(status), str(location), tuple(found)) for status, location, found in given)
