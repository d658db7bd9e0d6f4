"""From an error to the class of failure that the card has words for."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bot.errors import (
    HistoryError,
    ModelAuthError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitedError,
    ModelRequestError,
    ModelStreamError,
    ModelUnreachableError,
    SteersmanError,
)
from bot.rules.redaction import scrub as scrub_shapes
from bot.rules.terms import FailureClass
from bot.rules.turn_ends import Failed

FAILURE_OF: Mapping[type[SteersmanError], FailureClass] = MappingProxyType({
    ModelAuthError: FailureClass.MODEL_AUTH,
    ModelNotFoundError: FailureClass.MODEL_NOT_FOUND,
    ModelRequestError: FailureClass.MODEL_REQUEST,
    ModelRateLimitedError: FailureClass.MODEL_RATE_LIMITED,
    ModelOverloadedError: FailureClass.MODEL_OVERLOADED,
    ModelUnreachableError: FailureClass.MODEL_UNREACHABLE,
    ModelStreamError: FailureClass.MODEL_STREAM,
    ModelError: FailureClass.MODEL_UNKNOWN,
    HistoryError: FailureClass.HISTORY,
})


def failed(error: ModelError | HistoryError, scrub: Callable[[str], str] = scrub_shapes) -> Failed:
    """The end of a run by this error, scrubbed; the most exact class that is known decides."""
    kind = next(each for each in type(error).__mro__ if each in FAILURE_OF)
    return Failed(FAILURE_OF[kind], scrub(str(error))[:300], getattr(error, "status", None))
