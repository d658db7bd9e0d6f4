"""Posting once, whatever happens between the call and our knowing of it."""

import pytest

from bot.playground.faults import Fault
from bot.playground.workspace import Message
from storage import cards
from tests.card.board import INCIDENTS, state_of

NO_TRACE = (None, None)
ERRORS_OF_ANSWERS = "select state, error, ts from posts order by part"


async def trace(board, asked):
    row = await board.card(asked)
    return row["posting_at"], row["ts"]


async def answered(board, *, text="the disk is full"):
    """A run that has its answer, with its card painted; gives it."""
    asked = await board.asks()
    await board.desk.completes(await board.desk.claims(), text)
    await board.painter().paint_one()
    return asked


def answers(board, asked):
    return [each for each in board.thread(asked) if (each.metadata or {}).get("event_type") == "steersman_post"]


async def test_a_card_whose_answer_was_lost_is_found_and_not_posted_again(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", drop=True))
    painter = board.painter()
    first = await painter.paint_one()
    await board.is_due()

    second = await painter.paint_one()

    (card,) = board.thread(asked)
    assert (first, second) == (False, True)
    assert (await board.card(asked))["ts"] == card.ts


async def test_a_card_whose_painter_died_is_found_on_the_second_page_of_a_busy_thread(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", drop=True))
    add, stamps = board.slack.workspace.add, board.slack.workspace.stamps
    for number in range(220):
        add(Message(INCIDENTS, stamps.ts(), "U0BEN", f"noise {number}", thread_ts=asked.ts))
    await board.painter().paint_one()
    await board.is_due()

    await board.painter().paint_one()

    pages = [call.arguments.get("cursor") for call in board.slack.calls("conversations.replies")]
    assert pages == ["", "from:200"]
    assert len(board.slack.calls("chat.postMessage")) == 1
    assert (await board.card(asked))["ts"] == board.thread(asked)[-1].ts


async def test_our_own_echo_tells_where_a_card_stands_and_nobody_has_to_look(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", drop=True))
    painter = board.painter()
    await painter.paint_one()
    async with board.database.transaction() as tx:
        await cards.posted(tx, f"card:{asked.run_id}", board.thread(asked)[0].ts)
    await board.is_due()

    painted = await painter.paint_one()

    assert painted
    assert board.slack.calls("conversations.replies") == []
    assert (await board.card(asked))["permalink"] is not None


async def test_what_is_not_seen_yet_is_looked_for_at_ever_longer_intervals_and_not_posted(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", lose=True))
    painter = board.painter(look_again_s=30.0)
    await painter.paint_one()
    waits = []
    for seconds in (2, 8, 20):
        await board.was_tried(seconds)
        await board.is_due()
        assert not await painter.paint_one()
        waits.append(round(await board.due_in(asked)))

    assert waits[0] < 4 < min(waits[1:])
    assert max(waits) < 11
    assert board.thread(asked) == []
    assert len(board.slack.calls("chat.postMessage")) == 1


async def test_what_was_never_seen_is_posted_after_half_a_minute_and_looked_for_anew_if_that_is_lost_too(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", lose=True))
    painter = board.painter(look_again_s=30.0)
    await painter.paint_one()
    await board.was_tried(31)
    await board.is_due()
    await painter.paint_one()
    given_up = await trace(board, asked)
    board.slack.fail(Fault("chat.postMessage", drop=True))
    await painter.paint_one()
    await board.is_due()

    await painter.paint_one()

    assert given_up == NO_TRACE
    assert [state_of(card) for card in board.thread(asked)] == ["queued"]
    assert len(board.slack.calls("chat.postMessage")) == 2


async def test_a_look_that_slack_asks_to_put_off_leaves_the_trace_of_the_post(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", lose=True))
    board.slack.fail(Fault("conversations.replies", retry_after=7))
    painter = board.painter()
    await painter.paint_one()
    await board.is_due()

    await painter.paint_one()

    assert (await trace(board, asked))[0] is not None
    assert round(await board.due_in(asked)) == 7
    assert len(board.slack.calls("chat.postMessage")) == 1


async def test_where_we_may_never_look_the_card_is_posted_when_no_echo_has_come(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", lose=True))
    board.slack.fail(Fault("conversations.replies", error="missing_scope", times=9))
    painter = board.painter()
    await painter.paint_one()
    await board.was_tried(31)
    await board.is_due()
    await painter.paint_one()

    await painter.paint_one()

    assert (await board.card(asked))["gone"] is None
    assert [state_of(card) for card in board.thread(asked)] == ["queued"]


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_painter_whose_clock_is_an_hour_wrong_posts_neither_a_second_card_nor_an_hour_late(board, hours):
    board.later = hours * 3600
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", lose=True))
    painter = board.painter(look_again_s=30.0)
    await painter.paint_one()
    await board.is_due()
    await painter.paint_one()
    posted_early = len(board.slack.calls("chat.postMessage"))

    await board.was_tried(31)
    await board.is_due()
    await painter.paint_one()
    await painter.paint_one()

    assert posted_early == 1
    assert [state_of(card) for card in board.thread(asked)] == ["queued"]


async def test_a_refused_post_leaves_no_trace_to_look_for(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", retry_after=7))

    await board.painter().paint_one()

    assert await trace(board, asked) == NO_TRACE
    assert round(await board.due_in(asked)) == 7


async def test_an_error_after_which_slack_may_have_posted_leaves_its_trace(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", error="fatal_error"))

    await board.painter().paint_one()

    assert (await trace(board, asked))[0] is not None


async def test_an_answer_is_posted_once_and_the_card_is_told_where(board):
    asked = await answered(board)
    outbox = board.outbox()

    posted = [await outbox.post_one(), await outbox.post_one()]

    (answer,) = answers(board, asked)
    row = await board.raw.fetchrow("select * from posts")
    assert posted == [True, False]
    assert (row["state"], row["ts"], row["permalink"] is not None) == ("sent", answer.ts, True)
    assert await board.due_in(asked) <= 0


async def test_an_answer_whose_reply_was_lost_is_found_and_not_posted_again(board):
    asked = await answered(board)
    board.slack.fail(Fault("chat.postMessage", drop=True))
    outbox = board.outbox()
    await outbox.post_one()
    await board.is_due(table="posts")

    await outbox.post_one()

    assert len(answers(board, asked)) == 1
    assert (await board.raw.fetchrow("select * from posts"))["state"] == "sent"


async def test_a_look_for_an_answer_that_is_put_off_does_not_have_it_posted_blindly(board):
    asked = await answered(board)
    board.slack.fail(Fault("chat.postMessage", drop=True))
    board.slack.fail(Fault("conversations.replies", retry_after=0.1))
    outbox = board.outbox()
    for _ in range(2):
        await outbox.post_one()
        await board.is_due(table="posts")
    await board.until("select posting_at is not null and posting_at < clock_timestamp() - interval '0.2 s' from posts")

    await outbox.post_one()

    assert len(answers(board, asked)) == 1


async def test_an_answer_that_slack_cannot_show_is_posted_as_plain_text(board):
    asked = await answered(board, text="the **disk** is full")
    board.slack.fail(Fault("chat.postMessage", error="invalid_blocks_format"))

    await board.outbox().post_one()

    (answer,) = answers(board, asked)
    assert (answer.text, answer.blocks) == ("the *disk* is full", ())


async def test_an_answer_that_slack_will_never_take_is_given_up_with_the_reason(board):
    await answered(board)
    board.slack.fail(Fault("chat.postMessage", error="is_archived"))
    outbox = board.outbox()
    await outbox.post_one()
    await board.is_due(table="posts")

    again = await outbox.post_one()

    (row,) = await board.raw.fetch(ERRORS_OF_ANSWERS)
    assert tuple(row) == ("failed", "is_archived", None)
    assert not again
