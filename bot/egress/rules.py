"""Which URLs a run may call.

Pure: the rules of the operator as a whole. `egress.allow` says which URLs may be called, and `egress.loopback` which
host and port of those is on this machine. It must never resolve a name, repair a URL or guess what was meant.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.egress.addresses import is_reserved_name
from bot.egress.entries import RuleEntry, allow_rule, loopback_pair
from bot.egress.headers import judge_headers
from bot.egress.permits import METHODS, READING, AllowRule, Permit, SecretUse
from bot.egress.urls import MAX_URL, Refusal, Target, parse_url
from bot.rules.terms import Grade

__all__ = [
    "MAX_URL",
    "METHODS",
    "READING",
    "AllowRule",
    "Asked",
    "EgressRules",
    "Permit",
    "Refusal",
    "RuleEntry",
    "SecretUse",
    "Target",
    "parse_url",
]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that somebody wants to make, as far as rules can judge it before anything is looked up."""

    url: str
    method: str = "GET"
    grade: Grade = Grade.READ
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class EgressRules:
    """What the operator allows; without entries nothing may be called."""

    allow: tuple[AllowRule, ...] = ()
    loopback: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def parse(cls, allow: Sequence[str | RuleEntry], loopback: Sequence[str]) -> "EgressRules":
        """Read `egress.allow` (URL prefixes, `@network,...` behind a private one, or tables) and `egress.loopback`.

        Raises SettingsError with the entry that is wrong and what to write instead.
        """
        rules = tuple(allow_rule(entry) for entry in allow)
        return cls(rules, frozenset(loopback_pair(entry, rules) for entry in loopback))

    def also(self, *allow: AllowRule) -> "EgressRules":
        """The rules with some more, such as those of declared actions."""
        return EgressRules((*self.allow, *allow), self.loopback)

    def judge(self, method: str, url: str, grade: Grade = Grade.READ) -> Permit | Refusal:
        """Say whether a call without headers of its own may be made, before anything is looked up."""
        return self.judge_asked(Asked(url, method, grade))

    def judge_asked(self, asked: Asked) -> Permit | Refusal:
        """Say whether a call may be made, before anything is looked up.

        Of the rules that cover the URL and let the method, the narrowest decides; of two equals the first.
        """
        if asked.method not in METHODS:
            return Refusal("egress.method", f"the method is none of {', '.join(sorted(METHODS))}")
        target = parse_url(asked.url)
        if isinstance(target, Refusal):
            return target
        return judge_headers(asked.headers) or self._judge_target(target, asked)

    def _judge_target(self, target: Target, asked: Asked) -> Permit | Refusal:
        covering = [rule for rule in self.allow if rule.covers(target)]
        if not covering:
            return Refusal("egress.allow", f"{target.shown} is not under any allowed prefix: {self._listed()}")
        letting = [rule for rule in covering if rule.lets(asked.method, asked.grade)]
        if not letting:
            return Refusal("egress.method", _unlet(asked, covering))
        loopback = (target.host, target.port) in self.loopback
        if is_reserved_name(target.host) and not loopback:
            return Refusal("egress.name", f"{target.host} is a name for this machine or the platform it runs on")
        permit = Permit(target, max(letting, key=lambda rule: rule.strictness), loopback)
        verdict = permit.admit([target.host]) if permit.is_literal else None
        return verdict if isinstance(verdict, Refusal) else permit

    def _listed(self) -> str:
        return ", ".join(rule.shown for rule in self.allow) or "none is set"


def _unlet(asked: Asked, covering: Sequence[AllowRule]) -> str:
    methods = sorted(frozenset().union(*(rule.methods for rule in covering)))
    if asked.method not in methods:
        return f"only {' and '.join(methods)} are allowed there"
    return f"a {asked.grade} with {asked.method} needs a rule of grade {asked.grade}"
