"""The limits and prices of the settings, as the parts take them."""

from collections.abc import Mapping
from decimal import Decimal

from bot.rules.limits import LiveLimits, RunLimits
from bot.rules.prices import Price
from bot.settings.environment import Settings


def run_limits(settings: Settings) -> RunLimits:
    """What one run may spend."""
    limits = settings.config.limits
    return RunLimits(limits.run_minutes, limits.run_tokens, _money(limits.run_cost_usd))


def live_limits(settings: Settings) -> LiveLimits:
    """How many runs may be live at once."""
    limits = settings.config.limits
    return LiveLimits(limits.live_runs_per_person, limits.live_runs_per_channel, limits.live_runs_per_workspace)


def prices(settings: Settings) -> Mapping[str, Price]:
    """The prices of the models, by name."""
    return {
        each.name: Price(Decimal(str(each.input)), Decimal(str(each.output)), _money(each.cached))
        for each in settings.config.models.prices
    }


def _money(amount: float | None) -> Decimal | None:
    # As it was written: the next float of 0.1 is not what somebody meant.
    return None if amount is None else Decimal(str(amount))
