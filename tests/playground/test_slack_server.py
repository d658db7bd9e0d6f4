"""The port of the local Slack: on loopback only, and for this machine's callers only."""

import pytest

from bot.errors import SettingsError
from bot.playground.local_slack import LocalSlack, SlackOptions
from bot.playground.slack_server import loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.8.8", "::1"])
def test_a_loopback_address_is_listened_on(host):
    found = loopback(host)

    assert found in ("127.0.0.1", "127.8.8.8", "::1")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "10.1.2.3", "playground.example", ""])
async def test_any_other_address_is_refused(host):
    options = SlackOptions(host=host)

    with pytest.raises(SettingsError) as refused:
        async with LocalSlack.running(options):
            pass

    assert refused.value.name == "playground host"


async def test_each_local_slack_gets_a_port_of_its_own(start):
    first, second = await start(), await start()

    urls = {first.url, second.url}

    assert len(urls) == 2
    assert all(url.startswith("http://127.0.0.1:") for url in urls)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
async def test_a_web_page_of_somewhere_else_cannot_reach_it(slack, http, headers, status):
    async with http.get(f"{slack.url}/_playground/state", headers=headers) as answer:
        found = answer.status

    assert found == status


async def test_its_own_page_may_give_orders(slack, http):
    body = {"user": "ana", "channel": "#incidents", "text": "hello"}

    async with http.post(f"{slack.url}/_playground/say", json=body, headers={"Origin": slack.url}) as answer:
        told = await answer.json()

    assert told["ok"]


async def test_nothing_of_it_is_left_when_it_ends(http):
    async with LocalSlack.running() as slack:
        url = slack.url

    with pytest.raises(OSError, match="Cannot connect"):
        await http.get(url)
