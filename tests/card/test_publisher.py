"""Publishers at work, several at once: one call in flight a card, and nothing that breaks one card harms another."""

import asyncio
import itertools
import json
from contextlib import asynccontextmanager
from dataclasses import replace

from bot.card.publisher import Pace, Publisher
from bot.playground.faults import Fault
from storage import cards
from storage.engine import Database
from tests.card.board import ANA, INCIDENTS, state_of

QUICK = {"interval_s": 0.05, "poll_s": 0.05, "retry_s": 0.05}
SLOW = 0.15


@asynccontextmanager
async def publishing(board, number=1, **pace):
    """So many publishers at work, as in so many processes."""
    publishers = [Publisher(board.means(), Pace(**(QUICK | pace))) for _ in range(number)]
    tasks = [asyncio.create_task(each.run()) for each in publishers]
    yield tasks
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def shows(board, asked, state):
    """Wait until a card shows a state."""

    def look():
        shown = board.thread(asked)
        return shown and state_of(shown[0]) == state

    await board.slack.wait_for(look, 15)


def overlaps(calls):
    """Calls that began before the one before them was answered."""
    ordered = sorted(calls, key=lambda call: call.at)
    return [later for earlier, later in itertools.pairwise(ordered) if later.at < earlier.answered_at]


async def test_three_publishers_have_one_call_in_flight_a_card_and_end_on_the_newest_state(board):
    asked = await board.asks()
    board.slack.fail(Fault("chat.update", delay_s=SLOW, times=99))
    async with publishing(board, 3):
        await shows(board, asked, "queued")
        await board.desk.claims()
        for _ in range(10):
            async with board.database.transaction() as tx:
                await cards.bump(tx, asked.run_id, at_once=True)
        await board.says(asked.ts, "stop")
        await board.desk.ends_hung_stops(0)

        await shows(board, asked, "stopped")

        await board.until("select wanted_rev = painted_rev from cards")
    calls = [*board.slack.calls("chat.postMessage"), *board.slack.calls("chat.update")]
    assert overlaps(calls) == []
    assert len(board.thread(asked)) == 1
    assert state_of(board.thread(asked)[0]) == "stopped"


async def test_a_change_of_state_during_a_slow_call_is_painted_right_after_it(board):
    asked = await board.asks()
    async with publishing(board, interval_s=60.0, poll_s=60.0):
        await shows(board, asked, "queued")
        board.slack.fail(Fault("chat.update", delay_s=SLOW))
        await board.desk.claims()
        await board.until("select paint_token is not null from cards")

        await board.says(asked.ts, "pause")

        await shows(board, asked, "pausing")
    assert overlaps(board.slack.calls("chat.update")) == []


async def test_a_card_that_cannot_be_rendered_keeps_nobody_from_another(board):
    broken, whole = await board.asks("broken"), await board.asks("whole")
    await board.raw.execute("update runs set parked_for = 'nonsense' where id = $1", broken.run_id)

    async with publishing(board):
        await shows(board, whole, "queued")
        await board.until("select paint_token is not null from cards where run_id = $1", broken.run_id)
        token = (await board.card(broken))["paint_token"]
        await board.says(whole.ts, "stop")
        await shows(board, whole, "stopped")

    assert board.thread(broken) == []
    assert (await board.card(broken))["paint_token"] == token
    assert await board.due_in(broken, "paint_until") > 0


async def test_an_answer_that_slack_refuses_keeps_no_card_from_being_painted(board):
    asked = await board.asks()
    async with publishing(board):
        await shows(board, asked, "queued")
        board.slack.fail(Fault("chat.postMessage", error="never_heard_of", times=10_000))

        await board.desk.completes(await board.desk.claims())

        await shows(board, asked, "done")
    assert len(board.thread(asked)) == 1


async def test_updates_that_have_to_rest_hold_no_answer_back(board):
    asked = await board.asks()
    async with publishing(board):
        await shows(board, asked, "queued")
        board.slack.fail(Fault("chat.update", retry_after=60))
        claimed = await board.desk.claims()
        await board.slack.wait_for(lambda: board.slack.calls("chat.update"), 15)

        await board.desk.completes(claimed, "the disk is full")

        await board.slack.wait_for(lambda: len(board.thread(asked)) == 2, 15)
    assert "the disk is full" in board.thread(asked)[1].text
    assert len(board.slack.calls("chat.update")) == 1


async def test_a_publisher_outlives_the_loss_of_all_its_connections(board):
    asked = await board.asks()
    here = "from pg_stat_activity where datname = current_database()"
    ours = [row["pid"] for row in await board.raw.fetch(f"select pid {here}")]
    database = Database(board.database.dsn)
    publisher = Publisher(replace(board.means(), database=database), Pace(**QUICK))
    task = asyncio.create_task(publisher.run())
    await shows(board, asked, "queued")

    lost = await board.raw.fetch(f"select pg_terminate_backend(pid) {here} and pid <> all($1)", ours)

    another = await board.asks()
    await shows(board, another, "queued")
    assert (len(lost) >= 2, task.done()) == (True, False)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await database.close()


async def test_a_publisher_that_is_told_to_end_gives_its_card_back_at_once(board):
    asked = await board.asks()
    async with publishing(board):
        await shows(board, asked, "queued")
        board.slack.fail(Fault("chat.update", delay_s=5))
        await board.desk.claims()
        await board.until("select paint_token is not null from cards")

    row = await board.card(asked)
    assert (row["paint_token"], row["wanted_rev"] > row["painted_rev"]) == (None, True)
    assert await board.due_in(asked) <= 0


async def test_a_card_is_posted_where_the_question_stands(board):
    asked = await board.asks()

    async with publishing(board):
        await shows(board, asked, "queued")

    (call,) = board.slack.calls("chat.postMessage")
    assert (call.arguments["channel"], call.arguments["thread_ts"]) == (INCIDENTS, asked.ts)
    assert ANA in json.dumps(board.thread(asked)[0].blocks)


async def test_a_card_that_slack_keeps_failing_on_is_not_tried_without_a_pause(board):
    asked = await board.asks()
    await board.desk.claims()
    await board.painter().paint_one()
    await board.is_due("repaint_at")
    board.slack.fail(Fault("chat.update", status=500, times=10_000))
    publisher = Publisher(board.means(), Pace(poll_s=0.2, retry_s=0.01), at_once=1)
    task = asyncio.create_task(publisher.run())

    await board.slack.wait_for(lambda: len(board.slack.calls("chat.update")) >= 4, 15)

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    times = [call.at for call in board.slack.calls("chat.update")]
    assert all(later - earlier > 0.15 for earlier, later in itertools.pairwise(times))
    assert (await board.card(asked))["gone"] is None
