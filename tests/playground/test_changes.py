"""Waiting for a change without looking again and again."""

import asyncio

import pytest

from bot.playground.changes import Changes


async def test_who_waits_gets_what_it_sees_once_that_is_true():
    changes, seen = Changes(), []

    waiting = asyncio.create_task(changes.wait_for(lambda: len(seen) == 2 and seen, 5))
    for word in ("first", "second"):
        await asyncio.wait_for(changes.after(changes.count - 1), 1)
        seen.append(word)
        changes.notify()

    assert await waiting == ["first", "second"]


async def test_what_is_true_already_is_not_waited_for():
    changes = Changes()

    seen = await changes.wait_for(lambda: "there", 1)

    assert seen == "there"


async def test_what_never_becomes_true_ends_in_a_timeout():
    changes = Changes()

    with pytest.raises(TimeoutError):
        await changes.wait_for(lambda: False, 0.01)


async def test_a_change_that_came_before_is_not_missed():
    changes = Changes()
    before = changes.count
    changes.notify()

    count = await asyncio.wait_for(changes.after(before), 1)

    assert count == before + 1


async def test_everybody_who_waits_is_woken():
    changes = Changes()
    waiting = [asyncio.create_task(changes.after(0)) for _ in range(3)]
    woken = asyncio.gather(*waiting)

    asyncio.get_running_loop().call_soon(changes.notify)

    assert await asyncio.wait_for(woken, 1) == [1, 1, 1]
