"""The arithmetic of the benchmarks."""

import math

import pytest

from benchmarks.figures import percentile, ratio, rounded, spread

HUNDRED = [float(number) for number in range(100, 0, -1)]


@pytest.mark.parametrize(("percent", "expected"), [(50, 50), (95, 95), (99, 99), (100, 100), (0, 1)])
def test_a_percentile_is_the_sample_that_so_many_percent_do_not_exceed(percent, expected):
    found = percentile(HUNDRED, percent)

    assert found == expected


def test_of_one_sample_every_percentile_is_that_sample():
    found = {percentile([7.0], percent) for percent in (1, 50, 99)}

    assert found == {7.0}


def test_nothing_has_no_percentile():
    with pytest.raises(ValueError, match="no samples"):
        percentile([], 50)


def test_a_spread_names_the_largest_and_how_many_there_are():
    found = spread(HUNDRED)

    assert found == {"n": 100, "p50": 50, "p95": 95, "p99": 99, "max": 100}


@pytest.mark.parametrize(
    ("number", "expected"), [(0, 0), (1234.5, 1234), (12.345, 12.3), (0.012345, 0.0123), (-12.345, -12.3)]
)
def test_three_digits_are_kept(number, expected):
    assert rounded(number) == expected


def test_a_ratio_to_nothing_is_infinite():
    assert ratio(3, 2) == 1.5
    assert ratio(1, 0) == math.inf
