"""The door out as the settings want it: its rules, and what the doors of all runs share."""

from importlib.metadata import PackageNotFoundError, version
from random import SystemRandom

from bot.egress.client import EgressMeans
from bot.egress.robots import AGENT
from bot.egress.rules import EgressRules, RuleEntry, SecretUse
from bot.errors import SettingsError
from bot.settings.environment import Settings, setting_of_secret
from bot.settings.sections import Allow


def egress_rules(settings: Settings, *, with_secrets: bool = True) -> EgressRules:
    """The rules of the door out; raises SettingsError for one that is wrong, or whose secret is not set."""
    egress = settings.config.egress
    allow = [entry if isinstance(entry, str) else _entry(entry, settings, with_secrets) for entry in egress.allow]
    return EgressRules.parse(allow, [each.address for each in egress.loopback])


def egress_means(settings: Settings) -> EgressMeans:
    """What the doors of all runs of this process share."""
    contact = settings.config.egress.contact
    agent = f"{AGENT}/{product_version()}" + (f" (+{contact})" if contact else "")
    return EgressMeans(user_agent=agent, secret_of=settings.lent_secret, jitter=SystemRandom().random)


def product_version() -> str:
    """The version of the installed package; 0 for a checkout that is not installed."""
    try:
        return version("steersman")
    except PackageNotFoundError:
        return "0"


def _entry(table: Allow, settings: Settings, with_secrets: bool) -> RuleEntry:
    use = _secret_use(table)
    if use is not None and with_secrets and not settings.lent_secret(use.name):
        setting = setting_of_secret(use.name)
        problem = f"the secret {use.name} of {table.url!r} is not set"
        raise SettingsError("egress.allow", problem, f"Set {setting}, or {setting}_FILE to the file that holds it")
    return RuleEntry(table.url, table.ports, table.cidr, table.methods, table.grade, table.rate, table.api, use)


def _secret_use(table: Allow) -> SecretUse | None:
    if table.secret is None:
        return None
    by_custom = "Bearer" if table.secret_header.lower() == "authorization" else ""
    scheme = by_custom if table.secret_scheme is None else table.secret_scheme
    return SecretUse(table.secret, table.secret_header, scheme)
