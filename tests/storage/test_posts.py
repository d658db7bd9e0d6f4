"""The outbox: one row, one post, the parts of an answer in their order."""

import pytest

from storage import posts
from storage.posts import NewPost
from storage.threads import Place

PLACE = Place("T1", "C1", "1000.000000")


@pytest.fixture
async def run_id(desk):
    """A run with an answer of two parts to post."""
    claimed = await desk.is_asked()
    async with desk.database.transaction() as tx:
        for part in (1, 0):
            await posts.add(tx, NewPost(f"key{part}", claimed.run.id, "answer", part, PLACE, f"part {part}"))
    return claimed.run.id


async def lease(desk, token="a", lease_s=20.0):
    async with desk.database.transaction() as tx:
        return await posts.lease(tx, token, lease_s)


async def sent(desk, key, ts="5.5", permalink=None):
    async with desk.database.transaction() as tx:
        await posts.sent(tx, key, ts, permalink)


async def test_the_parts_of_an_answer_are_posted_in_their_order(desk, run_id):
    first, too_early = await lease(desk, "a"), await lease(desk, "b")
    await sent(desk, first.post_key)

    second = await lease(desk, "c")

    assert (first.part, too_early, second.part) == (0, None, 1)


async def test_the_same_part_added_again_is_the_same_post(desk, run_id):
    async with desk.database.transaction() as tx:
        await posts.add(tx, NewPost("another key", run_id, "answer", 0, PLACE, "again"))

    assert await desk.value("select count(*) from posts") == 2


async def test_a_post_whose_painter_was_lost_is_leased_again_and_looked_for_first(desk, run_id):
    await lease(desk, lease_s=0)

    again = await lease(desk, "b")

    assert (again.was_tried, again.tries) == (True, 2)


async def test_a_post_that_slack_has_refused_for_now_is_not_looked_for(desk, run_id):
    leased = await lease(desk)

    async with desk.database.transaction() as tx:
        await posts.later(tx, leased, retry_s=0, refused=True)

    assert (await lease(desk)).was_tried is False


async def test_a_post_without_an_answer_is_looked_for_when_it_is_tried_again(desk, run_id):
    leased = await lease(desk)

    async with desk.database.transaction() as tx:
        await posts.later(tx, leased, retry_s=0, refused=False)

    assert (await lease(desk)).was_tried is True


async def test_a_painter_that_lost_its_lease_changes_nothing(desk, run_id):
    slow = await lease(desk, "slow", lease_s=0)
    await lease(desk, "quick")

    async with desk.database.transaction() as tx:
        await posts.failed(tx, slow, "channel_not_found")
        await posts.later(tx, slow, retry_s=0, refused=True)

    assert await desk.value("select (state, token)::text from posts where part = 0") == "(waiting,quick)"


async def test_a_post_that_slack_will_never_take_keeps_why_and_stops_no_other(desk, run_id):
    leased = await lease(desk)

    async with desk.database.transaction() as tx:
        await posts.failed(tx, leased, "channel_not_found")

    assert await desk.value("select error from posts where part = 0") == "channel_not_found"
    assert (await lease(desk)).part == 1


async def test_our_own_echo_says_first_where_a_post_stands(desk, run_id):
    leased = await lease(desk)

    await sent(desk, leased.post_key, "5.5")
    await sent(desk, leased.post_key, "6.6", "https://slack/p6")

    async with desk.database.transaction() as tx:
        assert await posts.answer_ts(tx, run_id) == "5.5"
        assert await posts.answer_permalink(tx, run_id) == "https://slack/p6"
        assert await posts.is_answer_coming(tx, run_id) is False


async def test_an_answer_is_coming_while_its_first_part_waits(desk, run_id):
    async with desk.database.transaction() as tx:
        coming, nowhere = await posts.is_answer_coming(tx, run_id), await posts.answer_ts(tx, run_id)

    assert (coming, nowhere) == (True, None)


async def test_nothing_is_leased_before_its_time(desk, run_id):
    await desk.raw.execute("update posts set next_at = clock_timestamp() + interval '1 minute'")

    assert await lease(desk) is None
