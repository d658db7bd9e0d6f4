"""The limits in words, and when they are reached."""

from decimal import Decimal

import pytest

from bot.rules.limits import (
    HELD_WORDS,
    NO_LIVE_LIMITS,
    NO_RUN_LIMITS,
    LiveLimit,
    LiveLimits,
    RunLimits,
    held_words,
    out_of_time,
    overspent,
)


@pytest.mark.parametrize(
    ("limits", "tokens", "cost", "said"),
    [
        (NO_RUN_LIMITS, 10**12, "1000", None),
        (RunLimits(tokens=10), 9, "0", None),
        (RunLimits(tokens=10), 10, "0", "the limit of 10 tokens"),
        (RunLimits(cost_usd=Decimal("0.10")), 0, "0.0999", None),
        (RunLimits(cost_usd=Decimal("0.10")), 0, "0.10", "the limit of 0.10 USD"),
        (RunLimits(tokens=10, cost_usd=Decimal(1)), 10, "2", "the limit of 10 tokens"),
    ],
)
def test_a_limit_is_reached_where_it_is_and_not_before(limits, tokens, cost, said):
    assert overspent(limits, tokens, Decimal(cost)) == said


def test_only_tokens_and_cost_need_a_look_at_the_usage():
    assert not RunLimits(minutes=5).of_spending
    assert RunLimits(tokens=5).of_spending
    assert RunLimits(cost_usd=Decimal(1)).of_spending


def test_a_limit_in_minutes_is_said_as_short_as_it_was_written():
    assert (out_of_time(60.0), out_of_time(0.5)) == ("the limit of 60 minutes", "the limit of 0.5 minutes")


def test_one_limit_of_live_runs_is_enough_to_be_limited():
    assert not NO_LIVE_LIMITS.any
    assert all(LiveLimits(**{each.value: 1}).any for each in LiveLimit)


def test_every_limit_of_live_runs_has_words_and_an_unknown_one_has_none():
    assert set(HELD_WORDS) == set(LiveLimit)
    assert all(held_words(each.value) for each in LiveLimit)
    assert held_words("of tomorrow") == held_words(None) == ""
