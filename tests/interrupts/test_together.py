"""Work side by side, and work that is done whole: one error comes out as it is, and nobody is left at work."""

import asyncio

import pytest

from bot.errors import DatabaseBusyError, DatabaseUnavailableError
from bot.interrupts.races import to_the_end, together
from tests.interrupts.work import Work, tick

LIMIT = 10.0


@pytest.mark.parametrize("times", [0, 1, 3])
async def test_short_work_is_done_whole_however_often_its_caller_is_cancelled(times, complaints):
    work = Work()
    caller = asyncio.ensure_future(to_the_end(work.run()))
    await work.began.wait()

    for _ in range(times):
        caller.cancel()
        await tick()
    work.may_end.set()
    await asyncio.wait({caller}, timeout=LIMIT)

    assert (work.cancelled, work.over.is_set()) == (0, True)
    assert caller.cancelled() if times else caller.result() == "whole"


async def test_short_work_that_breaks_raises_its_error(complaints):
    work = Work(breaks=ValueError("broken"))
    work.may_end.set()

    with pytest.raises(ValueError, match="broken"):
        await to_the_end(work.run())


async def test_pieces_side_by_side_are_over_when_all_are_and_end_what_was_beside_them(complaints):
    pieces, beside = [Work(), Work()], Work()
    running = asyncio.ensure_future(together([each.run() for each in pieces], [beside.run()]))
    await pieces[1].began.wait()

    pieces[0].may_end.set()
    await tick()
    one_is_not_enough = not running.done()
    pieces[1].may_end.set()
    await asyncio.wait_for(running, LIMIT)

    assert one_is_not_enough
    assert (beside.cancelled, beside.over.is_set()) == (1, True)


@pytest.mark.parametrize("error", [DatabaseUnavailableError("away"), DatabaseBusyError("busy"), ValueError("ours")])
async def test_the_error_of_one_piece_is_raised_as_it_is_and_ends_the_others(error, complaints):
    pieces, beside = [Work(breaks=error), Work()], Work()
    running = asyncio.ensure_future(together([each.run() for each in pieces], [beside.run()]))
    await pieces[1].began.wait()

    pieces[0].may_end.set()

    with pytest.raises(type(error)) as raised:
        await asyncio.wait_for(running, LIMIT)
    assert raised.value is error
    assert (pieces[1].cancelled, beside.cancelled) == (1, 1)


async def test_an_outage_is_told_before_any_other_error(complaints):
    pieces = [
        Work(breaks=DatabaseUnavailableError("away")),
        Work(breaks_when_cancelled=ValueError("a consequence")),
    ]
    others = [Work(breaks_when_cancelled=ValueError("another"))]
    running = asyncio.ensure_future(together([each.run() for each in pieces], [each.run() for each in others]))
    await pieces[1].began.wait()

    pieces[0].may_end.set()

    with pytest.raises(DatabaseUnavailableError):
        await asyncio.wait_for(running, LIMIT)


async def test_what_breaks_beside_the_pieces_ends_them_too(complaints):
    piece, beside = Work(), Work(breaks=DatabaseUnavailableError("away"))
    running = asyncio.ensure_future(together([piece.run()], [beside.run()]))
    await piece.began.wait()

    beside.may_end.set()

    with pytest.raises(DatabaseUnavailableError):
        await asyncio.wait_for(running, LIMIT)
    assert piece.cancelled == 1


async def test_a_cancellation_stays_one_though_pieces_break_while_they_let_go(complaints):
    piece, beside = Work(breaks_when_cancelled=ValueError("a consequence")), Work()
    running = asyncio.ensure_future(together([piece.run()], [beside.run()]))
    await piece.began.wait()

    running.cancel()

    await asyncio.wait({running}, timeout=LIMIT)
    assert running.cancelled()
