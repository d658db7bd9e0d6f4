"""Orders for faults, as they come over HTTP and as they are used up."""

import pytest

from bot.playground.faults import Fault, Faults


@pytest.mark.parametrize(
    ("order", "fault"),
    [
        ({"method": "auth.test", "error": "fatal_error"}, Fault("auth.test", error="fatal_error")),
        ({"error": "x", "times": 3}, Fault("*", error="x", times=3)),
        ({"method": "a", "status": 503}, Fault("a", status=503)),
        ({"method": "a", "retry_after": 2}, Fault("a", retry_after=2.0)),
        ({"method": "a", "drop": True, "delay_s": 0.5}, Fault("a", drop=True, delay_s=0.5)),
        ({"method": "a", "lose": True, "answer_delay_s": 1}, Fault("a", lose=True, answer_delay_s=1.0)),
    ],
)
def test_an_order_over_http_is_read(order, fault):
    found = Fault.from_json(order)

    assert found == fault


def test_orders_are_met_in_the_order_in_which_they_were_given():
    faults = Faults()
    faults.order(Fault("a", error="first", times=2))
    faults.order(Fault("a", error="second"))

    met = [faults.take("a") for _ in range(4)]

    assert [fault and fault.error for fault in met] == ["first", "first", "second", None]


def test_an_order_for_another_method_is_not_met():
    faults = Faults()
    faults.order(Fault("a", error="first"))

    met = faults.take("b")

    assert met is None
