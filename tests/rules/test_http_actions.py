"""Declared actions: a model's arguments are checked to the letter, and people see the call that is really made."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import ToolArgumentsError
from bot.rules.http_actions import HttpAction, Parameter, ParameterType, call_of
from bot.rules.terms import Grade

SERVICE = Parameter("service", ParameterType.STRING, "Which one", choices=("checkout", "gateway"))
REASON = Parameter("reason", ParameterType.STRING, max_length=20)
TICKET = Parameter("ticket", ParameterType.STRING, pattern="[A-Z]+-[0-9]+")
COUNT = Parameter("count", ParameterType.INTEGER, lowest=1, highest=5)
DRAIN = Parameter("drain", ParameterType.BOOLEAN)
RESTART = HttpAction(
    name="restart_service",
    description="Restart a service.",
    method="POST",
    url="https://deploy.internal/services/{service}/restart?ticket={ticket}",
    title="restart {service}",
    parameters=(SERVICE, REASON, TICKET, COUNT, DRAIN),
    body='{"reason": "{reason}", "count": "{count}", "drain": "{drain}"}',
    secret="deploy_token",
)
GOOD = {"service": "checkout", "reason": "stuck", "ticket": "OPS-7", "count": 2, "drain": True}


def problem(**changed: object) -> str:
    with pytest.raises(ToolArgumentsError) as caught:
        call_of(RESTART, {key: value for key, value in (GOOD | changed).items() if value is not ...})
    return str(caught.value)


def test_the_call_is_what_the_templates_say():
    call = call_of(RESTART, GOOD)

    assert call.url == "https://deploy.internal/services/checkout/restart?ticket=OPS-7"
    assert json.loads(call.body or "") == {"reason": "stuck", "count": 2, "drain": True}
    assert call.title == "restart checkout"


def test_people_are_shown_method_url_secret_every_argument_and_the_body_in_full():
    shown = call_of(RESTART, GOOD).shown

    assert shown.splitlines() == [
        "POST https://deploy.internal/services/checkout/restart?ticket=OPS-7",
        "with the secret deploy_token",
        'service = "checkout"',
        'reason = "stuck"',
        'ticket = "OPS-7"',
        "count = 2",
        "drain = true",
        "body:",
        "{",
        '  "reason": "stuck",',
        '  "count": 2,',
        '  "drain": true',
        "}",
    ]


@given(st.text(max_size=20))
def test_no_argument_forges_a_line_of_what_people_are_shown(reason):
    if any("\ud800" <= char <= "\udfff" for char in reason):
        return

    shown = call_of(RESTART, GOOD | {"reason": reason}).shown

    assert len(shown.splitlines()) == 13
    (line,) = [each for each in shown.splitlines() if each.startswith("reason = ")]
    assert json.loads(line.removeprefix("reason = ")) == reason


@given(st.text(max_size=20), st.text(max_size=20))
def test_different_arguments_are_never_shown_alike(first, second):
    def shown(reason: str) -> str:
        return call_of(RESTART, GOOD | {"reason": reason}).shown

    try:
        alike = shown(first) == shown(second)
    except ToolArgumentsError:
        return

    assert alike is (first == second)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"service": ...}, "'service' is missing"),
        ({"service": "database"}, "'service' must be one of 'checkout', 'gateway'"),
        ({"service": 7}, "'service' must be a string"),
        ({"service": None}, "'service' must be a string"),
        ({"reason": "x" * 21}, "'reason' must have at most 20 characters"),
        ({"reason": "\ud800"}, "'reason' has half a character"),
        ({"ticket": "OPS-7\n"}, "'ticket' must match"),
        ({"ticket": "xOPS-7"}, "'ticket' must match"),
        ({"count": 0}, "'count' must be from 1 to 5"),
        ({"count": 6}, "'count' must be from 1 to 5"),
        ({"count": True}, "'count' must be a whole number"),
        ({"count": 2.0}, "'count' must be a whole number"),
        ({"count": "2"}, "'count' must be a whole number"),
        ({"drain": 1}, "'drain' must be true or false"),
        ({"drain": "true"}, "'drain' must be true or false"),
        ({"force": True}, "'force' is not an argument of restart_service"),
        ({"url": "https://evil.test"}, "'url' is not an argument"),
    ],
)
def test_an_argument_that_does_not_fit_is_named_and_never_repaired(changed, words):
    assert words in problem(**changed)


def test_every_problem_is_told_at_once_with_what_to_send():
    told = problem(service=..., count="2")

    assert told == (
        "'service' is missing; 'count' must be a whole number. "
        "Send service (string), reason (string), ticket (string), count (integer), drain (boolean)."
    )


def test_the_model_sees_the_limits_of_every_argument():
    schema = RESTART.schema()

    assert schema.grade is Grade.WRITE
    assert schema.description == ("Restart a service. It changes something: it runs only after a person has said yes.")
    assert schema.parameters == {
        "type": "object",
        "properties": {
            "service": {
                "type": "string",
                "description": "Which one",
                "enum": ["checkout", "gateway"],
                "maxLength": 200,
            },
            "reason": {"type": "string", "maxLength": 20},
            "ticket": {"type": "string", "pattern": "^(?:[A-Z]+-[0-9]+)$", "maxLength": 200},
            "count": {"type": "integer", "minimum": 1, "maximum": 5},
            "drain": {"type": "boolean"},
        },
        "required": ["service", "reason", "ticket", "count", "drain"],
        "additionalProperties": False,
    }


def test_a_read_is_told_to_the_model_without_a_word_of_approval():
    schema = replace(RESTART, grade=Grade.READ).schema()

    assert (schema.grade, schema.description) == (Grade.READ, "Restart a service.")


def test_an_action_without_arguments_takes_none():
    flush = HttpAction("flush", "Flush.", "DELETE", "https://cache.internal/all", "flush the cache")

    call = call_of(flush, {})

    assert (call.url, call.body, call.shown) == (
        "https://cache.internal/all",
        None,
        "DELETE https://cache.internal/all",
    )
    with pytest.raises(ToolArgumentsError, match=r"'x' is not an argument of flush\. Send \{\}\."):
        call_of(flush, {"x": 1})
