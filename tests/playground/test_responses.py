"""The addresses that a click hands out for answers."""

import pytest

from bot.errors import SlackError
from bot.playground.responses import LIFE_S, Responses
from bot.playground.stamps import Stamps
from bot.playground.workspace import Message, Workspace
from tests.playground.samples import actions, button, section

C = "C0INCIDENTS"


@pytest.fixture
async def address(slack, ears):
    """Where a click by ana may be answered."""
    posted = await slack.call("chat.postMessage", {"channel": C, "text": "a", "blocks": [actions(button("stop"))]})
    await slack.click("ana", C, posted.body["ts"], "stop")
    (payload,) = await slack.wait_for(lambda: ears.payloads("interactive"))
    return payload["response_url"]


async def test_an_answer_is_for_the_person_who_clicked(slack, http, address):
    async with http.post(address, json={"text": "That run already ended"}) as answer:
        status = answer.status

    assert status == 200
    assert [found.text for found in slack.ephemerals("ana")] == ["That run already ended"]
    assert slack.ephemerals("ben") == []


async def test_an_answer_in_the_channel_is_for_everybody(slack, http, address):
    async with http.post(address, json={"text": "hello", "response_type": "in_channel"}):
        pass

    assert [message.text for message in slack.messages(C)] == ["a", "hello"]
    assert slack.ephemerals("ana") == []


async def test_an_address_answers_five_times(http, address):
    statuses = []
    for _ in range(6):
        async with http.post(address, json={"text": "again"}) as answer:
            statuses.append((answer.status, await answer.text()))

    assert statuses == [(200, "ok")] * 5 + [(404, "used_url")]


async def test_an_unknown_address_answers_nothing(slack, http):
    async with http.post(f"{slack.url}/response/RNOTHING", json={"text": "a"}) as answer:
        told = answer.status, await answer.text()

    assert told == (404, "expired_url")


async def test_an_ephemeral_can_be_replaced_and_taken_away(slack, ears, http):
    arguments = {"channel": C, "user": "U0ANA", "text": "sure?", "blocks": [actions(button("yes"))]}
    await slack.call("chat.postEphemeral", arguments)
    await slack.click("ana", C, slack.ephemerals("ana")[0].ts, "yes")
    (payload,) = await slack.wait_for(lambda: ears.payloads("interactive"))

    replaced = {"text": "done", "blocks": [section("done")], "replace_original": True}
    async with http.post(payload["response_url"], json=replaced):
        after = [found.text for found in slack.ephemerals("ana")]
    async with http.post(payload["response_url"], json={"delete_original": True}):
        pass

    assert after == ["done"]
    assert [found.text for found in slack.ephemerals("ana")] == ["done"]


def test_an_address_lives_for_half_an_hour():
    readings = [1_700_000_000.0]
    workspace = Workspace(Stamps(lambda: readings[-1]), lambda: None)
    responses = Responses(workspace, lambda event: None)
    key = responses.give("U0ANA", Message(C, "1.000001", "UBOT", "a"))

    readings.append(1_700_000_000.0 + LIFE_S)
    responses.answer(key, {"text": "in time"})
    readings.append(1_700_000_001.0 + LIFE_S)
    with pytest.raises(SlackError) as refused:
        responses.answer(key, {"text": "too late"})

    assert refused.value.error == "expired_url"
    assert [found.text for found in workspace.ephemerals] == ["in time"]
