"""Which ModelError a provider's refusal is.

Pure. The table is read by HTTP status and by the words providers put in `code`, `type` and `status`. A message holds
the status and the provider's own words, at most MAX_WORDS characters of them, and never a key or a header.
"""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from bot.errors import (
    ModelAuthError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitedError,
    ModelRequestError,
    ModelStreamError,
)
from bot.llm.texts import clean
from bot.rules.retry_after import retry_after

MAX_WORDS = 300

BY_STATUS: Mapping[int, type[ModelError]] = MappingProxyType({
    401: ModelAuthError,
    403: ModelAuthError,
    404: ModelNotFoundError,
    408: ModelOverloadedError,
    429: ModelRateLimitedError,
})
"""Statuses with a meaning of their own; the others go by their hundred (_by_status)."""

BY_WORD: Mapping[str, type[ModelError]] = MappingProxyType({
    "authentication_error": ModelAuthError,
    "permission_error": ModelAuthError,
    "invalid_api_key": ModelAuthError,
    "not_found_error": ModelNotFoundError,
    "model_not_found": ModelNotFoundError,
    "invalid_request_error": ModelRequestError,
    "request_too_large": ModelRequestError,
    "context_length_exceeded": ModelRequestError,
    "rate_limit_error": ModelRateLimitedError,
    "rate_limit_exceeded": ModelRateLimitedError,
    "insufficient_quota": ModelRateLimitedError,
    "overloaded_error": ModelOverloadedError,
    "overloaded": ModelOverloadedError,
    "api_error": ModelOverloadedError,
    "server_error": ModelOverloadedError,
    "internal_server_error": ModelOverloadedError,
    "timeout_error": ModelOverloadedError,
    "insufficient_system_resource": ModelOverloadedError,
})
"""What providers write where a status is missing or says less."""


def of_status(status: int, text: str, headers: Mapping[str, str], secret: str) -> ModelError:
    """The error for a response that is no 200; `text` is the start of its body, `secret` is struck out of it."""
    error = _error_in(text)
    kind = _by_status(status)
    if _by_words(error) is ModelOverloadedError:
        kind = ModelOverloadedError
    message = _shown(f"HTTP {status}", _words(error, text), secret)
    if issubclass(kind, ModelRateLimitedError):
        return kind(message, status=status, retry_after=retry_after(headers))
    return kind(message, status=status)


def of_error(error: object, secret: str = "") -> ModelError:
    """The error for an `error` object, or for the text in its place, that came inside a stream with status 200."""
    status = next(_statuses(error), None)
    kind = _by_words(error) or (_by_status(status) if status else ModelStreamError)
    return kind(_shown("an error in the stream", _words(error, str(error)), secret), status=status)


def error_of(body: object) -> object | None:
    """The error that a JSON body reports with an `error` key or as its type; None where it reports none."""
    if not isinstance(body, Mapping):
        return None
    return body.get("error") or (body if body.get("type") == "error" or body.get("object") == "error" else None)


def _error_in(text: str) -> object:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return error_of(body) or body


def _by_status(status: int) -> type[ModelError]:
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status >= 500:
        return ModelOverloadedError
    if 300 <= status < 400:
        # Redirects are not followed: the key would go to an address that nobody has allowed.
        return ModelNotFoundError
    return ModelRequestError if status >= 400 else ModelStreamError


def _by_words(error: object) -> type[ModelError] | None:
    known = (BY_WORD.get(str(word)) for word in _marks(error))
    return next((kind for kind in known if kind), None)


def _statuses(error: object) -> Iterator[int]:
    for word in map(str, _marks(error)):
        if len(word) == 3 and word.isascii() and word.isdigit() and "300" <= word <= "599":
            yield int(word)


def _marks(error: object) -> Iterator[object]:
    if isinstance(error, Mapping):
        yield from (error[key] for key in ("code", "type", "status") if error.get(key))


def _words(error: object, otherwise: str) -> str:
    said = error.get("message") if isinstance(error, Mapping) else error
    return said if isinstance(said, str) and said else otherwise


def _shown(what: str, words: str, secret: str) -> str:
    struck = words.replace(secret, "(key)") if secret else words
    return f"{what}: {clean(' '.join(struck.split()))[:MAX_WORDS]}"
