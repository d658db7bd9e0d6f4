"""Slack's own Stop is shown while the newest run of a thread is at work, and an older card never takes it away."""

import asyncio

import pytest

from bot.playground.faults import Fault
from bot.playground.local_slack import SlackOptions
from tests.card.board import INCIDENTS, Board, state_of


def status(board, asked):
    session = board.slack.session(INCIDENTS, asked.ts)
    return session.status if session else None


def told(board):
    return [call.arguments["status"] for call in board.slack.calls("agents.sessions.setStatus")]


@pytest.mark.parametrize(("word", "expected"), [("pause", "suspended"), ("stop", "active")])
async def test_the_session_follows_the_run(board, word, expected):
    asked = await board.asks()
    painter = board.painter()
    await painter.paint_one()
    before = status(board, asked)
    await board.says(asked.ts, word)

    await painter.paint_one()

    assert (before, status(board, asked)) == ("processing", expected)


async def test_what_slack_knows_is_not_told_again(board):
    asked = await board.asks()
    painter = board.painter()
    for _ in range(3):
        await board.is_wanted(asked)
        await painter.paint_one()

    assert told(board) == ["processing"]


async def test_the_repetition_of_an_old_card_by_another_process_hides_no_stop_of_the_next_run(board):
    asked = await board.asks()
    one, other = board.painter(), board.painter()
    await board.says(asked.ts, "stop")
    await one.paint_one()
    await board.says(asked.ts, "go on")
    await one.paint_one()
    await board.is_due("repaint_at")

    await other.paint_one()

    assert [state_of(card) for card in board.thread(asked)] == ["stopped", "queued"]
    assert (told(board), status(board, asked)) == (["active", "processing"], "processing")


async def test_a_run_that_was_resumed_under_another_process_has_its_stop_again(board):
    asked = await board.asks()
    one, other = board.painter(), board.painter()
    await one.paint_one()
    await board.says(asked.ts, "pause")
    await other.paint_one()
    await board.says(asked.ts, "resume")

    await one.paint_one()

    assert told(board) == ["processing", "suspended", "processing"]


async def test_a_run_that_begins_while_an_old_one_is_told_has_the_last_word(board):
    asked = await board.asks()
    one, other = board.painter(), board.painter()
    await one.paint_one()
    await board.says(asked.ts, "stop")
    board.slack.fail(Fault("agents.sessions.setStatus", delay_s=0.3))
    telling = asyncio.create_task(one.paint_one())
    await board.until("select painted_rev = wanted_rev from cards where run_id = $1", asked.run_id)

    await board.says(asked.ts, "go on")
    await other.paint_one()
    await telling

    assert told(board)[-1] == "processing"
    assert status(board, asked) == "processing"


async def test_what_slack_asked_to_put_off_is_told_at_the_next_paint(board):
    asked = await board.asks()
    board.slack.fail(Fault("agents.sessions.setStatus", error="internal_error"))
    painter = board.painter()
    await painter.paint_one()
    before = status(board, asked)
    await board.is_wanted(asked)

    await painter.paint_one()

    assert (before, status(board, asked)) == (None, "processing")


async def test_an_app_that_may_have_no_session_is_painted_all_the_same(database_url):
    async with Board.hung(database_url, SlackOptions(agent_view=False)) as board:
        asked = await board.asks()
        painter = board.painter()
        await painter.paint_one()
        await board.is_wanted(asked)

        painted = await painter.paint_one()

        assert painted
        assert [call.error for call in board.slack.calls("agents.sessions.setStatus")] == ["not_authorized"]


async def test_a_run_that_is_being_stopped_shows_no_stop_of_slacks_any_more(board):
    asked = await board.asks()
    painter = board.painter()
    await painter.paint_one()
    await board.desk.claims()
    await board.says(asked.ts, "stop")

    await painter.paint_one()

    assert (state_of(board.thread(asked)[0]), status(board, asked)) == ("stopping", "active")


async def given_up(board, painter):
    """A run at work whose card somebody has deleted."""
    asked = await board.asks()
    await painter.paint_one()
    claimed = await board.desk.claims()
    board.slack.workspace.remove(board.thread(asked)[0])
    await board.is_wanted(asked)
    await painter.paint_one()
    return asked, claimed


async def test_a_run_goes_on_without_its_card_and_releases_its_session_at_its_end(board):
    painter = board.painter()
    asked, claimed = await given_up(board, painter)
    await painter.paint_one()
    at_work = status(board, asked)
    await board.desk.completes(claimed)

    await painter.paint_one()

    assert (at_work, status(board, asked)) == ("processing", "active")
    assert (await board.card(asked))["gone"] == "message_not_found"


async def test_another_process_releases_the_session_of_a_card_that_was_given_up(board):
    asked, claimed = await given_up(board, board.painter())
    await board.desk.completes(claimed)

    await board.painter().paint_one()

    assert status(board, asked) == "active"


async def test_a_card_that_was_given_up_is_looked_at_once_a_change(board):
    painter = board.painter()
    asked, claimed = await given_up(board, painter)
    await board.desk.completes(claimed)
    for _ in range(3):
        await painter.paint_one()

    assert told(board)[-1] == "active"
    assert told(board).count("active") == 1
    assert await board.raw.fetchval("select wanted_rev = painted_rev from cards where run_id = $1", asked.run_id)
