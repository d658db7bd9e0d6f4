"""Times and ids that are never handed out twice."""

import pytest

from bot.playground.stamps import Stamps


def test_times_differ_and_grow_while_the_clock_stands_still():
    stamps = Stamps(lambda: 1_700_000_000.5)

    times = [stamps.ts() for _ in range(3)]

    assert times == ["1700000000.500000", "1700000000.500001", "1700000000.500002"]


def test_times_still_grow_when_the_clock_goes_back():
    readings = iter([1_700_000_010.0, 1_700_000_000.0])
    stamps = Stamps(lambda: next(readings))

    first, second = stamps.ts(), stamps.ts()

    assert float(first) < float(second)


def test_a_second_start_repeats_no_id_of_the_first():
    first, second = Stamps(lambda: 1_700_000_000.0), Stamps(lambda: 1_700_000_001.0)

    ids = [made for stamps in (first, second) for made in (stamps.identifier("Ev"), stamps.unique())]

    assert len(set(ids)) == 4


@pytest.mark.parametrize("prefix", ["Ev", "R", "V"])
def test_an_id_has_the_letters_that_slack_uses(prefix):
    stamps = Stamps(lambda: 1_700_000_000.0)

    made = stamps.identifier(prefix)

    assert made.startswith(prefix)
    assert made.removeprefix(prefix).isalnum()
    assert made.removeprefix(prefix).isupper()


def test_the_clock_that_was_handed_in_is_the_time():
    stamps = Stamps(lambda: 42.0)

    now = stamps.now()

    assert now == 42.0
