"""Cards and answers under a slow, strict and forgetful Slack: one of each, the newest state last, nothing lost."""

import itertools
import json
import re

import pytest

from bot.playground.faults import Fault
from bot.playground.local_slack import SlackOptions
from tests.stories.stage import Stage, buttons_of, words_of

INTERVAL_S = 0.2
"""The pace of the stage's publishers."""
SCRIPT = """
[[plays]]
when = "look at the gateway"
[[plays.rounds]]
say = "The gateway, then."

[[plays]]
[[plays.rounds]]
say = "I read the log."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/log" } }]
[[plays.rounds]]
say = "I read the pool."
calls = [{ name = "http_get", arguments = { url = "{{var TARGET}}/gate/pool" } }]
[[plays.rounds]]
say = "It was the **pool**."
"""


async def at_work(stage):
    """A thread whose card says that it is at work."""
    stage.plays(SCRIPT)
    await stage.start()
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/log")
    await thread.card("running")
    return thread


def paints_of(stage, card):
    """The updates of one card, oldest first, each with the state that it shows."""
    calls = [call for call in stage.slack.calls("chat.update") if call.arguments.get("ts") == card.ts]
    return [
        (call, call.arguments["metadata"]["event_payload"]["state"]) for call in sorted(calls, key=lambda it: it.at)
    ]


async def completed(stage, thread):
    """Wait until the run is completed and everybody sees it; gives card and answer, of which there is one each."""
    (run,) = await thread.settled()
    assert run.reason == "completed"
    card = await thread.card("done")
    (answer,) = await stage.slack.wait_for(thread.answers, 20)
    assert len(thread.cards()) == 1
    return card, answer


async def test_an_update_that_slack_takes_late_is_not_overtaken_by_the_final_one(stage):
    thread = await at_work(stage)
    await stage.start(works=False, listens=False)
    stage.slack.fail(Fault("chat.update", delay_s=0.8, answer_delay_s=0.4))

    stage.targets.open("gate/log")
    await stage.targets.reached("gate/pool")
    stage.targets.open("gate/pool")

    card, _ = await completed(stage, thread)
    paints = paints_of(stage, card)
    states = [state for _, state in paints]
    spans = [(call.at, call.answered_at) for call, _ in paints]
    assert max(end - start for start, end in spans) > 1.0
    assert all(after[0] >= before[1] for before, after in itertools.pairwise(spans))
    assert states == sorted(states, key=lambda state: state == "done")


async def test_sixty_calls_are_painted_at_the_pace_of_the_card(stage):
    calls = ", ".join(
        f'{{ name = "http_get", arguments = {{ url = "{{{{var TARGET}}}}/node-{number}" }} }}' for number in range(20)
    )
    rounds = "".join(f'[[plays.rounds]]\nsay = "Step {number}."\ncalls = [{calls}]\n' for number in range(3))
    stage.plays(f'[[plays]]\n{rounds}[[plays.rounds]]\nsay = "All are well."')
    await stage.start()

    thread = await stage.asks("how are the nodes?")
    await stage.until(lambda: stage.reader.fetchval("select count(*) = 1 from settlements"), within=60)

    card, _ = await completed(stage, thread)
    times = [call.at for call, state in paints_of(stage, card) if state == "running"]
    assert len(stage.targets.paths) == 60
    assert "60 calls" in words_of(card)
    assert len(times) <= (times[-1] - times[0]) / INTERVAL_S + 2
    assert len(times) < 60


async def test_the_final_card_waits_out_a_limit_and_comes(stage):
    thread = await at_work(stage)
    stage.slack.fail(Fault("chat.update", retry_after=1.0))

    stage.targets.open("gate/log", "gate/pool")

    card, answer = await completed(stage, thread)
    paints = paints_of(stage, card)
    (limited,) = [call for call, _ in paints if call.answer.status == 429]
    later = [call.at for call, _ in paints if call.at > limited.at]
    assert min(later) - limited.answered_at > 0.9
    assert buttons_of(card) == {}
    assert "It was the" in words_of(answer)


async def test_the_answer_waits_out_a_limit_and_comes_once(stage):
    thread = await at_work(stage)
    stage.slack.fail(Fault("chat.postMessage", retry_after=1.0))

    stage.targets.open("gate/log", "gate/pool")

    _, answer = await completed(stage, thread)
    first, second = stage.slack.calls("chat.postMessage")[1:]
    assert (first.answer.status, second.answer.status) == (429, 200)
    assert second.at - first.answered_at > 0.9
    assert [each.ts for each in thread.answers()] == [answer.ts]


@pytest.mark.parametrize("heard", [True, False], ids=["and our own echo comes", "and no echo comes"])
async def test_a_card_whose_post_was_not_answered_is_not_posted_again(stage, heard):
    stage.plays(SCRIPT)
    await stage.start(publishes=False)
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/log")
    await stage.slack.wait_for(lambda: all(each.acked_at for each in stage.slack.deliveries()))
    if not heard:
        stage.slack.pause_delivery()
    stage.slack.fail(Fault("chat.postMessage", drop=True))

    await stage.start(works=False, listens=False)
    stage.targets.open("gate/log", "gate/pool")

    await completed(stage, thread)
    assert len(stage.slack.calls("chat.postMessage")) == 2


@pytest.mark.parametrize("heard", [True, False], ids=["and our own echo comes", "and no echo comes"])
async def test_an_answer_whose_post_was_not_answered_is_not_posted_again(stage, heard):
    thread = await at_work(stage)
    if not heard:
        stage.slack.pause_delivery()
    stage.slack.fail(Fault("chat.postMessage", drop=True))

    stage.targets.open("gate/log", "gate/pool")

    await completed(stage, thread)
    assert len(stage.slack.calls("chat.postMessage")) == 2


@pytest.mark.parametrize("what", ["card", "answer"])
async def test_a_post_that_was_lost_on_its_way_is_made_once_in_the_end(stage, what):
    stage.plays(SCRIPT)
    await stage.start(publishes=False)
    thread = await stage.asks("why is checkout slow?")
    await stage.targets.reached("gate/log")
    if what == "card":
        stage.slack.fail(Fault("chat.postMessage", lose=True))
    await stage.start(works=False, listens=False)
    await thread.card("running")
    if what == "answer":
        stage.slack.fail(Fault("chat.postMessage", lose=True))

    stage.targets.open("gate/log", "gate/pool")

    await completed(stage, thread)
    assert len(stage.slack.calls("chat.postMessage")) == 3


async def test_where_slack_refuses_the_plan_block_the_card_lists_its_steps(database_url):
    async with Stage.open(database_url, SlackOptions(plan_supported=False)) as stage:
        thread = await at_work(stage)

        stage.targets.open("gate/log", "gate/pool")

        card, _ = await completed(stage, thread)
        refused = [call for call in stage.slack.calls() if call.error.startswith("invalid_blocks")]
        assert "plan" not in {block["type"] for block in card.blocks}
        assert all(words in json.dumps(card.blocks) for words in ("rich_text_list", "/gate/log", "/gate/pool"))
        assert len(refused) == 1


async def test_an_answer_that_slack_refuses_as_it_is_comes_as_plain_text(stage):
    thread = await at_work(stage)
    stage.slack.fail(Fault("chat.postMessage", error="invalid_blocks"))

    stage.targets.open("gate/log", "gate/pool")

    _, answer = await completed(stage, thread)
    assert (answer.blocks, "It was the" in answer.text, "pool" in answer.text) == ((), True, True)


async def test_a_steered_card_links_to_the_next_one_and_a_done_one_to_its_answer(stage):
    thread = await at_work(stage)

    await thread.says("look at the gateway")

    await thread.settled(2)
    old, new = await thread.card("steered", 0), await thread.card("done", 1)
    (answer,) = await stage.slack.wait_for(thread.answers)
    await stage.slack.wait_for(lambda: _links(thread.cards()[0]) == [_address(new)], 20)
    await stage.slack.wait_for(lambda: _links(thread.cards()[1]) == [_address(answer)], 20)
    assert buttons_of(old) == {}


def _links(card):
    return re.findall(r"/archives/(\w+/p\d+)", json.dumps(card.blocks))


def _address(message):
    return f"{message.channel}/p{message.ts.replace('.', '')}"


async def test_a_run_that_ended_before_its_first_paint_has_one_card_that_says_so(stage):
    stage.plays(SCRIPT)
    stage.targets.open("gate/log", "gate/pool")
    await stage.start(publishes=False)
    thread = await stage.asks("why is checkout slow?")
    await thread.settled()

    await stage.start(works=False, listens=False)

    card, _ = await completed(stage, thread)
    assert {state for _, state in paints_of(stage, card)} <= {"done"}


async def test_a_long_answer_comes_whole_in_several_posts_in_order(stage):
    lines = [f"{number}. The node number {number} of the pool answered in time and is well." for number in range(400)]
    stage.plays(f"[[plays]]\n[[plays.rounds]]\nsay = '''\n{chr(10).join(lines)}'''")
    await stage.start()

    thread = await stage.asks("how are the nodes?")

    (run,) = await thread.settled()
    await stage.slack.wait_for(lambda: lines[-1] in _texts(thread), 20)
    texts = [each.blocks[0]["text"] for each in thread.answers()]
    assert run.reason == "completed"
    assert len(texts) > 1
    assert max(map(len, texts)) <= 12_000
    assert re.findall(r"number (\d+) of", "".join(texts)) == [str(number) for number in range(400)]


def _texts(thread):
    return "".join(words_of(each) for each in thread.answers())
