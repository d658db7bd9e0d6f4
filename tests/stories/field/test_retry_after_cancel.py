"""Field reports of the class retry-or-stream-after-cancel: a wait between two tries does not look at the stop."""

from tests.stories.field.replay import Replay

BUSY = """
[[plays]]
[[plays.rounds]]
say = "Never."
fault = { kind = 429, retry_after = 30 }
"""


async def test_pb_056_a_stop_wakes_the_wait_that_the_model_asked_for_and_nothing_is_sent_again(stage):
    replay = Replay(stage, "PB-056")
    stage.plays(BUSY)
    await stage.start()
    thread = await replay.ask()
    await stage.model.received(1)
    await thread.card("running")

    await thread.clicks("Stop")

    (stopped,) = await thread.settled()
    seconds = "select extract(epoch from s.settled_at - i.requested_at)::float8 from settlements s, interrupts i"
    assert (stopped.reason, stopped.error) == ("stopped", None)
    assert await stage.reader.fetchval(seconds) < 5.0
    assert len(stage.model.requests) == 1
