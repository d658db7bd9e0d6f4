"""What a model call costs, from the operator's own prices. A model without a price has no known cost."""

from dataclasses import dataclass
from decimal import Decimal

from bot.rules.messages import Usage

MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; what was read from the service's cache costs as much where nothing is said."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None


def cost_of(price: Price | None, tokens: Usage) -> Decimal | None:
    """The cost of a call in US dollars; None where the price is not known."""
    if price is None:
        return None
    cached = min(tokens.cached_tokens, tokens.input_tokens)
    fresh = tokens.input_tokens - cached
    of_cache = price.input if price.cached is None else price.cached
    return (fresh * price.input + cached * of_cache + tokens.output_tokens * price.output) / MILLION
