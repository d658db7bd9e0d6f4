"""One row an HTTP request, written once, whatever is repeated."""

from dataclasses import replace

import pytest

from storage import attempts
from storage.attempts import AttemptRow

ROW = AttemptRow("req-read00001", 1, "GET", "http://site/a", "127.0.0.1", 200, "answered", "site", 12, 345)


@pytest.fixture
async def planned(desk):
    await desk.calls(await desk.is_asked(), "read00001", "read00002")
    return desk


async def added(database, *rows):
    async with database.transaction() as tx:
        await attempts.add(tx, rows)


async def of(database, *request_ids):
    async with database.transaction() as tx:
        return await attempts.of_calls(tx, request_ids)


async def test_the_attempts_of_a_call_come_back_as_they_were_in_order(planned, database):
    second = replace(ROW, attempt=2, url="http://site/b", status=None, outcome="failed", address=None)

    await added(database, second, ROW)

    assert await of(database, "req-read00001", "req-read00002") == {"req-read00001": [ROW, second]}


async def test_an_attempt_that_is_written_again_stays_as_it_was(planned, database):
    await added(database, ROW)

    await added(database, replace(ROW, status=500), replace(ROW, attempt=2))

    assert [(row.attempt, row.status) for row in (await of(database, ROW.request_id))[ROW.request_id]] == [
        (1, 200),
        (2, 200),
    ]


async def test_an_attempt_of_a_call_that_nobody_planned_keeps_no_other_out(planned, database):
    await added(database, replace(ROW, request_id="nobody"), ROW)

    assert await of(database, "nobody", ROW.request_id) == {ROW.request_id: [ROW]}


async def test_a_text_that_the_database_refuses_is_made_storable(planned, database):
    await added(database, replace(ROW, url="http://site/\x00\ud800"))

    assert (await of(database, ROW.request_id))[ROW.request_id][0].url == "http://site/\ufffd\ufffd"
