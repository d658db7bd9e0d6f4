"""Faults on order: what the next calls of a method meet instead of an answer.

It only hands the orders out, in the order in which they were given; carrying them out is for bot/playground/web_api.py.
"""

from dataclasses import dataclass
from typing import Self

from bot.playground.json_reading import JsonObject, flag_at, text_at

EVERY_METHOD = "*"


@dataclass(slots=True)
class Fault:
    """One order: what the next `times` calls of a method meet.

    Refused before anything is applied: `error` (Slack's word), `status` (500 to 599) or `retry_after` (429, seconds).
    Applied, but the answer is lost with the connection: `drop`. Neither applied nor answered: `lose`.
    `delay_s` passes before the call is applied, `answer_delay_s` after it; both go with any of the others.
    """

    method: str
    error: str | None = None
    status: int | None = None
    retry_after: float | None = None
    drop: bool = False
    lose: bool = False
    delay_s: float = 0.0
    answer_delay_s: float = 0.0
    times: int = 1

    @classmethod
    def from_json(cls, order: JsonObject) -> Self:
        """Read an order that came over HTTP."""
        fault = cls(text_at(order, "method", EVERY_METHOD), error=text_at(order, "error") or None)
        fault.drop, fault.lose = flag_at(order, "drop"), flag_at(order, "lose")
        fault.delay_s, fault.answer_delay_s = _number(order, "delay_s") or 0.0, _number(order, "answer_delay_s") or 0.0
        fault.retry_after, fault.times = _number(order, "retry_after"), int(_number(order, "times") or 1)
        status = _number(order, "status")
        fault.status = None if status is None else int(status)
        return fault


class Faults:
    """The orders that are still to be met."""

    def __init__(self) -> None:
        self._orders: list[Fault] = []

    def order(self, fault: Fault) -> None:
        """Add an order behind the others."""
        self._orders.append(fault)

    def take(self, method: str) -> Fault | None:
        """The first order that this call meets; each is used up after its `times` calls."""
        for fault in self._orders:
            if fault.method in (method, EVERY_METHOD):
                fault.times -= 1
                if fault.times <= 0:
                    self._orders.remove(fault)
                return fault
        return None

    def clear(self) -> None:
        """Forget every order."""
        self._orders.clear()


def _number(source: JsonObject, key: str) -> float | None:
    found = source.get(key)
    return float(found) if isinstance(found, int | float) else None
