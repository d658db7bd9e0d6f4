"""Which error each refusal is, in the shapes that the services send."""

import json

import pytest

from bot.errors import (
    ModelAuthError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitedError,
    ModelRequestError,
    ModelStreamError,
)
from bot.llm.refusals import MAX_WORDS, error_of, of_error, of_status, retry_after

OPENAI = json.dumps({
    "error": {"message": "no such thing", "type": "invalid_request_error", "param": None, "code": None}
})
ANTHROPIC_BUSY = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, ModelNotFoundError),
        (307, ModelNotFoundError),
        (400, ModelRequestError),
        (401, ModelAuthError),
        (402, ModelRequestError),
        (403, ModelAuthError),
        (404, ModelNotFoundError),
        (408, ModelOverloadedError),
        (413, ModelRequestError),
        (422, ModelRequestError),
        (429, ModelRateLimitedError),
        (500, ModelOverloadedError),
        (502, ModelOverloadedError),
        (529, ModelOverloadedError),
        (204, ModelStreamError),
    ],
)
def test_every_status_has_its_error_and_the_error_keeps_the_status(status: int, kind: type[ModelError]) -> None:
    error = of_status(status, OPENAI, {}, "")

    assert type(error) is kind
    assert error.status == status
    assert str(error) == f"HTTP {status}: no such thing"


def test_an_overload_is_known_by_its_name_whatever_the_status() -> None:
    error = of_status(400, ANTHROPIC_BUSY, {}, "")

    assert type(error) is ModelOverloadedError


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "busy"}, ModelOverloadedError),
        ({"type": "server_error", "code": "502", "message": "busy"}, ModelOverloadedError),
        ({"code": 500, "message": "boom"}, ModelOverloadedError),
        ({"code": 429, "message": "slow"}, ModelRateLimitedError),
        ({"type": "rate_limit_error"}, ModelRateLimitedError),
        ({"type": "authentication_error"}, ModelAuthError),
        ({"code": "401"}, ModelAuthError),
        ({"type": "not_found_error"}, ModelNotFoundError),
        ({"type": "invalid_request_error", "code": "context_length_exceeded"}, ModelRequestError),
        ({"type": "BadRequestError", "code": 400}, ModelRequestError),
        ({"message": "who knows"}, ModelStreamError),
        ({"code": "3280"}, ModelStreamError),
        ("just words", ModelStreamError),
        ({}, ModelStreamError),
    ],
)
def test_an_error_inside_a_stream_has_the_kind_its_words_say(error: object, kind: type[ModelError]) -> None:
    made = of_error(error)

    assert type(made) is kind


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_is_asked_for_is_read_in_seconds_or_as_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    error = of_status(429, "", headers, "")

    assert isinstance(error, ModelRateLimitedError)
    assert error.retry_after == retry_after(headers) == seconds


def test_no_more_of_the_services_words_than_the_limit_gets_into_an_error() -> None:
    error = of_status(400, json.dumps({"error": {"message": "x" * 5000}}), {}, "")

    assert str(error) == f"HTTP 400: {'x' * MAX_WORDS}"


def test_a_key_that_the_service_echoes_is_struck_out() -> None:
    body = json.dumps({"error": {"message": "wrong key sk-secret-1 given"}})

    errors = [of_status(401, body, {}, "sk-secret-1"), of_error({"message": "sk-secret-1"}, "sk-secret-1")]

    assert [str(error) for error in errors] == [
        "HTTP 401: wrong key (key) given",
        "an error in the stream: (key)",
    ]


@pytest.mark.parametrize(
    "text", ["", "<html>\n<b>Bad\0 Gateway</b>", "[1]", "null", "[" * 50_000, '{"error": "\\ud800"}']
)
def test_a_body_of_any_shape_gives_an_error_that_can_be_stored(text: str) -> None:
    error = of_status(502, text, {}, "")

    assert type(error) is ModelOverloadedError
    assert "\0" not in str(error)
    assert str(error).encode("utf-8")


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ({"error": {"message": "x"}}, {"message": "x"}),
        ({"type": "error", "message": "x"}, {"type": "error", "message": "x"}),
        ({"object": "error", "message": "x"}, {"object": "error", "message": "x"}),
        ({"error": None, "choices": []}, None),
        ({"type": "message_start"}, None),
        ([], None),
    ],
)
def test_an_error_is_seen_by_its_key_or_by_the_type_of_the_body(body: object, reported: object) -> None:
    assert error_of(body) == reported
