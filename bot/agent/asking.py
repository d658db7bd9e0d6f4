"""Asking the model again where its service could not answer.

Owns which failures are worth another try: those that say nothing of what was asked. It must never ask again once the
brake holds the run back.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.errors import (
    ModelError,
    ModelOverloadedError,
    ModelRateLimitedError,
    ModelStreamError,
    ModelUnreachableError,
)
from bot.interrupts.brake import Brake
from bot.interrupts.races import Done
from bot.interrupts.retries import MODEL, Attempts, Jitter, RetryPolicy, is_held_back, no_jitter
from bot.llm.provider import ModelReply
from bot.telemetry import log

PASSES = (ModelRateLimitedError, ModelOverloadedError, ModelUnreachableError, ModelStreamError)
"""Failures that may be over at the next try: 429, 5xx and overload, no connection, a message that ended early."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often the model is asked, and how the waits in between are stretched."""

    policy: RetryPolicy = MODEL
    jitter: Jitter = no_jitter


async def asked_again(
    brake: Brake, patience: Patience, ask: Callable[[], Awaitable[Done[ModelReply] | None]]
) -> Done[ModelReply] | None:
    """Ask until an answer comes; None where the brake ended it. Raises the ModelError of the last try."""
    attempts = Attempts(brake, patience.policy, patience.jitter)
    failure: ModelError | None = None
    async for attempt in attempts:
        try:
            return await ask()
        except PASSES as error:
            failure = error
            log.warning("model.failed", attempt=attempt, error=type(error).__name__, status=error.status)
            attempts.asked_to_wait(error.retry_after if isinstance(error, ModelRateLimitedError) else None)
    if failure is not None and not is_held_back(brake):
        raise failure
    return None
