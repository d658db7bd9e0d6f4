"""Who is in a user group: asked of Slack once in five minutes, and nobody where Slack does not say."""

import asyncio

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.card.slack_calls import SlackCalls
from bot.playground.faults import Fault
from bot.playground.local_slack import LocalSlack
from bot.slack.user_groups import UserGroups

METHOD = "usergroups.users.list"
ONCALL, ANA, BEN = "S0ONCALL", "U0ANA", "U0BEN"


@pytest.fixture
async def slack():
    async with LocalSlack.running() as slack:
        yield slack


def groups_of(slack: LocalSlack, **more: float) -> UserGroups:
    client = AsyncWebClient(token="xoxb-playground", base_url=f"{slack.url}/api/", retry_handlers=[])
    return UserGroups(SlackCalls(client), **more)


def asked(slack: LocalSlack) -> list[object]:
    return [call.arguments["usergroup"] for call in slack.calls(METHOD)]


async def test_slack_says_who_is_in_a_group(slack):
    members = await groups_of(slack).members([ONCALL])

    assert members == {ONCALL: {ANA, BEN}}


async def test_a_group_is_asked_for_once_and_then_remembered(slack):
    groups = groups_of(slack)

    first, second = await groups.members([ONCALL]), await groups.members([ONCALL, ONCALL])

    assert first == second == {ONCALL: {ANA, BEN}}
    assert asked(slack) == [ONCALL]


async def test_what_is_older_than_it_may_be_is_asked_again(slack):
    groups = groups_of(slack, remembered_s=0.0)

    await groups.members([ONCALL])
    await groups.members([ONCALL])

    assert asked(slack) == [ONCALL, ONCALL]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(METHOD, error="missing_scope"),
        Fault(METHOD, error="internal_error"),
        Fault(METHOD, status=500),
        Fault(METHOD, lose=True, times=5),
        Fault(METHOD, retry_after=30.0),
    ],
    ids=["missing scope", "internal error", "500", "lost", "rate limited"],
)
async def test_of_a_group_that_slack_says_nothing_about_nobody_is_a_member(slack, fault):
    slack.fail(fault)

    members = await groups_of(slack).members([ONCALL])

    assert members == {ONCALL: frozenset()}


async def test_a_slow_slack_is_waited_for_a_second_and_then_nobody_is_a_member(slack):
    slack.fail(Fault(METHOD, delay_s=5.0))

    async with asyncio.timeout(4.0):
        members = await groups_of(slack).members([ONCALL])

    assert members == {ONCALL: frozenset()}


async def test_a_failure_is_not_remembered(slack):
    slack.fail(Fault(METHOD, error="internal_error"))
    groups = groups_of(slack)

    first, second = await groups.members([ONCALL]), await groups.members([ONCALL])

    assert (first, second) == ({ONCALL: frozenset()}, {ONCALL: {ANA, BEN}})


async def test_an_old_answer_does_not_stand_in_for_a_slack_that_is_away(slack):
    groups = groups_of(slack, remembered_s=0.0)
    await groups.members([ONCALL])
    slack.fail(Fault(METHOD, error="internal_error"))

    members = await groups.members([ONCALL])

    assert members == {ONCALL: frozenset()}


async def test_a_group_that_is_not_there_has_nobody_in_it_and_the_others_are_told(slack):
    members = await groups_of(slack).members(["S0NONE", ONCALL])

    assert members == {"S0NONE": frozenset(), ONCALL: {ANA, BEN}}


async def test_the_oldest_group_is_forgotten_where_there_are_too_many(slack):
    groups = groups_of(slack)
    groups.most_remembered = 0

    await groups.members([ONCALL])
    await groups.members([ONCALL])

    assert asked(slack) == [ONCALL, ONCALL]
