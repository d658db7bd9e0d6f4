"""A pause that gets long: its thread is told a day before it ends, once, and the card says it too."""

import pytest

from storage import card_facts, pauses
from tests.storage.desk import ROOT

LIMIT_S = 72 * 3600.0
AFTER_S = pauses.remind_after(LIMIT_S)


async def paused(desk):
    claimed = await desk.is_asked()
    await desk.says("ana", "pause")
    await desk.probes(claimed)
    return claimed.run.id


async def lies_for(desk, run_id, hours):
    await desk.passes("runs set parked_at = parked_at", "id", run_id, minutes=60 * hours)


async def reminds(desk):
    """Some process looks for pauses whose threads are to be told."""
    async with desk.database.transaction() as tx:
        due = await pauses.to_remind(tx, AFTER_S)
    told = []
    for each in due:
        async with desk.database.transaction() as tx:
            told.append(await pauses.remind(tx, *each, AFTER_S, desk.means.mint_id()))
    return told


async def posts(desk):
    return [tuple(row) for row in await desk.rows("select thread_ts, split_part(kind, ':', 1), body from posts")]


@pytest.mark.parametrize(("hours", "after"), [(72, 48 * 3600.0), (24, None), (1, None), (24.5, 1800.0)])
def test_a_pause_is_announced_a_day_before_its_end_if_it_lasts_so_long(hours, after):
    assert pauses.remind_after(hours * 3600.0) == after


async def test_the_thread_of_a_long_pause_is_told_once(desk):
    run_id = await paused(desk)
    await lies_for(desk, run_id, 47)
    early = await reminds(desk)
    await lies_for(desk, run_id, 2)

    told = [await reminds(desk), await reminds(desk)]

    assert (early, told) == ([], [[True], []])
    ((thread_ts, kind, body),) = await posts(desk)
    assert (thread_ts, kind) == (ROOT, "reminder")
    assert "ends by itself in 24 hours" in body


async def test_two_processes_tell_a_thread_once(desk):
    run_id = await paused(desk)
    await lies_for(desk, run_id, 49)
    async with desk.database.transaction() as tx:
        ((thread_id, _),) = await pauses.to_remind(tx, AFTER_S)
    await reminds(desk)

    async with desk.database.transaction() as tx:
        again = await pauses.remind(tx, thread_id, run_id, AFTER_S, "another")

    assert again is False
    assert len(await posts(desk)) == 1


async def test_the_card_of_a_pause_says_that_it_was_announced(desk):
    run_id = await paused(desk)
    await lies_for(desk, run_id, 49)
    await desk.raw.execute("update cards set painted_rev = wanted_rev")

    await reminds(desk)

    async with desk.database.transaction() as tx:
        assert (await card_facts.of_run(tx, run_id)).is_reminded
    assert await desk.value("select wanted_rev > painted_rev from cards")


async def test_a_run_that_was_resumed_is_announced_anew_at_its_next_long_pause(desk):
    run_id = await paused(desk)
    await lies_for(desk, run_id, 49)
    await reminds(desk)
    await desk.says("ana", "resume")
    claimed = await desk.claims()
    await desk.says("ana", "pause")
    await desk.probes(claimed)
    fresh = await reminds(desk)
    await lies_for(desk, run_id, 49)

    again = await reminds(desk)

    assert (fresh, again) == ([], [True])
    assert len(await posts(desk)) == 2


async def test_a_run_that_goes_on_is_not_announced(desk):
    await desk.is_asked()

    assert await reminds(desk) == []
