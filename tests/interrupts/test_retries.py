"""The retry loop: how often, when the brake holds it back, and that its waits are woken."""

import asyncio
import itertools

import pytest

from bot.interrupts.brake import Brake
from bot.interrupts.retries import ONCE, READS, Attempts, RetryPolicy, is_held_back
from bot.rules.terms import InterruptKind

LIMIT = 10.0
HOLDING = [InterruptKind.STOP, InterruptKind.ROLLBACK, InterruptKind.PAUSE, InterruptKind.STEER]
LETTING = [InterruptKind.DRAIN, InterruptKind.DISPATCH, InterruptKind.AWAIT]


def quick(tries: int) -> RetryPolicy:
    return RetryPolicy(tries, wait_seconds=0.0)


def slow(tries: int) -> RetryPolicy:
    return RetryPolicy(tries, wait_seconds=3600.0)


@pytest.mark.parametrize("tries", [1, 2, 5])
async def test_there_are_as_many_tries_as_the_policy_says(tries: int):
    attempts = Attempts(Brake(), quick(tries))

    numbers = [number async for number in attempts]

    assert numbers == list(range(1, tries + 1))
    assert attempts.made == tries


def test_a_read_is_repeated_once_and_anything_else_never():
    assert (READS.tries, ONCE.tries) == (2, 1)


@pytest.mark.parametrize("kind", HOLDING)
async def test_nothing_is_tried_once_the_run_is_asked_to_end_or_pause(kind: InterruptKind):
    brake = Brake()
    brake.pull(kind)
    attempts = Attempts(brake, quick(2))

    numbers = [number async for number in attempts]

    assert numbers == []
    assert attempts.made == 0


async def test_nothing_is_tried_once_the_claim_is_lost():
    brake = Brake()
    brake.lose()

    numbers = [number async for number in Attempts(brake, quick(2))]

    assert numbers == []


@pytest.mark.parametrize("kind", LETTING)
async def test_open_work_goes_on_where_only_a_drain_or_a_batch_waits_for_it(kind: InterruptKind):
    brake = Brake()
    brake.pull(kind)

    numbers = [number async for number in Attempts(brake, quick(2))]

    assert numbers == [1, 2]


@pytest.mark.parametrize("kind", HOLDING)
async def test_the_brake_is_looked_at_before_each_try(kind: InterruptKind):
    brake = Brake()
    numbers = []

    async for number in Attempts(brake, quick(3)):
        numbers.append(number)
        brake.pull(kind)

    assert numbers == [1]


@pytest.mark.parametrize("kind", HOLDING)
async def test_a_pull_during_the_wait_ends_it_at_once(kind: InterruptKind):
    brake, waiting = Brake(), asyncio.Event()
    numbers = []

    async def work() -> None:
        async for number in Attempts(brake, slow(2)):
            numbers.append(number)
            waiting.set()

    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        group.create_task(work())
        await waiting.wait()
        brake.pull(kind)

    assert numbers == [1]


async def test_a_lost_claim_during_the_wait_ends_it_at_once():
    brake, waiting = Brake(), asyncio.Event()
    numbers = []

    async def work() -> None:
        async for number in Attempts(brake, slow(2)):
            numbers.append(number)
            waiting.set()

    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        group.create_task(work())
        await waiting.wait()
        brake.lose()

    assert numbers == [1]


async def test_a_drain_during_the_wait_makes_the_next_try_at_once():
    brake, waiting = Brake(), asyncio.Event()
    numbers = []

    async def work() -> None:
        async for number in Attempts(brake, slow(2)):
            numbers.append(number)
            waiting.set()

    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        group.create_task(work())
        await waiting.wait()
        brake.pull(InterruptKind.DRAIN)

    assert numbers == [1, 2]


async def test_the_first_try_does_not_wait():
    async with asyncio.timeout(LIMIT):
        async for number in Attempts(Brake(), slow(2)):
            assert number == 1
            break


async def test_a_wait_ends_when_its_time_is_over():
    async with asyncio.timeout(LIMIT):
        numbers = [number async for number in Attempts(Brake(), RetryPolicy(2, wait_seconds=0.01))]

    assert numbers == [1, 2]


@pytest.mark.parametrize("kinds", list(itertools.combinations(InterruptKind, 2)))
def test_any_holding_kind_holds_whatever_else_was_pulled(kinds: tuple[InterruptKind, ...]):
    brake = Brake()

    for kind in kinds:
        brake.pull(kind)

    assert is_held_back(brake) == any(kind in HOLDING for kind in kinds)
