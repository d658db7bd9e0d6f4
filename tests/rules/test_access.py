"""Who somebody is, and who may press what; the table is written out here a second time, by hand."""

import itertools

import pytest

from bot.rules.access import ACCESS, ACTION_OF, Action, Right, as_markdown, may, refusal, source_of
from bot.rules.inbound_message import AuthorFacts, OurIds
from bot.rules.terms import Command, PersonClass, Source

OURS = OurIds(team_id="T0HOME", bot_user_id="U0SELF", bot_id="B0SELF", app_id="A0SELF")
ALERTS = frozenset({"A0ALRT", "B0HOOK"})

EVERYBODY = {Source.REQUESTER, Source.TEAMMATE, Source.GUEST}
WITHOUT_BEING_NAMED = {
    Action.STOP: EVERYBODY,
    Action.PAUSE: EVERYBODY,
    Action.STATUS: EVERYBODY,
    Action.RESUME: {Source.REQUESTER},
    Action.ROLL_BACK: {Source.REQUESTER},
    Action.APPROVE: set(),
    Action.VIEW_AUDIT: {Source.REQUESTER, Source.TEAMMATE},
    Action.CHANGE_POLICY: set(),
}


ACTION_AND_SOURCE = list(itertools.product(Action, Source))


def who(facts, person_class=PersonClass.MEMBER, *, is_requester=False):
    return source_of(facts, person_class, is_requester, ALERTS, OURS)


@pytest.mark.parametrize(("action", "source"), ACTION_AND_SOURCE)
def test_somebody_who_is_not_named_may_what_the_table_says(action, source):
    allowed = source in WITHOUT_BEING_NAMED[action]

    answer = may(action, source, is_approver=False)

    assert answer is allowed


@pytest.mark.parametrize(("action", "source"), ACTION_AND_SOURCE)
def test_a_name_in_the_list_of_approvers_opens_nothing_to_bots_and_outsiders(action, source):
    is_insider = source in EVERYBODY

    answer = may(action, source, is_approver=True)

    assert answer is is_insider


@pytest.mark.parametrize("source", Source)
def test_an_empty_list_of_approvers_means_nobody(source):
    assert may(Action.APPROVE, source, is_approver=False) is False


def test_every_action_has_a_right_for_every_source():
    assert set(ACCESS) == set(ACTION_AND_SOURCE)
    assert set(ACCESS.values()) == set(Right)


def test_every_command_word_is_an_action():
    assert set(ACTION_OF) == set(Command)
    assert [action.value for action in ACTION_OF.values()] == [command.value for command in ACTION_OF]


@pytest.mark.parametrize(("action", "source"), ACTION_AND_SOURCE)
def test_a_refused_person_is_told_what_would_work_and_a_bot_is_told_nothing(action, source):
    text = refusal(action, source)

    if source in {*EVERYBODY, Source.EXTERNAL}:
        assert text is not None
        assert "Ask" in text or "press Stop" in text
    else:
        assert text is None


def test_the_printed_table_is_the_table():
    printed = as_markdown()["access"].splitlines()

    assert printed == [
        "| action | requester | teammate | guest | external people and bots |",
        "| --- | --- | --- | --- | --- |",
        "| stop | yes | yes | yes | no |",
        "| pause | yes | yes | yes | no |",
        "| resume | yes | if named as an approver | if named as an approver | no |",
        "| roll back | yes | if named as an approver | if named as an approver | no |",
        "| approve | if named as an approver | if named as an approver | if named as an approver | no |",
        "| status | yes | yes | yes | no |",
        "| view audit | yes | yes | if named as an approver | no |",
        "| change policy | if named as an approver | if named as an approver | if named as an approver | no |",
    ]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (AuthorFacts("U0SELF", is_self=True), Source.SELF),
        (AuthorFacts("U0ANA", team_id="T0HOME", is_system=True), Source.SYSTEM),
        (AuthorFacts(None), Source.SYSTEM),
        (AuthorFacts(None, bot_id="B0X", app_id="A0ALRT", team_id="T0HOME"), Source.ALERT_BOT),
        (AuthorFacts(None, bot_id="B0HOOK", team_id="T0HOME"), Source.ALERT_BOT),
        (AuthorFacts(None, bot_id="B0X", app_id="A0ALRT"), Source.ALERT_BOT),
        (AuthorFacts(None, bot_id="B0X", app_id="A0OTHER", team_id="T0HOME"), Source.OTHER_BOT),
        (AuthorFacts("U0ANA", bot_id="B0WFLW", app_id="A0WFLW", team_id="T0HOME"), Source.OTHER_BOT),
        (AuthorFacts("U0ANA", app_id="A0WFLW", team_id="T0HOME"), Source.OTHER_BOT),
        (AuthorFacts("U0ANA", team_id="T0HOME"), Source.TEAMMATE),
        (AuthorFacts("U0EXT", team_id="T9"), Source.EXTERNAL),
    ],
)
def test_what_a_payload_says_of_its_author_gives_one_source(facts, expected):
    assert who(facts) is expected


def test_another_companys_copy_of_a_listed_alert_app_is_not_listed():
    facts = AuthorFacts(None, bot_id="B9", app_id="A0ALRT", team_id="T9")

    assert who(facts) is Source.OTHER_BOT


def test_a_post_made_in_the_requesters_name_by_an_app_is_not_the_requester():
    facts = AuthorFacts("U0ANA", bot_id="B0WFLW", app_id="A0WFLW", team_id="T0HOME")

    assert who(facts, is_requester=True) is Source.OTHER_BOT


@pytest.mark.parametrize(
    ("person_class", "team_id", "expected"),
    [
        (PersonClass.MEMBER, "T0HOME", Source.TEAMMATE),
        (PersonClass.MEMBER, None, Source.TEAMMATE),
        (PersonClass.GUEST, "T0HOME", Source.GUEST),
        (PersonClass.GUEST, None, Source.GUEST),
        (PersonClass.EXTERNAL, "T0HOME", Source.EXTERNAL),
        (PersonClass.EXTERNAL, None, Source.EXTERNAL),
        (PersonClass.UNKNOWN, "T0HOME", Source.GUEST),
        (PersonClass.UNKNOWN, None, Source.EXTERNAL),
        (PersonClass.MEMBER, "T9", Source.EXTERNAL),
        (PersonClass.UNKNOWN, "T9", Source.EXTERNAL),
    ],
)
def test_a_person_is_taken_for_the_strictest_that_they_can_be(person_class, team_id, expected):
    facts = AuthorFacts("U0ANA", team_id=team_id)

    assert who(facts, person_class) is expected


@pytest.mark.parametrize("person_class", [PersonClass.MEMBER, PersonClass.GUEST, PersonClass.UNKNOWN])
def test_a_requester_stays_the_requester_while_their_class_is_looked_up(person_class):
    facts = AuthorFacts("U0ANA", team_id="T0HOME")

    assert who(facts, person_class, is_requester=True) is Source.REQUESTER


@pytest.mark.parametrize(("person_class", "team_id"), [(PersonClass.EXTERNAL, None), (PersonClass.MEMBER, "T9")])
def test_somebody_from_outside_is_never_a_requester(person_class, team_id):
    facts = AuthorFacts("U0EXT", team_id=team_id)

    assert who(facts, person_class, is_requester=True) is Source.EXTERNAL


def test_whoever_it_is_there_is_a_source():
    choices = itertools.product(
        (None, "U0ANA", "U0SELF"), (None, "B0HOOK", "B9"), (None, "A0ALRT"), (None, "T0HOME", "T9"),
        (False, True), (False, True), PersonClass, (False, True),
    )  # fmt: skip

    sources = [who(AuthorFacts(*facts), person, is_requester=asked) for *facts, person, asked in choices]

    # Only what we write ourselves makes a sub-agent's report.
    assert set(sources) == set(Source) - {Source.SUBAGENT}
