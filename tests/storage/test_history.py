"""The history is append-only and fenced, and repeating an append whose reply was lost changes nothing."""

import pytest

from bot.rules.terms import EventKind
from storage import history
from storage.history import Appended, NewEvent
from tests.storage.desk import asking, final, result, stale


async def test_an_append_is_numbered_and_read_back_as_it_was(desk, database):
    claimed = await desk.is_asked()
    blocks = ({"type": "thinking", "signature": "abc"},)
    body = {"text": "hm", "calls": [], "n": 1.5, "deep": {"list": [True, None]}}

    await desk.stores(claimed, NewEvent(EventKind.ASSISTANT, body, "openai", "gpt", blocks))

    async with database.transaction() as tx:
        events = await history.load(tx, claimed.claim.thread_id)
    assert [event.seq for event in events] == [1, 2]
    assert (events[1].body, events[1].provider, events[1].model) == (body, "openai", "gpt")
    assert events[1].provider_blocks == blocks


async def test_the_same_events_under_the_same_number_and_fence_are_stored_once(desk):
    claimed = await desk.is_asked()
    first = await desk.stores(claimed, asking("read00001"), seq=2)

    second = await desk.stores(claimed, asking("read00001"), seq=2)

    assert (first, second) == (Appended.STORED, Appended.REPEATED)
    assert await desk.value("select count(*) from events") == 2


async def test_a_repeated_append_is_known_although_the_run_was_stopped_or_lost_since(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, asking("read00001"), seq=2)
    await desk.says("ana", "stop")
    while_cancelling = await desk.stores(claimed, asking("read00001"), seq=2)
    await desk.ends_hung_stops(grace_s=0)

    after_the_end = await desk.stores(claimed, asking("read00001"), seq=2)

    assert while_cancelling is after_the_end is Appended.REPEATED


async def test_other_events_under_a_taken_number_are_never_taken_for_a_repetition(desk):
    claimed = await desk.is_asked()
    await desk.stores(claimed, asking("read00001"), seq=2)

    with pytest.raises(AssertionError, match="event 2 cannot follow event 2"):
        await desk.stores(claimed, final(), seq=2)


async def test_a_number_that_leaves_a_hole_is_refused(desk):
    claimed = await desk.is_asked()

    with pytest.raises(AssertionError, match="event 4 cannot follow event 1"):
        await desk.stores(claimed, final(), seq=4)


async def test_the_same_number_under_an_older_fence_is_lost(desk):
    claimed = await desk.is_asked()
    await desk.gives_back(claimed)
    again = await desk.claims("w2")
    await desk.stores(again, final(), seq=2)

    zombie = await desk.stores(claimed, final(), seq=2)

    assert zombie is Appended.LOST
    assert await desk.value("select count(*) from events") == 2


@pytest.mark.parametrize("other", [{"fence": 99}, {"worker_id": "w2"}])
async def test_an_append_needs_the_fence_and_the_owner_both(desk, other):
    claimed = await desk.is_asked()

    assert await desk.stores(stale(claimed, **other), final()) is Appended.LOST


async def test_a_body_that_was_cleaned_on_its_way_in_is_still_the_same_body(desk):
    claimed = await desk.is_asked()
    poison = result("read00001", "a\x00b\ud800c")
    await desk.stores(claimed, poison, seq=2)

    again = await desk.stores(claimed, poison, seq=2)

    assert again is Appended.REPEATED
    assert await desk.value("select body->>'text' from events where seq = 2") == "a\ufffdb\ufffdc"


async def test_numbers_that_the_database_writes_its_own_way_are_still_the_same_numbers(desk):
    claimed = await desk.is_asked()
    odd = NewEvent(EventKind.ASSISTANT, {"text": "", "calls": [], "n": [1e300, 1.0, -0.0, 12345678901234567890, 1e-7]})
    await desk.stores(claimed, odd, seq=2)

    assert await desk.stores(claimed, odd, seq=2) is Appended.REPEATED


async def test_an_append_of_nothing_is_a_success(desk):
    claimed = await desk.is_asked()

    assert await desk.stores(claimed) is Appended.STORED
    assert await desk.event_seq(claimed.claim.thread_id) == 1


async def test_open_calls_are_those_of_the_last_model_message_without_an_answer(desk, database):
    claimed = await desk.is_asked()
    await desk.calls(claimed, "read00001", "read00002")
    await desk.stores(claimed, result("read00001"))

    async with database.transaction() as tx:
        open_calls = await history.open_calls(tx, claimed.claim.thread_id, claimed.run.id)
        none = await history.open_calls(tx, claimed.claim.thread_id, "another run")

    assert [call["id"] for call in open_calls] == ["read00002"]
    assert none == []


async def test_a_probe_whose_reply_was_lost_tells_the_second_time_what_the_first_appended(desk):
    claimed = await desk.is_asked()
    await desk.raw.execute(
        "insert into inbox (thread_id, seq, source, author, text, verdict, state) "
        "values ($1, 9, 'system', 'system', 'a message was deleted', 'note', 'waiting')",
        claimed.claim.thread_id,
    )
    first = await desk.probes(claimed, known=1)

    second = await desk.probes(claimed, known=1)

    assert [event.body["text"] for event in first.news] == ["a message was deleted"]
    assert second == first


@pytest.mark.parametrize(
    ("event", "is_final"),
    [(final(), True), (final("  "), False), (asking("read00001"), False), (result("read00001"), False)],
)
async def test_a_final_text_is_a_model_message_with_words_and_without_calls(desk, database, event, is_final):
    claimed = await desk.is_asked()
    await desk.stores(claimed, event)

    async with database.transaction() as tx:
        newest = await history.newest_event(tx, claimed.claim.thread_id)

    assert history.is_final_text(newest) is is_final
