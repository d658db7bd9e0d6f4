"""Who somebody is: asked of Slack as seldom as can be, for a second at most, and never of a bot."""

import asyncio

import pytest

from bot.playground.faults import Fault
from bot.rules.inbound_message import AuthorFacts
from bot.rules.terms import PersonClass
from bot.slack.people import People
from tests.slack.door import ANA, BEN, EVE, GUS, OUR, PASSWORD, Door


@pytest.mark.parametrize(
    ("who", "expected"), [(ANA, PersonClass.MEMBER), (GUS, PersonClass.GUEST), (EVE, PersonClass.EXTERNAL)]
)
async def test_slack_says_what_a_person_is(door, who, expected):
    person = await door.people.who(AuthorFacts(who))

    assert (person.user_id, person.person_class, person.name != "") == (who, expected, True)


async def test_a_person_is_asked_for_once_and_then_remembered(new_database_url):
    async with Door.open(new_database_url) as door:
        first = await door.people.who(AuthorFacts(ANA))
        # Without the table nothing but what is remembered can answer.
        await door.raw.execute("drop table people")

        again = await door.people.who(AuthorFacts(ANA))

        assert (first.person_class, again) == (PersonClass.MEMBER, first)
        assert door.asked_about() == [ANA]


async def test_a_person_who_is_not_known_is_asked_for_again(door):
    door.slack.fail(Fault("users.info", error="internal_error"))

    first = await door.people.who(AuthorFacts(ANA))
    second = await door.people.who(AuthorFacts(ANA))

    assert (first.person_class, second.person_class) == (PersonClass.UNKNOWN, PersonClass.MEMBER)
    assert door.people.names[ANA] == second.name


async def test_a_person_is_asked_about_once_by_all_processes(door):
    await door.people.who(AuthorFacts(ANA))
    another = People(door.database, door.calls, OUR)

    again = await another.who(AuthorFacts(ANA))

    assert again.person_class is PersonClass.MEMBER
    assert door.asked_about() == [ANA]


async def test_what_slack_said_a_day_ago_is_asked_again(door):
    await door.people.who(AuthorFacts(ANA))
    await door.raw.execute("update people set checked_at = now() - interval '25 hours'")
    another = People(door.database, door.calls, OUR)

    await another.who(AuthorFacts(ANA))

    assert door.asked_about() == [ANA, ANA]


@pytest.mark.parametrize(
    "author",
    [
        AuthorFacts("U0ALERTS", bot_id="B0ALERTS"),
        AuthorFacts(None, bot_id="B0HOOK"),
        AuthorFacts(ANA, app_id="A0OTHER"),
        AuthorFacts("UBOT", is_self=True),
        AuthorFacts("USLACKBOT", is_system=True),
    ],
)
async def test_apps_and_slack_itself_are_not_asked_about(door, author):
    person = await door.people.who(author)

    assert person.person_class is PersonClass.UNKNOWN
    assert door.asked_about() == []


async def test_who_may_not_be_asked_about_is_known_all_the_same_when_we_know_them(door):
    stranger = await door.people.who(AuthorFacts(BEN), may_ask=False)
    await door.people.who(AuthorFacts(ANA))

    known = await door.people.who(AuthorFacts(ANA), may_ask=False)

    assert (stranger.person_class, known.person_class) == (PersonClass.UNKNOWN, PersonClass.MEMBER)
    assert door.asked_about() == [ANA]


@pytest.mark.parametrize(
    "fault", [{"error": "user_not_found"}, {"status": 500}, {"retry_after": 30}, {"drop": True, "times": 9}]
)
async def test_what_slack_does_not_tell_is_not_kept(door, fault):
    door.slack.fail(Fault("users.info", **fault))

    person = await door.people.who(AuthorFacts(ANA))

    assert person.person_class is PersonClass.UNKNOWN
    assert await door.raw.fetchval("select count(*) from people") == 0


async def test_a_slow_answer_is_not_waited_for_longer_than_a_second(door):
    door.slack.fail(Fault("users.info", delay_s=20))
    began = asyncio.get_running_loop().time()

    person = await door.people.who(AuthorFacts(ANA))

    assert person.person_class is PersonClass.UNKNOWN
    assert 0.9 < asyncio.get_running_loop().time() - began < 3


async def test_a_name_is_scrubbed_and_stands_on_one_line(door):
    ana = door.slack.workspace.users[ANA]
    door.slack.workspace.users[ANA] = type(ana)(ana.id, f"ana {PASSWORD}\n@ben: stop xoxb-123456789-abc")

    person = await door.people.who(AuthorFacts(ANA))

    kept = await door.raw.fetchval("select name from people")
    assert person.name == kept == door.people.names[ANA] == "ana [redacted] @ben: stop [redacted]"


async def test_only_the_newest_names_are_kept(door):
    door.people.most_remembered = 2

    for who in (ANA, BEN, GUS):
        await door.people.who(AuthorFacts(who))

    assert list(door.people.names) == [BEN, GUS]
