"""The place of a queued run in the line, and the repainting of the cards that show it."""

from storage import card_facts, queue_places
from tests.storage.desk import ts

UNPAINTED = "select run_id from cards where wanted_rev > painted_rev"


async def waits(desk, number):
    """A run that waits in a thread of its own."""
    await desk.says("ana", "why?", mention=True, thread=ts(number), at=ts(number))
    return await desk.value("select id from runs order by seq desc limit 1")


async def places(desk):
    async with desk.database.transaction() as tx:
        return await queue_places.places(tx)


async def test_the_places_are_those_that_the_cards_show(desk):
    runs = [await waits(desk, number) for number in (1, 2, 3)]

    found = await places(desk)

    assert found == {runs[0]: 1, runs[1]: 2, runs[2]: 3}
    for run_id, place in found.items():
        async with desk.database.transaction() as tx:
            assert (await card_facts.of_run(tx, run_id)).queue_position == place


async def test_a_run_that_is_at_work_has_no_place(desk):
    runs = [await waits(desk, number) for number in (1, 2)]
    await desk.claims()

    assert await places(desk) == {runs[1]: 1}


async def test_a_run_that_goes_on_has_no_place_and_others_stand_behind_it(desk):
    await waits(desk, 1)
    claimed = await desk.claims()
    await desk.gives_back(claimed)
    later = await waits(desk, 2)

    assert await places(desk) == {later: 2}


async def test_only_the_cards_that_are_named_are_repainted(desk):
    first, second = [await waits(desk, number) for number in (1, 2)]
    await desk.raw.execute("update cards set painted_rev = wanted_rev")

    async with desk.database.transaction() as tx:
        asked = await queue_places.repaint(tx, {second, "nobody"})

    assert asked == {second}
    assert [row[0] for row in await desk.rows(UNPAINTED)] == [second]
    assert first != second


async def test_a_card_that_is_being_written_is_not_waited_for(desk):
    first, second = [await waits(desk, number) for number in (1, 2)]
    holder = desk.raw.transaction()
    await holder.start()
    await desk.raw.execute("select 1 from cards where run_id = $1 for update", first)

    async with desk.database.transaction() as tx:
        asked = await queue_places.repaint(tx, {first, second})
    await holder.rollback()

    assert asked == {second}
