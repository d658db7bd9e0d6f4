"""Asking again: which failures are worth it, how often, and that the brake ends it."""

import asyncio

import pytest

from bot.agent.asking import PASSES, Patience, asked_again
from bot.errors import (
    ModelAuthError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitedError,
    ModelRequestError,
    ModelStreamError,
    ModelUnreachableError,
)
from bot.interrupts.brake import Brake
from bot.interrupts.races import Done
from bot.interrupts.retries import RetryPolicy
from bot.llm.provider import ModelReply
from bot.rules.messages import AssistantMessage, Usage
from bot.rules.terms import InterruptKind

LIMIT = 10.0
QUICK, SLOW = Patience(RetryPolicy(3, 0.0)), Patience(RetryPolicy(3, 3600.0))
REPLY = Done(ModelReply(AssistantMessage("fine", ()), Usage(1, 1)))


class Service:
    """Fails in the given ways, one after the other, and then answers."""

    def __init__(self, *failures: ModelError) -> None:
        self.failures, self.asked, self.reached = list(failures), 0, asyncio.Event()

    async def __call__(self) -> Done[ModelReply] | None:
        self.asked += 1
        self.reached.set()
        if self.failures:
            raise self.failures.pop(0)
        return REPLY


@pytest.mark.parametrize("kind", PASSES)
async def test_a_failure_that_may_pass_is_followed_by_another_try(kind: type[ModelError]):
    service = Service(kind(), kind())

    answer = await asked_again(Brake(), QUICK, service)

    assert (answer, service.asked) == (REPLY, 3)


@pytest.mark.parametrize("kind", [ModelAuthError, ModelNotFoundError, ModelRequestError, ModelError])
async def test_a_refusal_of_what_was_asked_is_not_repeated(kind: type[ModelError]):
    service = Service(kind())

    with pytest.raises(kind):
        await asked_again(Brake(), QUICK, service)

    assert service.asked == 1


async def test_the_last_failure_is_told_when_the_tries_are_used_up():
    service = Service(
        ModelStreamError("one"), ModelOverloadedError("two"), ModelUnreachableError("three"), ModelError()
    )

    with pytest.raises(ModelUnreachableError, match="three"):
        await asked_again(Brake(), QUICK, service)

    assert service.asked == 3


@pytest.mark.parametrize("kind", [InterruptKind.STOP, InterruptKind.STEER, InterruptKind.PAUSE, InterruptKind.ROLLBACK])
async def test_a_brake_during_the_wait_ends_it_without_a_failure(kind: InterruptKind):
    service, brake = Service(ModelRateLimitedError(retry_after=30.0)), Brake()
    asking = asyncio.create_task(asked_again(brake, SLOW, service))
    await service.reached.wait()

    brake.pull(kind)

    async with asyncio.timeout(LIMIT):
        assert await asking is None
    assert service.asked == 1


async def test_a_service_that_asks_for_longer_than_anybody_waits_is_not_asked_again():
    service = Service(ModelRateLimitedError("later", retry_after=3600.0))

    with pytest.raises(ModelRateLimitedError, match="later"):
        await asked_again(Brake(), QUICK, service)

    assert service.asked == 1


async def test_the_wait_that_the_service_asked_for_is_kept():
    service, clock = Service(ModelRateLimitedError(retry_after=0.3)), asyncio.get_running_loop().time
    began = clock()

    await asked_again(Brake(), QUICK, service)

    assert clock() - began >= 0.3
