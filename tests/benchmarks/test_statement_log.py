"""Counting statements in PostgreSQL's log."""

import asyncpg

from benchmarks.statement_log import counted, groups

CHECK = """11|LOG:  statement: BEGIN;
11|LOG:  execute __asyncpg_stmt_1__: ;
11|LOG:  statement: ROLLBACK;
"""
WORK = """11|LOG:  statement: BEGIN;
12|LOG:  statement: BEGIN;
11|LOG:  execute __asyncpg_stmt_2__: SELECT id
\tFROM threads
11|DETAIL:  Parameters: $1 = 'thread-1'
12|LOG:  execute __asyncpg_stmt_9__: UPDATE workers
12|DETAIL:  Parameters: $1 = 'worker-1'
11|LOG:  statement: COMMIT;
12|LOG:  statement: COMMIT;
"""


def test_statements_are_told_apart_by_process():
    found = groups(WORK)

    assert [len(group.statements) for group in found] == [3, 3]
    assert found[0].statements[1] == "SELECT id FROM threads"


def test_the_check_of_a_connection_counts_with_the_transaction_that_follows_it():
    found = groups(CHECK + WORK)

    assert [len(group.statements) for group in found] == [6, 3]


def test_only_what_names_an_id_is_counted():
    found = counted(CHECK + WORK, ["thread-1"])

    assert (found.statements, found.transactions) == (6, 1)
    assert counted(WORK, ["thread"]).statements == 0


def test_what_has_not_ended_is_not_counted():
    found = groups(WORK.rpartition("11|LOG:  statement: COMMIT;")[0])

    assert found == []


async def test_the_servers_own_log_says_how_many_statements_there_were(place):
    url = await place.fresh()
    await place.log_statements(True)
    connection = await asyncpg.connect(url)

    async with connection.transaction():
        await connection.fetchval("select $1::text", "id-of-a-run")
        await connection.fetchval("select $1::text", "something else")
    await connection.close()

    found = counted(place.log.read_text(encoding="utf-8"), ["id-of-a-run"])
    assert (found.statements, found.transactions) == (4, 1)
