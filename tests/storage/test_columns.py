"""Any text is storable, in every column there is, and Slack's times stay exact."""

import json
from decimal import Decimal

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from storage.columns import MAX_DEPTH, MAX_TEXT, SafeJson, SafeText, SlackTs, storable, storable_json
from storage.oversight_tables import schema

POISON = "a\x00b\ud800c\udfffd"
CLEAN = "a\ufffdb\ufffdc\ufffdd"
TEXTS = [column for table in schema.tables.values() for column in table.c if isinstance(column.type, SafeText)]
JSONS = [column for table in schema.tables.values() for column in table.c if isinstance(column.type, SafeJson)]


def nested(levels: int) -> object:
    value: object = "deep"
    for _ in range(levels):
        value = [value]
    return value


def test_no_column_takes_text_or_json_that_was_not_made_storable():
    columns = [column for table in schema.tables.values() for column in table.c]

    plain = [str(each) for each in columns if isinstance(each.type, sa.Text | sa.JSON)]

    assert plain == []
    assert len(TEXTS) > 120
    assert len(JSONS) == 8


@pytest.mark.parametrize("value", [POISON, "x" * (MAX_TEXT + 5), "\u202e\u200b\x1b[31m<!channel>```", "", "\n" * 9999])
async def test_every_text_column_takes_every_text(database, value):
    for column in TEXTS:
        async with database.transaction() as tx:
            stored = (await tx.execute(sa.select(sa.cast(sa.literal(value, column.type), sa.Text)))).scalar_one()

        assert stored == storable(value), str(column)


async def test_every_json_column_takes_every_value(database):
    value = {POISON: [POISON, float("nan"), float("-inf"), 10**5000, 1e308, True, None, "x" * (MAX_TEXT + 1)]}
    for column in JSONS:
        async with database.transaction() as tx:
            stored = (await tx.execute(sa.select(sa.cast(sa.literal(value, column.type), column.type)))).scalar_one()

        items = stored[CLEAN]
        assert items[:3] == [CLEAN, "nan", "-inf"], str(column)
        assert items[3] == "[a number of more than 100 digits]"
        assert (float(items[4]), items[5:7]) == (1e308, [True, None])
        assert len(items[7]) < MAX_TEXT + 100


async def test_a_value_that_is_nested_without_end_is_cut_and_stored(database):
    deep = {"arguments": nested(10_000)}

    async with database.transaction() as tx:
        stored = (await tx.execute(sa.select(sa.cast(sa.literal(deep, SafeJson()), SafeJson())))).scalar_one()

    assert f"[nested deeper than {MAX_DEPTH} levels]" in json.dumps(stored)


def test_a_text_that_is_too_long_says_how_much_was_left_out():
    long = storable("x" * (MAX_TEXT + 7))

    assert long.endswith("[7 more characters were left out]")
    assert len(long) < MAX_TEXT + 50


def test_a_clean_text_is_left_alone():
    text = "grün \U0001f600 \u202e \x1b[31m"

    assert storable(text) is text


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda each: st.lists(each)))
def test_what_was_made_storable_is_json_and_stays_as_it_is_when_made_storable_again(value):
    once = storable_json(value)

    json.dumps(once, allow_nan=False)
    assert storable_json(once) == once


def test_what_json_does_not_know_becomes_text():
    assert storable_json({
        "at": Decimal("1.5"),
        7: {
            "a",
        }.__class__.__name__,
    }) == {"at": "1.5", "7": "set"}


async def test_a_slack_time_keeps_all_its_digits_and_is_ordered_as_a_number(database):
    async with database.transaction() as tx:
        exact = sa.cast(sa.literal("1700000000.123456", SlackTs()), sa.Text)
        is_ordered = sa.literal("999.9", SlackTs()) < sa.literal("1000.1", SlackTs())
        row = (await tx.execute(sa.select(exact, is_ordered))).one()

    assert tuple(row) == ("1700000000.123456", True)


async def test_nothing_is_stored_as_nothing(database):
    async with database.transaction() as tx:
        row = sa.select(
            sa.literal(None, SafeJson()).is_(None),
            sa.literal(None, SafeText()).is_(None),
            sa.literal(None, SlackTs()).is_(None),
        )
        stored = (await tx.execute(row)).one()

    assert tuple(stored) == (True, True, True)
