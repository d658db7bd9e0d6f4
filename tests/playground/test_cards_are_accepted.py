"""The cards of Steersman, posted and updated in the local Slack: it takes every one of them as it is."""

import pytest

from bot.card.blocks import blocks
from bot.card.view import view
from bot.playground.local_slack import LocalSlack, SlackOptions
from tests.card.samples import NOW, SAMPLES

C = "C0INCIDENTS"
NAMES = list(SAMPLES)


@pytest.mark.parametrize("plan_supported", [True, False])
@pytest.mark.parametrize("name", NAMES)
async def test_slack_takes_the_card_of_every_state(name, plan_supported):
    slack = LocalSlack(SlackOptions(plan_supported=plan_supported))
    painted = blocks(view(SAMPLES[name], NOW), post_key="key1", plan_supported=plan_supported)
    said = {"channel": C, "text": painted.text, "blocks": list(painted.blocks), "metadata": painted.metadata}

    posted = await slack.call("chat.postMessage", said)
    updated = await slack.call("chat.update", {**said, "ts": posted.body.get("ts")})
    await slack.aclose()

    assert (posted.error, updated.error) == ("", "")
    assert slack.messages(C)[0].metadata == painted.metadata


async def test_a_card_can_become_every_other_card():
    slack = LocalSlack()
    painted = [blocks(view(facts, NOW), post_key="key1") for facts in SAMPLES.values()]
    posted = await slack.call("chat.postMessage", {"channel": C, "text": "a", "blocks": list(painted[-1].blocks)})

    answers = [
        await slack.call(
            "chat.update", {"channel": C, "ts": posted.body["ts"], "text": a.text, "blocks": list(a.blocks)}
        )
        for a in painted
    ]
    await slack.aclose()

    assert {answer.error for answer in answers} == {""}
