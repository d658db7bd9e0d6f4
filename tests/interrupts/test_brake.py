"""The brake: what is asked of a run stays asked until a look says otherwise, and a hard pull for ever."""

import asyncio

import pytest

from bot.interrupts.brake import HARD, Brake
from bot.rules.terms import InterruptKind

LIMIT = 10.0
SOFT = [kind for kind in InterruptKind if kind not in HARD]


@pytest.mark.parametrize("kind", InterruptKind)
def test_every_pull_is_seen_with_its_kind(kind):
    brake = Brake()

    brake.pull(kind)

    assert (brake.is_pulled, brake.kinds, brake.is_hard, brake.is_lost) == (True, {kind}, kind in HARD, False)


def test_only_stop_and_rollback_end_running_work():
    assert {InterruptKind.STOP, InterruptKind.ROLLBACK} == HARD


@pytest.mark.parametrize("kind", SOFT)
def test_a_soft_pull_is_taken_back_by_a_look_that_found_nothing(kind):
    brake = Brake()
    brake.pull(kind)

    brake.rearm(brake.pulls)

    assert (brake.is_pulled, brake.kinds) == (False, frozenset())


@pytest.mark.parametrize("kind", InterruptKind)
def test_a_pull_that_comes_between_the_look_and_the_rearming_is_not_taken_back(kind):
    brake = Brake()
    brake.pull(InterruptKind.STEER)
    before_the_look = brake.pulls

    brake.pull(kind)
    brake.rearm(before_the_look)

    assert brake.is_pulled
    assert kind in brake.kinds


def test_the_same_kind_pulled_again_during_the_look_is_not_taken_back():
    brake = Brake()
    brake.pull(InterruptKind.STEER)
    before_the_look = brake.pulls

    brake.pull(InterruptKind.STEER)
    brake.rearm(before_the_look)

    assert brake.is_pulled


@pytest.mark.parametrize("kind", sorted(HARD))
def test_a_hard_pull_is_never_taken_back(kind):
    brake = Brake()
    brake.pull(kind)

    brake.rearm(brake.pulls)

    assert (brake.is_pulled, brake.is_hard) == (True, True)


def test_a_lost_claim_is_never_taken_back():
    brake = Brake()
    brake.lose()

    brake.rearm(brake.pulls)

    assert (brake.is_pulled, brake.is_hard, brake.is_lost) == (True, True, True)


async def test_who_waits_for_one_kind_is_not_woken_for_good_by_another():
    brake = Brake()
    waiting = asyncio.ensure_future(brake.pulled_for(InterruptKind.STEER))

    brake.pull(InterruptKind.PAUSE)
    await asyncio.wait({waiting}, timeout=0)
    woken_by_a_pause = waiting.done()
    brake.pull(InterruptKind.STEER)

    await asyncio.wait_for(waiting, LIMIT)
    assert not woken_by_a_pause


async def test_who_waits_for_the_next_pull_is_woken_by_the_same_kind_too():
    brake = Brake()
    brake.pull(InterruptKind.PAUSE)
    waiting = asyncio.ensure_future(brake.pulled_again(brake.pulls))
    await asyncio.wait({waiting}, timeout=0)

    brake.pull(InterruptKind.PAUSE)

    await asyncio.wait_for(waiting, LIMIT)


async def test_a_pull_that_came_already_wakes_who_knows_only_of_the_ones_before():
    brake = Brake()
    known = brake.pulls
    brake.pull(InterruptKind.PAUSE)

    await asyncio.wait_for(brake.pulled_again(known), LIMIT)

    assert brake.pulls == known + 1


@pytest.mark.parametrize("kind", InterruptKind)
async def test_the_signals_say_what_the_brake_says(kind):
    brake = Brake()
    before = (brake.soft_signal.is_set(), brake.hard_signal.is_set())

    brake.pull(kind)

    assert before == (False, False)
    assert (brake.soft_signal.is_set(), brake.hard_signal.is_set()) == (True, kind in HARD)


def test_a_brake_knows_how_long_ago_it_was_first_pulled_for_something():
    brake = Brake()
    brake.pull(InterruptKind.STOP)
    first = brake.pulled_for_s(InterruptKind.STOP)
    brake.pull(InterruptKind.STOP)

    again = brake.pulled_for_s(InterruptKind.STOP)

    assert 0 <= first <= again
    assert brake.pulled_for_s(InterruptKind.STEER) is None


def test_a_soft_pull_that_was_taken_back_is_no_longer_counted_from():
    brake = Brake()
    brake.pull(InterruptKind.STEER)

    brake.rearm(brake.pulls)

    assert brake.pulled_for_s(InterruptKind.STEER) is None
