"""Column types that make any text storable, and Slack's timestamps exact.

This is the one place where text is made safe for PostgreSQL: it refuses NUL and lone surrogates, in text and in
JSON, and one such character in a tool's answer would otherwise fail the whole transaction.
"""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

MAX_TEXT = 200_000
"""Characters of one text; PostgreSQL takes 200 MB in one value and needs seven seconds for it (measured)."""


MAX_DEPTH = 60
"""Levels of a JSON value; the model may nest deeper than Python can follow."""

MAX_NUMBER = 10**100
"""A whole number beyond it becomes text: jsonb refuses very long ones, and so does Python's own encoder."""

_REFUSED = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Replace what PostgreSQL refuses by U+FFFD and cut what is too long, saying how much was left out."""
    text = _REFUSED.sub("\ufffd", text)
    if len(text) > MAX_TEXT:
        return f"{text[:MAX_TEXT]}\n[{len(text) - MAX_TEXT} more characters were left out]"
    return text


def storable_json(value: object, depth: int = 0) -> object:
    """The same for every text inside a JSON value; numbers that jsonb refuses (NaN, infinities) become text."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping | list | tuple) and depth == MAX_DEPTH:
        return f"[nested deeper than {MAX_DEPTH} levels]"
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(each, depth + 1) for each in value]
    return _storable_number(value)


def _storable_number(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not -MAX_NUMBER < value < MAX_NUMBER:
        return "[a number of more than 100 digits]"
    return value if value is None or isinstance(value, bool | int | float) else storable(str(value))


class SafeText(sa.types.TypeDecorator[str]):
    """Text that is made storable on its way in."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Clean one value."""
        return None if value is None else storable(str(value))


class SafeJson(sa.types.TypeDecorator[Any]):
    """JSON whose texts are made storable on their way in."""

    impl = JSONB(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: object, dialect: sa.Dialect) -> object:
        """Clean one value."""
        return None if value is None else storable_json(value)


class SlackTs(sa.types.TypeDecorator[Decimal]):
    """A Slack timestamp: a string outside, a number here, so that the database orders it as Slack does."""

    impl = sa.Numeric(20, 6)
    cache_ok = True

    def process_bind_param(self, value: str | Decimal | None, dialect: sa.Dialect) -> Decimal | None:
        """To a number."""
        return None if value is None else Decimal(value)


def time_column(name: str, *, now: bool = False) -> sa.Column[Any]:
    """A moment, by the database's clock."""
    default = sa.text("clock_timestamp()") if now else None
    return sa.Column(name, sa.TIMESTAMP(timezone=True), nullable=not now, server_default=default)


def text_column(name: str, *, null: bool = False, default: str | None = None) -> sa.Column[Any]:
    """A text."""
    return sa.Column(name, SafeText, nullable=null, server_default=default)


def number_column(name: str, *, null: bool = False, default: int | None = 0) -> sa.Column[Any]:
    """A whole number."""
    given = None if null or default is None else str(default)
    return sa.Column(name, sa.BigInteger, nullable=null, server_default=given)


def flag_column(name: str) -> sa.Column[Any]:
    """Yes or no; no unless said otherwise."""
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())


def key_column(name: str = "id") -> sa.Column[Any]:
    """An id of our own, minted outside."""
    return sa.Column(name, SafeText, primary_key=True)


def reference_column(name: str, target: str, *, null: bool = False, key: bool = False) -> sa.Column[Any]:
    """The id of a row of another table."""
    return sa.Column(name, SafeText, sa.ForeignKey(target), nullable=null, primary_key=key)
