"""Hints find the brake of their run and no other; a claim that was let go is forgotten, a later one is not."""

import pytest
from structlog.testing import capture_logs

from bot.interrupts.watcher import LiveRuns
from bot.rules.terms import InterruptKind


@pytest.mark.parametrize("kind", InterruptKind)
def test_a_hint_pulls_the_brake_of_its_run_and_no_other(kind):
    live = LiveRuns()
    mine, other = live.add("r1", "t1", 1), live.add("r2", "t2", 1)

    live.hear({"run": "r1", "kind": kind.value})

    assert (mine.kinds, other.is_pulled) == ({kind}, False)


@pytest.mark.parametrize("hint", [{"run": "elsewhere", "kind": "stop"}, {"kind": "stop"}])
def test_a_hint_for_a_run_of_another_worker_pulls_nothing(hint):
    live = LiveRuns()
    brake = live.add("r1", "t1", 1)

    live.hear(hint)

    assert not brake.is_pulled


@pytest.mark.parametrize("hint", [{"run": "r1", "kind": "from_the_future"}, {"run": "r1"}])
def test_a_hint_of_a_kind_that_this_version_does_not_know_is_told_and_left_alone(hint):
    live = LiveRuns()
    brake = live.add("r1", "t1", 1)

    with capture_logs() as log:
        live.hear(hint)

    assert not brake.is_pulled
    assert [each["event"] for each in log] == ["hint.unknown"]


def test_a_run_that_is_claimed_again_before_its_first_claim_is_let_go_keeps_its_new_brake():
    live = LiveRuns()
    first = live.add("r1", "t1", 1)
    second = live.add("r1", "t1", 3)

    live.remove(first)
    live.hear({"run": "r1", "kind": "stop"})

    assert (first.kinds, first.is_lost) == (frozenset(), True)
    assert (second.is_hard, second.is_lost, live.holds()) == (True, False, {("t1", 3)})


def test_a_stop_reaches_every_claim_of_its_run():
    live = LiveRuns()
    first, second = live.add("r1", "t1", 1), live.add("r1", "t1", 3)

    live.pull("r1", [InterruptKind.STOP])

    assert (first.is_hard, second.is_hard) == (True, True)


def test_only_the_claim_with_the_lost_fence_is_lost():
    live = LiveRuns()
    old, new, other = live.add("r1", "t1", 1), live.add("r1", "t1", 3), live.add("r2", "t2", 1)

    live.lose({("t1", 1)})

    assert (old.is_lost, new.is_lost, other.is_lost) == (True, False, False)


def test_a_worker_that_no_longer_believes_itself_loses_every_claim():
    live = LiveRuns()
    brakes = [live.add(f"r{n}", f"t{n}", n) for n in range(3)]

    live.lose_all()

    assert [brake.is_lost for brake in brakes] == [True, True, True]
    assert len(live) == 3


def test_a_claim_that_was_let_go_is_forgotten_and_may_be_forgotten_again():
    live = LiveRuns()
    brake = live.add("r1", "t1", 1)

    live.remove(brake)
    live.remove(brake)

    assert (len(live), live.holds()) == (0, frozenset())


def test_a_halt_pulls_every_brake_hard():
    live = LiveRuns()
    brakes = [live.add("r1", "t1", 1), live.add("r2", "t2", 4)]

    live.pull_all(InterruptKind.STOP)

    assert all(brake.is_hard and brake.kinds == {InterruptKind.STOP} for brake in brakes)
