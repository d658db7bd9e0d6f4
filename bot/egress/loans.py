"""Secrets, lent to one run for as long as it may use them.

Owns the values between the environment and the header they leave in. They must never come to a tool, a model, a log
or an error: nothing here shows one, and what is lent is asked for by name and put in last.
"""

from collections.abc import Callable
from typing import TypeAlias

from bot.egress.permits import SecretUse
from bot.errors import ToolBlockedError
from bot.interrupts.brake import Brake

SecretSource: TypeAlias = Callable[[str], str]
"""Gives the value of a secret by its name; an empty one where none is set."""


def no_secrets(_name: str) -> str:
    """The source of a door that lends nothing."""
    return ""


class Loan:
    """The secrets of one run; its brake ends the loan for good: a stop, a rollback, the loss or end of its claim."""

    __slots__ = ("_ended", "_source", "_values")

    def __init__(self, source: SecretSource) -> None:
        self._source, self._ended = source, False
        self._values: dict[str, str] = {}

    def header(self, use: SecretUse, brake: Brake) -> tuple[str, str]:
        """The header that carries a secret; raises ToolBlockedError where the loan is over or nothing is set."""
        if brake.is_hard:
            self._ended = True
            self._values.clear()
        if self._ended:
            raise ToolBlockedError("egress.secret", f"{use.name} is no longer lent to this run")
        value = self._values.get(use.name) or self._source(use.name).strip()
        if not value or not value.isascii() or not value.isprintable():
            raise ToolBlockedError("egress.secret", f"{use.name} is not set, or holds what no header can carry")
        self._values[use.name] = value
        return use.header, use.worded(value)
