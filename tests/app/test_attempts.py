"""The recorder of the door: it never keeps a request waiting, and loses nothing while the database is away."""

import asyncio
import time

import pytest

from bot.app.attempts import AttemptLog
from bot.errors import DatabaseUnavailableError
from storage import attempts
from storage.attempts import AttemptRow
from storage.engine import Database

LIMIT = 20


def row(number: int) -> AttemptRow:
    return AttemptRow("req-read00001", number, "GET", "http://site/a", "127.0.0.1", 200, "answered")


class Away(Database):
    """A database that is away for its first transactions."""

    missing = 3

    def transaction(self):
        if self.missing:
            self.missing -= 1
            raise DatabaseUnavailableError("away")
        return super().transaction()


@pytest.fixture
async def planned(desk):
    await desk.calls(await desk.is_asked(), "read00001")


async def numbers(database):
    async with database.transaction() as tx:
        found = await attempts.of_calls(tx, ["req-read00001"])
    return [each.attempt for each in found.get("req-read00001", [])]


async def test_what_is_taken_in_is_written(planned, database):
    log = AttemptLog(database)
    for number in range(1, 101):
        log.record(row(number))

    await asyncio.wait_for(log.written(), LIMIT)

    assert await numbers(database) == list(range(1, 101))


async def test_taking_in_costs_a_request_less_than_a_millisecond(planned, database):
    log, took = AttemptLog(database), []

    for number in range(1, 1001):
        began = time.perf_counter()
        log.record(row(number))
        took.append(time.perf_counter() - began)
    await asyncio.wait_for(log.written(), LIMIT)

    assert sorted(took)[len(took) // 2] < 0.001


async def test_rows_wait_for_a_database_that_is_away(planned, database_url):
    away = Away(database_url)
    log = AttemptLog(away, pause_s=0.001)

    log.record(row(1))
    log.record(row(2))
    await asyncio.wait_for(log.written(), LIMIT)

    assert (away.missing, await numbers(away)) == (0, [1, 2])
    await away.close()


async def test_rows_that_come_later_start_the_writer_again(planned, database):
    log = AttemptLog(database)
    log.record(row(1))
    await asyncio.wait_for(log.written(), LIMIT)

    log.record(row(2))
    await asyncio.wait_for(log.written(), LIMIT)

    assert await numbers(database) == [1, 2]


async def test_the_oldest_are_let_go_where_too_many_wait(planned, database):
    log = AttemptLog(database, most=2)

    for number in range(1, 5):
        log.record(row(number))
    await asyncio.wait_for(log.written(), LIMIT)

    assert await numbers(database) == [3, 4]


async def test_the_end_of_a_process_writes_what_waits(planned, database):
    log = AttemptLog(database)
    log.record(row(1))

    await asyncio.wait_for(log.close(), LIMIT)

    assert await numbers(database) == [1]
