"""Work and what ends it: in every order and in the same instant, with work that will not let go, cancelled twice.

The tests count what began and what is left, and listen to the complaints of the event loop.
"""

import asyncio
import gc

import pytest
from structlog.testing import capture_logs

from bot.errors import ModelStreamError
from bot.interrupts.brake import HARD, Brake
from bot.interrupts.races import LETTING_GO_S, Done, unless, unless_pulled
from bot.rules.terms import InterruptKind
from tests.interrupts.work import Work, tick

LIMIT = 10.0
SOFT = [kind for kind in InterruptKind if kind not in HARD]


@pytest.mark.parametrize("kind", InterruptKind)
async def test_work_does_not_begin_when_the_brake_was_pulled_before(kind, complaints):
    brake, work = Brake(), Work()
    brake.pull(kind)

    done = await unless_pulled(brake, work.run())

    assert (done, work.began.is_set()) == (None, False)


async def test_work_does_not_begin_when_the_pull_comes_before_its_first_step(complaints):
    brake, work = Brake(), Work()
    racing = asyncio.ensure_future(unless_pulled(brake, work.run()))

    # Called after the race was set up, in the same turn of the event loop, and before the work's first step.
    asyncio.get_running_loop().call_soon(brake.pull, InterruptKind.STOP)
    done = await asyncio.wait_for(racing, LIMIT)

    assert (done, work.began.is_set()) == (None, False)


@pytest.mark.parametrize("kind", SOFT)
async def test_what_only_a_hard_pull_ends_is_begun_under_a_soft_one(kind, complaints):
    brake, work = Brake(), Work()
    brake.pull(kind)
    work.may_end.set()

    done = await unless_pulled(brake, work.run(), hard_only=True)

    assert done == Done("whole")


async def test_work_that_is_done_first_gives_its_value(complaints):
    brake, work = Brake(), Work()
    racing = asyncio.ensure_future(unless_pulled(brake, work.run()))
    await work.began.wait()

    work.may_end.set()

    assert await asyncio.wait_for(racing, LIMIT) == Done("whole")


async def test_work_that_breaks_first_raises_its_own_error(complaints):
    work = Work(breaks=ModelStreamError("broke off"))
    work.may_end.set()

    with pytest.raises(ModelStreamError, match="broke off"):
        await unless_pulled(Brake(), work.run())


@pytest.mark.parametrize("kind", InterruptKind)
async def test_a_pull_ends_running_work_at_once_and_cancels_it_once(kind, complaints):
    brake, work = Brake(), Work()
    racing = asyncio.ensure_future(unless_pulled(brake, work.run()))
    await work.began.wait()

    brake.pull(kind)

    assert await asyncio.wait_for(racing, LIMIT) is None
    assert work.cancelled == 1


async def test_work_that_ends_in_the_instant_of_the_pull_counts(complaints):
    brake, work = Brake(), Work()
    racing = asyncio.ensure_future(unless_pulled(brake, work.run()))
    await work.began.wait()

    work.may_end.set()
    brake.pull(InterruptKind.STOP)

    assert await asyncio.wait_for(racing, LIMIT) == Done("whole")


async def test_work_that_still_answers_while_it_lets_go_counts(complaints):
    brake, work = Brake(), Work(answers_when_cancelled=True)
    racing = asyncio.ensure_future(unless_pulled(brake, work.run()))
    await work.began.wait()

    brake.pull(InterruptKind.STOP)

    assert await asyncio.wait_for(racing, LIMIT) == Done("late")


async def test_an_error_while_letting_go_is_no_news_and_no_complaint(complaints):
    brake, work = Brake(), Work(breaks_when_cancelled=OSError("already closed"))
    racing = asyncio.ensure_future(unless_pulled(brake, work.run()))
    await work.began.wait()

    brake.pull(InterruptKind.STEER)

    assert await asyncio.wait_for(racing, LIMIT) is None


async def test_work_that_ignores_its_cancellation_is_left_behind_in_time_and_told_of(complaints):
    brake, work = Brake(), Work(stubborn=True)
    racing = asyncio.ensure_future(unless_pulled(brake, work.run()))
    await work.began.wait()

    with capture_logs() as log:
        brake.pull(InterruptKind.STOP)
        done = await asyncio.wait_for(racing, LETTING_GO_S * 10)

    assert (done, work.cancelled, work.over.is_set()) == (None, 1, False)
    assert [each["event"] for each in log] == ["work.left_behind"]
    work.may_end.set()
    await asyncio.wait_for(work.over.wait(), LIMIT)


async def test_work_that_was_left_behind_is_kept_until_it_is_over_even_if_it_then_breaks(complaints):
    brake, work = Brake(), Work(stubborn=True, breaks=OSError("much later"))
    racing = asyncio.ensure_future(unless_pulled(brake, work.run()))
    await work.began.wait()
    brake.pull(InterruptKind.STOP)
    await asyncio.wait_for(racing, LIMIT)
    del racing

    gc.collect()
    work.may_end.set()

    await asyncio.wait_for(work.over.wait(), LIMIT)


async def test_a_caller_that_is_cancelled_waits_until_its_work_has_let_go(complaints):
    work = Work()
    racing = asyncio.ensure_future(unless_pulled(Brake(), work.run()))
    await work.began.wait()

    racing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await racing
    assert (work.over.is_set(), work.cancelled) == (True, 1)


async def test_a_caller_that_is_cancelled_is_not_held_by_work_that_ignores_it(complaints):
    work = Work(stubborn=True)
    racing = asyncio.ensure_future(unless_pulled(Brake(), work.run()))
    await work.began.wait()

    racing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(racing, LETTING_GO_S * 10)
    work.may_end.set()
    await asyncio.wait_for(work.over.wait(), LIMIT)


async def test_a_caller_that_is_cancelled_twice_in_one_instant_leaves_nothing_behind(complaints):
    work = Work()
    racing = asyncio.ensure_future(unless_pulled(Brake(), work.run()))
    await work.began.wait()

    racing.cancel()
    racing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await racing
    assert (work.over.is_set(), work.cancelled) == (True, 1)


async def test_a_caller_that_is_cancelled_again_while_its_work_lets_go_ends_at_once(complaints):
    work = Work(stubborn=True)
    racing = asyncio.ensure_future(unless_pulled(Brake(), work.run()))
    await work.began.wait()

    racing.cancel()
    while not work.cancelled:
        await tick()
    racing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(racing, LIMIT)
    work.may_end.set()
    await asyncio.wait_for(work.over.wait(), LIMIT)


async def test_a_caller_that_is_cancelled_as_its_work_begins_leaves_nothing_behind(complaints):
    work = Work()
    racing = asyncio.ensure_future(unless_pulled(Brake(), work.run()))

    asyncio.get_running_loop().call_soon(racing.cancel)

    with pytest.raises(asyncio.CancelledError):
        await racing
    assert work.began.is_set() == work.over.is_set()


async def test_work_whose_task_is_cancelled_before_its_first_step_is_closed(complaints):
    work = Work()
    racing = asyncio.ensure_future(unless_pulled(Brake(), work.run()))

    def cancel_everything():
        for task in asyncio.all_tasks() - {asyncio.current_task(), here}:
            task.cancel()

    here = asyncio.current_task()
    asyncio.get_running_loop().call_soon(cancel_everything)

    with pytest.raises(asyncio.CancelledError):
        await racing
    assert not work.began.is_set()


async def test_a_pull_and_a_cancellation_in_one_instant_end_the_work_once(complaints):
    brake, work = Brake(), Work()
    racing = asyncio.ensure_future(unless_pulled(brake, work.run()))
    await work.began.wait()

    brake.pull(InterruptKind.STOP)
    racing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await racing
    assert (work.over.is_set(), work.cancelled) == (True, 1)


async def test_work_that_somebody_else_cancels_is_an_error_and_not_our_own_cancellation(complaints):
    async def cancels_itself():
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="did not begin it"):
        await unless_pulled(Brake(), cancels_itself())


@pytest.mark.parametrize("given", [0, 1, 2])
async def test_any_of_several_signals_ends_the_work(given, complaints):
    signals, work = [asyncio.Event() for _ in range(3)], Work()
    racing = asyncio.ensure_future(unless(work.run(), *signals))
    await work.began.wait()

    signals[given].set()

    assert await asyncio.wait_for(racing, LIMIT) is None


def test_letting_go_takes_less_than_the_time_in_which_a_stop_must_be_seen():
    assert LETTING_GO_S <= 1.0
