"""From the body of a request to an order for a run. Pure: every body has an order or a clear refusal."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from bot.api.replies import RefusedError
from bot.rules.terms import InterruptKind, InterruptScope

Word = TypeVar("Word", bound=StrEnum)

KINDS = (InterruptKind.STOP, InterruptKind.PAUSE)
"""What may be asked for here; a steer is a message in the thread, and a rollback names a step of the card."""
FIELDS = frozenset({"kind", "scope", "reason", "id"})
LONGEST_KEY = 200
LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller wants; `key` names the request where the caller named it, so that a repeat is no second one."""

    kind: InterruptKind
    scope: InterruptScope
    reason: str
    key: str | None

    def id_or(self, fresh: str) -> str:
        """The id of the order: always the same for the same key."""
        return f"api-{hashlib.sha256(self.key.encode()).hexdigest()[:32]}" if self.key is not None else fresh


def wanted(body: bytes, key_header: str | None) -> Wanted:
    """What this body asks for; raises RefusedError."""
    fields = _object(body)
    strange = sorted(fields.keys() - FIELDS)
    if strange:
        raise _bad(
            "unknown_field", f"{strange[0][:40]!r} is not understood; the fields are {', '.join(sorted(FIELDS))}."
        )
    if "kind" not in fields:
        raise _bad("kind_missing", f'Say what to do: "kind" is {_either(KINDS)}.')
    kind = _one_of("kind", fields["kind"], KINDS)
    scope = _one_of("scope", fields.get("scope", InterruptScope.FAMILY), tuple(InterruptScope))
    reason = _text("reason", fields.get("reason", ""), LONGEST_REASON)
    return Wanted(kind, scope, reason, _key(fields, key_header))


def _object(body: bytes) -> Mapping[str, object]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _bad("not_json", 'The body is no JSON. Send for example {"kind": "stop"}.') from error
    if not isinstance(parsed, dict):
        raise _bad("not_an_object", 'The body is no JSON object. Send for example {"kind": "stop"}.')
    return parsed


def _key(fields: Mapping[str, object], header: str | None) -> str | None:
    """The header and the body may both name the request, but not differently."""
    named = [_text("Idempotency-Key", header, LONGEST_KEY)] if header is not None else []
    if "id" in fields:
        named.append(_text("id", fields["id"], LONGEST_KEY))
    if any(not each for each in named):
        raise _bad("empty_key", "The name of a request cannot be empty.")
    if len(set(named)) > 1:
        raise _bad("two_keys", '"id" and Idempotency-Key name the request differently.')
    return named[0] if named else None


def _one_of(name: str, value: object, allowed: Sequence[Word]) -> Word:
    for each in allowed:
        if value == each.value:
            return each
    raise _bad(f"bad_{name}", f'"{name}" is {_either(allowed)}.')


def _text(name: str, value: object, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise _bad("bad_text", f"{name} is a text of at most {longest} characters.")
    if "\x00" in value:
        raise _bad("bad_text", f"{name} has a NUL in it, which cannot be stored.")
    return value.strip()


def _either(words: Sequence[StrEnum]) -> str:
    return " or ".join(f'"{each.value}"' for each in words)


def _bad(code: str, says: str) -> RefusedError:
    return RefusedError(400, code, says)
