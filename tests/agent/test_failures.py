"""Every error of the model service has its own class of failure, and one we do not know has one too."""

import pytest

from bot.agent.failures import FAILURE_OF, failed
from bot.errors import HistoryError, ModelError, ModelRateLimitedError, PairingError
from bot.rules.terms import FailureClass


class FromTheFutureError(ModelError):
    """An error that nobody has a class for."""


def all_below(kind):
    return [kind, *(found for each in kind.__subclasses__() for found in all_below(each))]


@pytest.mark.parametrize("kind", [each for each in all_below(ModelError) if each.__module__ == "bot.errors"])
def test_every_error_of_the_model_service_has_a_class_of_its_own(kind):
    end = failed(kind("what it said", status=418))

    assert (end.failure, end.detail, end.status) == (FAILURE_OF[kind], "what it said", 418)


def test_no_two_errors_share_a_class():
    assert len(set(FAILURE_OF.values())) == len(FAILURE_OF)


def test_an_error_that_nobody_knows_is_a_failure_that_nobody_knows():
    assert failed(FromTheFutureError("new")).failure is FailureClass.MODEL_UNKNOWN


def test_a_broken_history_is_told_as_one_and_has_no_status():
    end = failed(PairingError("no_result", "call000001"))

    assert (end.failure, end.status) == (FailureClass.HISTORY, None)
    assert failed(HistoryError()).failure is FailureClass.HISTORY


def test_what_the_service_said_is_cut_where_it_is_long():
    assert len(failed(ModelRateLimitedError("x" * 1000)).detail) == 300
