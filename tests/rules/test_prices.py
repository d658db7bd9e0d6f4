"""What a model call costs."""

from decimal import Decimal

from bot.rules.messages import Usage
from bot.rules.prices import Price, cost_of

PRICE = Price(Decimal(3), Decimal(15))


def test_a_call_costs_its_tokens_at_their_prices():
    assert cost_of(PRICE, Usage(1_000_000, 100_000)) == Decimal("4.5")


def test_a_small_call_costs_a_little_and_not_nothing():
    assert cost_of(PRICE, Usage(1, 0)) == Decimal("0.000003")


def test_what_came_from_the_cache_costs_its_own_price_where_there_is_one():
    cheaper = Price(Decimal(3), Decimal(15), Decimal("0.3"))

    assert cost_of(cheaper, Usage(1_000_000, 0, cached_tokens=900_000)) == Decimal("0.57")
    assert cost_of(PRICE, Usage(1_000_000, 0, cached_tokens=900_000)) == Decimal(3)


def test_more_from_the_cache_than_was_sent_makes_no_call_cheaper_than_nothing():
    assert cost_of(Price(Decimal(3), Decimal(15), Decimal(0)), Usage(10, 0, cached_tokens=99)) == 0


def test_a_model_without_a_price_has_no_known_cost():
    assert cost_of(None, Usage(10, 10)) is None
