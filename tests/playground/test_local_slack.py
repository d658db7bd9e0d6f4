"""The local Slack in process, without HTTP and on a clock of its own: what a fault harness builds on.

The event loop of these tests jumps to its next timer instead of waiting for it, so that minutes cost nothing.
"""

import asyncio
import selectors

import pytest

from bot.playground.faults import Fault
from bot.playground.local_slack import LocalSlack, SlackOptions
from tests.playground.samples import actions, button

C = "C0INCIDENTS"
EPOCH = 1_700_000_000.0


class JumpingSelector(selectors.DefaultSelector):
    """A selector that never waits: it moves its own clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout=None):
        events = super().select(0)
        if not events and timeout:
            self.now += timeout
        return events


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop on the clock of its selector."""

    def __init__(self, selector: JumpingSelector) -> None:
        super().__init__(selector)
        self.clock = selector

    def time(self) -> float:
        return self.clock.now


@pytest.fixture
def play():
    """Run a story on a jumping clock; it gets a local Slack on that clock."""
    loop = JumpingLoop(JumpingSelector())

    def player(story, **options):
        slack = LocalSlack(SlackOptions(clock=lambda: EPOCH + loop.time(), **options))

        async def told():
            try:
                return await story(slack)
            finally:
                await slack.aclose()

        return loop.run_until_complete(told())

    yield player
    loop.close()


def test_slacks_own_times_are_three_seconds_then_at_once_one_minute_five_minutes(play, new_ears):
    deaf = new_ears(acks=False)

    async def story(slack):
        await slack.connect(deaf.hear)
        await slack.say("ana", C, "hello")
        await slack.wait_for(lambda: slack.deliveries()[0].state == "gave_up", 1_000)
        return [round(attempt.at - EPOCH) for attempt in slack.deliveries()[0].attempts]

    times = play(story)

    assert times == [0, 3, 3 + 3 + 60, 3 + 3 + 60 + 3 + 300]


def test_a_socket_that_opens_late_is_waited_for(play, new_ears):
    ears = new_ears()

    async def story(slack):
        await slack.say("ana", C, "hello")
        with pytest.raises(TimeoutError):
            await slack.wait_for(lambda: ears.frames, 7_200)
        await slack.connect(ears.hear)
        await slack.wait_for(lambda: slack.deliveries()[0].state == "acked", 1)

    play(story)

    assert [frame["retry_attempt"] for frame in ears.frames] == [1]


def test_a_click_that_is_not_acknowledged_fails_after_three_seconds(play, new_ears):
    async def story(slack):
        await slack.connect(new_ears(acks=False).hear)
        posted = await slack.call("chat.postMessage", {"channel": C, "text": "a", "blocks": [actions(button("stop"))]})
        started = slack.stamps.now()
        envelope = await slack.click("ana", C, posted.body["ts"], "stop")
        await slack.wait_for(lambda: envelope.state == "gave_up", 60)
        return round(slack.stamps.now() - started)

    seconds = play(story)

    assert seconds == 3


def test_a_limit_is_free_again_after_a_minute(play):
    async def story(slack):
        answers = [await slack.call("auth.test", {}) for _ in range(3)]
        with pytest.raises(TimeoutError):
            await slack.wait_for(lambda: False, answers[2].retry_after)
        return [*answers, await slack.call("auth.test", {})]

    answers = play(story, limits={"auth.test": 2})

    assert [answer.status for answer in answers] == [200, 200, 429, 200]


def test_a_delay_passes_on_the_clock_that_was_handed_in(play):
    async def story(slack):
        slack.fail(Fault("auth.test", delay_s=30))
        slack.fail(Fault("users.info", answer_delay_s=45))
        await slack.call("auth.test", {})
        await slack.call("users.info", {"user": "U0ANA"})
        return [(call.method, round(call.answered_at - call.at)) for call in slack.calls()]

    log = play(story)

    assert log == [("auth.test", 30), ("users.info", 45)]


def test_a_dropped_answer_says_so_in_process(play):
    async def story(slack):
        slack.fail(Fault("chat.postMessage", drop=True))
        answer = await slack.call("chat.postMessage", {"channel": C, "text": "a"})
        return answer, slack.messages(C)

    answer, messages = play(story)

    assert answer.dropped
    assert [message.text for message in messages] == ["a"]


def test_message_times_are_those_of_the_clock(play):
    async def story(slack):
        first = await slack.say("ana", C, "first")
        second = await slack.say("ana", C, "second")
        return first.ts, second.ts

    first, second = play(story)

    assert first == "1700000000.000000"
    assert float(second) - float(first) < 0.001


def test_the_same_story_gives_the_same_ids(play):
    async def story(slack):
        await slack.say("ana", C, "@Steersman why?")
        return [(envelope.id, envelope.event_id) for envelope in slack.deliveries()]

    first, second = play(story), play(story)

    assert first == second


async def test_a_dead_process_acknowledges_nothing_any_more():
    slack, reached, gate = LocalSlack(SlackOptions(ack_timeout=0.05, retry_delays=())), asyncio.Event(), asyncio.Event()

    async def slow(frame):
        reached.set()
        await gate.wait()
        return True

    socket = await slack.connect(slow)
    await slack.say("ana", C, "hello")
    await reached.wait()
    await socket.close()
    gate.set()
    await slack.wait_for(lambda: slack.deliveries()[0].state == "gave_up")
    await slack.aclose()

    assert slack.deliveries()[0].acked_at is None
    assert slack.socket_mode.sockets == []


async def test_what_is_asked_for_in_process_is_what_the_store_holds():
    slack = LocalSlack()
    root = await slack.say("ana", C, "root")
    reply = await slack.say("ben", C, "reply", root.ts)
    await slack.call("chat.postEphemeral", {"channel": C, "user": "U0BEN", "text": "psst"})

    found = (slack.messages("#incidents"), slack.thread(C, root.ts), slack.ephemerals("ben"), slack.session(C, root.ts))
    await slack.aclose()

    assert found[0] == found[1] == [root, reply]
    assert [whisper.text for whisper in found[2]] == ["psst"]
    assert found[3] is None
