"""Cards: level-triggered, leased for one call, and never left with an older state on top."""

import pytest

from storage import cards

LEASE = {"lease_s": 20.0, "interval_s": 3.0}


@pytest.fixture
async def run_id(desk):
    """A run with a card that was posted."""
    claimed = await desk.is_asked()
    await desk.raw.execute("update cards set ts = '1.1'")
    return claimed.run.id


async def lease(desk, token="a", **other):
    async with desk.database.transaction() as tx:
        return await cards.lease(tx, token, **(LEASE | other))


async def painted(desk, leased, repaint_s=None):
    async with desk.database.transaction() as tx:
        return await cards.painted(tx, leased, repaint_s=repaint_s)


async def bump(desk, run_id, *, at_once=True):
    async with desk.database.transaction() as tx:
        await cards.bump(tx, run_id, at_once=at_once)


async def is_wanted(desk):
    return await desk.value("select wanted_rev > painted_rev from cards")


async def is_due(desk):
    return await desk.value("select wanted_rev > painted_rev and next_at <= clock_timestamp() from cards")


async def test_a_card_is_leased_by_one_painter_at_a_time(desk, run_id):
    first = await lease(desk, "a")

    second = await lease(desk, "b")

    assert first.run_id == run_id
    assert second is None


async def test_a_painted_card_is_not_due_until_something_changes(desk, run_id):
    leased = await lease(desk)
    assert await painted(desk, leased)
    nothing = await lease(desk)

    await bump(desk, run_id)

    assert nothing is None
    assert await lease(desk) is not None


async def test_progress_waits_for_the_interval_and_a_change_of_state_does_not(desk, run_id):
    await painted(desk, await lease(desk))

    await bump(desk, run_id, at_once=False)
    progress = await is_due(desk)
    await bump(desk, run_id, at_once=True)

    assert progress is False
    assert await is_due(desk) is True


async def test_progress_during_the_call_waits_for_the_interval_too(desk, run_id):
    leased = await lease(desk)
    await bump(desk, run_id, at_once=False)

    await painted(desk, leased)

    assert await is_wanted(desk) is True
    assert await is_due(desk) is False


async def test_a_change_of_state_during_the_call_is_painted_at_once_after_it(desk, run_id):
    leased = await lease(desk)
    await bump(desk, run_id)

    await painted(desk, leased)

    assert await is_due(desk) is True


async def test_a_painter_whose_lease_ran_out_does_not_count_and_has_the_newest_painted_again(desk, run_id):
    slow = await lease(desk, "slow", lease_s=0)
    await bump(desk, run_id)
    quick = await lease(desk, "quick")
    await painted(desk, quick)

    counted = await painted(desk, slow)

    assert counted is False
    assert await desk.value("select painted_rev from cards") == quick.wanted_rev
    assert await is_due(desk) is True


async def test_a_painter_that_comes_late_while_another_paints_does_not_end_its_lease(desk, run_id):
    slow = await lease(desk, "slow", lease_s=0, interval_s=0)
    quick = await lease(desk, "quick", interval_s=0)

    await painted(desk, slow)

    assert await lease(desk, "third") is None
    assert await painted(desk, quick) is True
    assert await is_wanted(desk) is True


async def test_a_call_without_an_answer_is_painted_again_after_a_while(desk, run_id):
    leased = await lease(desk)

    async with desk.database.transaction() as tx:
        await cards.unpainted(tx, leased, retry_s=0)

    assert (await lease(desk)).wanted_rev == leased.wanted_rev + 1


async def test_a_terminal_paint_is_repeated_once(desk, run_id):
    await painted(desk, await lease(desk), repaint_s=0)

    again = await lease(desk)
    await painted(desk, again)

    assert again.wanted_rev == again.painted_rev
    assert await lease(desk) is None


async def test_a_first_post_leaves_a_trace_before_the_call_so_that_its_successor_looks_first(desk):
    await desk.is_asked()
    first = await lease(desk, lease_s=0, interval_s=0)

    second = await lease(desk, "b")

    assert (first.ts, first.post_was_tried) == (None, False)
    assert (second.post_was_tried, second.tried_s is not None) == (True, True)


async def test_a_post_that_slack_has_refused_leaves_no_trace(desk):
    await desk.is_asked()
    leased = await lease(desk, interval_s=0)

    async with desk.database.transaction() as tx:
        await cards.not_posted(tx, leased)
        await cards.unpainted(tx, leased, retry_s=0)

    assert (await lease(desk)).post_was_tried is False


async def test_a_painter_that_lost_its_lease_wipes_no_trace_of_the_one_that_posts(desk):
    await desk.is_asked()
    slow = await lease(desk, "slow", lease_s=0, interval_s=0)
    quick = await lease(desk, "quick", lease_s=0, interval_s=0)

    async with desk.database.transaction() as tx:
        await cards.not_posted(tx, slow)
        await cards.gone(tx, slow, "channel_not_found")

    third = await lease(desk, "third")
    assert quick is not None
    assert third.post_was_tried is True


async def test_the_first_word_of_where_a_card_stands_counts(desk):
    claimed = await desk.is_asked()
    key = await desk.value("select post_key from cards")

    async with desk.database.transaction() as tx:
        await cards.posted(tx, key, "5.5")
        await cards.posted(tx, key, "6.6", "https://slack/p6")

    assert await desk.value("select (ts, permalink)::text from cards") == "(5.5,https://slack/p6)"
    async with desk.database.transaction() as tx:
        assert await cards.permalink(tx, claimed.run.id) == "https://slack/p6"


async def test_the_card_that_links_on_is_repainted_when_the_next_card_has_its_place(desk):
    claimed = await desk.is_asked()
    await desk.gives_back(claimed)
    await desk.says("ana", "look at DNS")
    await desk.raw.execute("update cards set painted_rev = wanted_rev")
    following = (await desk.run()).id

    async with desk.database.transaction() as tx:
        await cards.posted(tx, f"card:{following}", "5.5")

    wanted = await desk.rows("select run_id from cards where wanted_rev > painted_rev")
    assert [row[0] for row in wanted] == [claimed.run.id]


async def test_a_card_that_slack_will_never_show_is_left_alone_and_says_why(desk, run_id):
    leased = await lease(desk)

    async with desk.database.transaction() as tx:
        await cards.gone(tx, leased, "channel_not_found")
    await bump(desk, run_id)

    assert await lease(desk) is None
    assert await desk.value("select gone from cards") == "channel_not_found"


async def test_a_card_that_another_transaction_holds_is_passed_over(desk, run_id):
    await desk.is_asked(thread="2000.000000", at="2000.000000")

    async with desk.database.transaction() as holder:
        await cards.bump(holder, run_id, at_once=True)
        other = await lease(desk)

    assert other.run_id != run_id
