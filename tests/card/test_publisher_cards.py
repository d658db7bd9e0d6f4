"""One card, painted by one painter: posted once, given back after every end, never left to say an old thing."""

import pytest

from bot.playground.faults import Fault
from bot.playground.local_slack import SlackOptions
from storage import cards
from tests.card.board import INCIDENTS, Board, state_of


async def test_the_first_paint_posts_the_card_and_learns_where_it_stands(board):
    asked = await board.asks()

    painted = await board.painter().paint_one()

    (card,) = board.thread(asked)
    row = await board.card(asked)
    assert painted
    assert (state_of(card), row["ts"], row["painted_rev"] >= 1) == ("queued", card.ts, True)
    assert row["permalink"].endswith(f"thread_ts={asked.ts}&cid={INCIDENTS}")


async def test_a_card_that_is_due_and_locked_for_a_moment_is_looked_at_again_and_not_left_to_the_next_poll(board):
    asked = await board.asks()
    painter = board.painter()
    async with board.raw.transaction():
        await board.raw.execute("select 1 from cards for update")

        looks_again = await painter.paint_one()

    assert looks_again
    assert board.thread(asked) == []
    assert await painter.paint_one()
    assert len(board.thread(asked)) == 1


async def test_nothing_is_called_when_nothing_is_due(board):
    await board.asks()
    painter = board.painter()
    await painter.paint_one()
    calls = len(board.slack.calls())

    painted = await painter.paint_one()

    assert not painted
    assert len(board.slack.calls()) == calls


async def test_the_newest_state_is_painted_over_the_same_message(board):
    asked = await board.asks()
    painter = board.painter()
    await painter.paint_one()
    await board.desk.claims()
    await board.is_wanted(asked)

    await painter.paint_one()

    (card,) = board.thread(asked)
    assert state_of(card) == "running"
    assert [call.method for call in board.slack.calls("chat.postMessage")] == ["chat.postMessage"]


async def test_a_link_that_slack_did_not_give_is_asked_for_at_the_next_paint(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.getPermalink", error="internal_error"))
    painter = board.painter()
    await painter.paint_one()
    without = (await board.card(asked))["permalink"]
    await board.is_wanted(asked)

    await painter.paint_one()

    assert (without, (await board.card(asked))["permalink"] is not None) == (None, True)


@pytest.mark.parametrize("error", ["message_not_found", "token_revoked", "channel_not_found"])
async def test_what_slack_refuses_for_good_is_written_down_and_never_tried_again(board, error):
    asked = await board.asks()
    painter = board.painter()
    await painter.paint_one()
    board.slack.fail(Fault("chat.update", error=error))
    await board.is_wanted(asked)
    await painter.paint_one()
    await board.is_wanted(asked)

    painted = await painter.paint_one()

    row = await board.card(asked)
    assert not painted
    assert (row["gone"], row["paint_token"], len(board.slack.calls("chat.update"))) == (error, None, 1)


async def test_a_card_that_somebody_deleted_is_given_up(board):
    asked = await board.asks()
    painter = board.painter()
    await painter.paint_one()
    board.slack.workspace.remove(board.thread(asked)[0])
    await board.is_wanted(asked)

    await painter.paint_one()

    assert (await board.card(asked))["gone"] == "message_not_found"


async def test_a_failure_of_no_known_kind_is_tried_again_after_a_longer_time_each(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.postMessage", error="no_such_thing_was_ever_heard_of", times=3))
    painter = board.painter(retry_s=4.0)
    waits = []
    for _ in range(3):
        await board.is_due()
        assert not await painter.paint_one()
        waits.append(await board.due_in(asked))

    assert [round(wait) for wait in waits] == [4, 8, 16]


async def test_a_method_that_has_to_rest_is_called_for_no_card(board):
    asked = [await board.asks(), await board.asks()]
    board.slack.fail(Fault("chat.postMessage", retry_after=60))
    painter = board.painter()

    painted = [await painter.paint_one() for _ in asked]

    waits = [await board.due_in(each) for each in asked]
    assert painted == [False, False]
    assert [round(wait, -1) for wait in waits] == [60, 60]
    assert len(board.slack.calls("chat.postMessage")) == 1


async def test_a_terminal_paint_is_repeated_exactly_once(board):
    asked = await board.asks()
    await board.says(asked.ts, "stop")
    painter = board.painter(repaint_s=30.0)
    await painter.paint_one()
    due_in = await board.due_in(asked, "repaint_at")
    await board.is_due("repaint_at")

    repeated = await painter.paint_one()

    await board.is_due("repaint_at")
    assert round(due_in) == 30
    assert (repeated, await painter.paint_one()) == (True, False)
    assert [state_of(card) for card in board.thread(asked)] == ["stopped"]
    assert len(board.slack.calls("chat.update")) == 1


async def test_a_card_that_works_is_painted_again_by_itself_and_shows_a_later_time(board):
    asked = await board.asks()
    await board.desk.claims()
    painter = board.painter(heartbeat_s=15.0)
    await painter.paint_one()
    before = str(board.thread(asked)[0].blocks)
    due_in = await board.due_in(asked, "repaint_at")
    board.later = 75
    await board.is_due("repaint_at")

    await painter.paint_one()

    after = str(board.thread(asked)[0].blocks)
    assert round(due_in) == 15
    assert "1 min 15 s" in after
    assert "1 min" not in before
    assert await board.due_in(asked, "repaint_at") is not None


async def test_a_paused_card_has_no_clock_to_keep(board):
    asked = await board.asks()
    await board.says(asked.ts, "pause")

    await board.painter().paint_one()

    assert state_of(board.thread(asked)[0]) == "paused"
    assert await board.due_in(asked, "repaint_at") is None


async def test_the_more_cards_work_the_more_seldom_each_shows_progress(board):
    painter = board.painter(interval_s=3.0, heartbeat_s=15.0)
    asked = [await board.asks() for _ in range(12)]
    for _ in asked:
        await board.desk.claims()
    while await painter.paint_one():
        pass
    await board.is_wanted(asked[0])

    await painter.paint_one()

    assert round(await board.due_in(asked[0])) == 18
    assert round(await board.due_in(asked[0], "repaint_at")) == 18


async def test_a_call_that_would_outlive_its_lease_is_given_up_and_the_card_wanted_again(board):
    asked = await board.asks()
    painter = board.painter()
    await painter.paint_one()
    board.slack.fail(Fault("chat.update", delay_s=5.0))
    await board.is_wanted(asked)

    painted = await board.painter(lease_s=0.4).paint_one()

    row = await board.card(asked)
    assert not painted
    assert (row["paint_token"], row["wanted_rev"] > row["painted_rev"]) == (None, True)


async def test_a_state_that_changes_during_the_call_is_wanted_at_once_after_it(board):
    asked = await board.asks()
    painter = board.painter(interval_s=60.0)
    await painter.paint_one()
    await board.is_wanted(asked)
    async with board.database.transaction() as tx:
        leased = await cards.lease(tx, "another", lease_s=20.0, interval_s=60.0)
    await board.says(asked.ts, "stop")
    during = await painter.paint_one()
    async with board.database.transaction() as tx:
        await cards.painted(tx, leased, repaint_s=None)

    after = await painter.paint_one()

    assert (during, after) == (False, True)
    assert state_of(board.thread(asked)[0]) == "stopped"


async def with_steps(board, *call_ids):
    """Runs with a step each, so that their cards have a plan."""
    asked = []
    for each in call_ids:
        asked.append(await board.asks())
        await board.desk.calls(await board.desk.claims(), each)
    return asked


async def test_a_workspace_that_refuses_plans_is_asked_once_for_all_its_cards(database_url):
    async with Board.hung(database_url, SlackOptions(plan_supported=False)) as board:
        asked = await with_steps(board, "c1", "c2")
        painter = board.painter()

        for _ in asked:
            await painter.paint_one()

        assert [state_of(board.thread(each)[0]) for each in asked] == ["running", "running"]
        assert [call.error for call in board.slack.calls("chat.postMessage")] == ["invalid_blocks", "", ""]


async def test_one_card_that_is_too_long_as_a_plan_takes_the_plan_from_no_other(board):
    board.slack.fail(Fault("chat.postMessage", error="msg_too_long"))
    asked = await with_steps(board, "c1", "c2")
    painter = board.painter()

    for _ in asked:
        await painter.paint_one()

    kinds = [[block["type"] for block in board.thread(each)[0].blocks] for each in asked]
    assert [call.error for call in board.slack.calls("chat.postMessage")] == ["msg_too_long", "", ""]
    assert ["plan" in each for each in kinds] == [False, True]


async def test_a_card_without_a_plan_that_is_refused_takes_the_plan_from_no_other(board):
    board.slack.fail(Fault("chat.postMessage", error="invalid_blocks"))
    await board.asks()
    painter = board.painter()
    await painter.paint_one()
    await board.desk.calls(await board.desk.claims(), "c1")
    (planned,) = await with_steps(board, "c2")

    while await painter.paint_one():
        pass

    assert "plan" in [block["type"] for block in board.thread(planned)[0].blocks]


async def test_a_card_whose_blocks_are_refused_in_every_form_is_shown_in_bare_words(board):
    asked = await board.asks("why is it slow?")
    board.slack.fail(Fault("chat.postMessage", error="invalid_blocks"))

    await board.painter().paint_one()

    (card,) = board.thread(asked)
    assert (card.blocks, state_of(card)) == ((), "queued")
    assert "Why is it slow?" in card.text
