"""What was said in a thread before the bot was asked: the newest of it, once, or the truth that it is not known."""

import json
import re

from bot.playground.faults import Fault
from bot.playground.workspace import Message
from tests.stories.stage import ANA, BEN, CHECKOUT, Thread

HELLO = """
[[plays]]
[[plays.rounds]]
say = "All is well."
"""


def long_thread(stage, replies):
    """A thread with so many messages, written before the bot came; gives it."""
    workspace = stage.slack.workspace
    root = workspace.add(Message(CHECKOUT, workspace.stamps.ts(), BEN, "number 1."))
    for number in range(2, replies + 1):
        workspace.add(Message(CHECKOUT, workspace.stamps.ts(), BEN, f"number {number}.", thread_ts=root.ts))
    return Thread(stage, CHECKOUT, root.ts)


async def test_the_newest_two_hundred_messages_are_told_once(stage):
    stage.plays(HELLO)
    await stage.start()
    thread = long_thread(stage, 250)

    await thread.says("@Steersman why is it slow?", by=ANA)
    await thread.settled()
    await thread.says("@Steersman and now?", by=ANA)
    await thread.settled(2)

    for request in stage.model.requests:
        asked = json.dumps(request.messages)
        numbers = [int(found) for found in re.findall(r"number (\d+)\.", asked)]
        assert numbers == sorted(set(numbers))
        assert (numbers[-1], 190 <= len(numbers) <= 200, asked.count("why is it slow?")) == (250, True, 1)
    assert len(stage.slack.calls("conversations.replies")) < 10


async def test_the_model_is_told_that_it_has_seen_nothing_where_slack_does_not_give_the_thread(stage):
    stage.plays(HELLO)
    stage.slack.fail(Fault("conversations.replies", error="internal_error", times=10))
    await stage.start()
    thread = long_thread(stage, 5)

    await thread.says("@Steersman why is it slow?", by=ANA)

    (run,) = await thread.settled()
    asked = json.dumps(stage.model.requests[0].messages)
    assert run.reason == "completed"
    assert "could not be read: you have seen none of them" in asked
    assert "number 5" not in asked
