"""What a host's robots.txt says is kept to, and it comes through the same door."""

import pytest
from aiohttp import web

from bot.egress.client import AttemptOutcome
from bot.egress.rate_limit import Pace
from bot.egress.robots import RobotsBook
from bot.egress.rules import EgressRules, RuleEntry
from bot.errors import ToolBlockedError
from tests.egress.site import Resolver, client_of, says
from tests.egress.street import Street

RULES = "User-agent: *\nDisallow: /private\n\nUser-agent: steersman\nDisallow: /bots\n"


async def test_a_path_that_a_host_does_not_want_read_is_blocked_and_the_rest_is_read(street):
    street.answers |= {"/robots.txt": says(RULES), "/page": says("text"), "/bots/x": says("no")}
    client = street.client()

    page = await street.fetch(client, "/page")
    with pytest.raises(ToolBlockedError, match=r"does not want /bots/x to be read") as caught:
        await street.fetch(client, "/bots/x")

    assert (page.body, caught.value.rule) == (b"text", "egress.robots")
    assert street.paths == ["/robots.txt", "/page"]


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_a_host_without_rules_forbids_nothing(street, status: int):
    street.answers |= {"/robots.txt": says("", status), "/page": says("text")}

    reply = await street.fetch(street.client(), "/page")

    assert reply.body == b"text"


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_host_that_cannot_tell_its_rules_forbids_everything_for_now(street, status: int):
    street.answers |= {"/robots.txt": says("", status), "/page": says("text")}

    with pytest.raises(ToolBlockedError, match="so nothing of it may be read now"):
        await street.fetch(street.client(), "/page")

    assert street.paths == ["/robots.txt"]


async def test_what_a_host_said_is_asked_once_for_all_runs(street):
    street.answers |= {"/robots.txt": says(RULES), "/page": says("text")}

    await street.fetch(street.client(), "/page")
    await street.fetch(street.client(), "/page")

    assert street.paths == ["/robots.txt", "/page", "/page"]


async def test_an_api_and_an_internal_host_are_not_asked(street):
    street.answers |= {"/page": says("text")}
    (rule,) = EgressRules.parse([RuleEntry(f"http://{street.host}", api=True)], []).allow

    await street.fetch(street.client(EgressRules((rule,))), "/page")

    assert street.paths == ["/page"]


async def test_asking_is_a_request_of_its_own_under_the_same_rule_and_name(street):
    attempts = []

    async def record(attempt):
        attempts.append(attempt)

    street.answers |= {"/robots.txt": says(RULES), "/page": says("text")}
    await street.fetch(street.client(record=record), "/page")

    assert [(each.number, each.url, each.outcome) for each in attempts] == [
        (1, f"http://{street.host}/robots.txt", AttemptOutcome.ANSWERED),
        (2, f"http://{street.host}/page", AttemptOutcome.ANSWERED),
    ]
    assert {request.headers["User-Agent"] for request in street.seen} == {"steersman/1 (+mailto:sre@example.com)"}


async def test_the_secret_of_a_rule_is_not_told_to_robots(street):
    async def echo(request: web.Request) -> web.StreamResponse:
        return web.Response(status=404 if "Authorization" not in request.headers else 500)

    street.answers |= {"/robots.txt": echo, "/page": says("text")}

    reply = await street.fetch(street.client(), "/page")

    assert reply.status == 200


async def test_no_name_is_looked_up_twice_for_one_call(street):
    street.answers |= {"/robots.txt": says(RULES), "/page": says("text")}

    await street.fetch(street.client(), "/page")

    assert street.resolver.questions == [(street.host, 80)]


@pytest.fixture
async def street():
    async with Street.open(Resolver(["93.184.216.34"]), RobotsBook(), Pace()) as street:
        yield street


def test_the_door_that_a_test_uses_asks_no_robots_by_itself():
    assert client_of(EgressRules()).rules == EgressRules()
