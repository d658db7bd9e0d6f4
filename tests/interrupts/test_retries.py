"""The retry loop: how often, when the brake holds it back, and that its waits are woken."""

import asyncio
import itertools

import pytest

from bot.interrupts.brake import Brake
from bot.interrupts.retries import MODEL, ONCE, READS, Attempts, RetryPolicy, is_held_back
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


@pytest.mark.parametrize(
    ("made", "stretch", "asked", "seconds"),
    [
        (1, 0.0, None, 2.0),
        (2, 0.0, None, 4.0),
        (3, 0.0, None, 8.0),
        (1, 1.0, None, 3.0),
        (1, 0.5, None, 2.5),
        (1, 0.0, 10.0, 10.0),
        (1, 0.0, 0.0, 2.0),
        (9, 0.0, None, 60.0),
        (1, 0.0, 60.0, 60.0),
        (1, 0.0, 61.0, None),
    ],
)
def test_a_wait_is_two_seconds_at_least_doubles_and_keeps_to_what_was_asked(made, stretch, asked, seconds):
    assert READS.wait_after(made, stretch, asked) == seconds


@pytest.mark.parametrize("policy", [READS, MODEL])
def test_no_wait_is_shorter_than_two_seconds_whatever_the_jitter(policy: RetryPolicy):
    waits = [policy.wait_after(made, stretch, None) for made in range(1, 6) for stretch in (0.0, 0.3, 1.0)]

    assert min(waits) >= 2.0


async def test_a_try_that_would_come_too_late_is_not_made():
    now = asyncio.get_running_loop().time()
    attempts = Attempts(Brake(), slow(2), until=now + 30.0)

    numbers = [number async for number in attempts]

    assert numbers == [1]


async def test_what_was_asked_of_one_wait_does_not_count_for_the_next():
    attempts = Attempts(Brake(), RetryPolicy(3, 0.0, longest_seconds=1.0))
    numbers = []

    async for number in attempts:
        numbers.append(number)
        attempts.asked_to_wait(0.01 if number == 1 else None)

    assert numbers == [1, 2, 3]


async def test_the_jitter_is_asked_once_for_each_wait():
    given = []

    def jitter() -> float:
        given.append(0.5)
        return 0.5

    numbers = [number async for number in Attempts(Brake(), quick(3), jitter)]

    assert (numbers, len(given)) == ([1, 2, 3], 2)
