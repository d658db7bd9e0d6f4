"""Which tools a channel and a requester have: total, and never more than a rule that fits says."""

import itertools
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from bot.rules.tool_access import KNOWN, RequesterClass, tools_for

READ, DNS, LOGS = "http_get", "dns", "logs"


@dataclass(frozen=True)
class Rule:
    channel: str | None
    requester: RequesterClass | None
    allow: frozenset[str]


def rule(channel, requester, *names) -> Rule:
    return Rule(channel, requester, frozenset(names))


KEYS = list(itertools.product((None, "C1", "C2"), (None, *RequesterClass)))
RULES = st.dictionaries(st.sampled_from(KEYS), st.frozensets(st.sampled_from([READ, DNS, LOGS]))).map(
    lambda chosen: [Rule(*key, allow) for key, allow in chosen.items()]
)


@given(st.sampled_from(["C1", "C9"]), st.sampled_from(RequesterClass))
def test_without_a_rule_everybody_has_every_tool(channel, requester):
    assert tools_for([], channel, requester) is None


@given(RULES, st.sampled_from(["C1", "C2", "C9"]), st.sampled_from(RequesterClass))
def test_every_channel_and_class_has_an_answer_that_does_not_depend_on_the_order(rules, channel, requester):
    answer = tools_for(rules, channel, requester)

    assert answer is None or answer <= {READ, DNS, LOGS}
    assert tools_for(list(reversed(rules)), channel, requester) == answer


def test_the_rule_that_names_most_counts():
    rules = [
        rule(None, None, READ),
        rule(None, RequesterClass.MEMBER, DNS),
        rule("C1", None, LOGS),
        rule("C1", RequesterClass.MEMBER, READ, DNS),
    ]

    answers = [
        tools_for(rules, channel, requester)
        for channel, requester in itertools.product(("C1", "C2"), (RequesterClass.MEMBER, RequesterClass.GUEST))
    ]

    assert answers == [{READ, DNS}, {LOGS}, {DNS}, {READ}]


def test_a_rule_of_another_channel_or_class_changes_nothing():
    rules = [rule("C2", None), rule(None, RequesterClass.GUEST)]

    assert tools_for(rules, "C1", RequesterClass.MEMBER) is None


def test_a_rule_that_allows_nothing_leaves_no_tool():
    assert tools_for([rule("C1", None)], "C1", RequesterClass.ALERT) == frozenset()


@given(RULES, st.sampled_from(["C1", "C2", "C9"]))
def test_whom_nobody_knows_has_nothing_that_somebody_there_lacks(rules, channel):
    unknown = tools_for(rules, channel, RequesterClass.UNKNOWN)

    for known in KNOWN:
        theirs = tools_for(rules, channel, known)
        assert theirs is None or (unknown is not None and unknown <= theirs)
