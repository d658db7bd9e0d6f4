"""What a write needs before it may run, what a yes is bound to, and what the model is told of one that did not run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.rules.terms import ApprovalState, CallOutcome, Grade
from bot.rules.tool_policy import (
    BLOCKED_BY,
    IS_OPEN,
    LONGEST_SHOWN,
    MOVES,
    PERMISSION,
    WHY_REFUSED,
    ApprovalTerms,
    BoundCall,
    Permission,
    ReviewedCall,
    WriteRefusal,
    fingerprint,
    members,
    refusal,
    told,
)

TERMS = ApprovalTerms(("U1", "U2"))
CALL = BoundCall("run", "call", "restart", "POST site", "restart checkout", {"service": "checkout", "n": [1, None]})
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def test_every_grade_has_a_permission_and_only_a_read_runs_by_itself():
    assert set(PERMISSION) == set(Grade)
    assert [grade for grade, what in PERMISSION.items() if what is Permission.RUNS] == [Grade.READ]


def test_every_refusal_says_what_is_wrong():
    assert set(WHY_REFUSED) == set(WriteRefusal)
    assert all(words.endswith(".") for words in WHY_REFUSED.values())


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (ReviewedCall(TERMS, "restart"), None),
        (ReviewedCall(ApprovalTerms(), "restart"), WriteRefusal.NOBODY),
        (ReviewedCall(ApprovalTerms(("U1",), needed=2), "restart"), WriteRefusal.TOO_FEW),
        (ReviewedCall(ApprovalTerms(("U1", "U1"), needed=2), "restart"), WriteRefusal.TOO_FEW),
        (ReviewedCall(ApprovalTerms(("S1",), needed=2), "restart"), None),
        (ReviewedCall(TERMS, "x" * LONGEST_SHOWN), None),
        (ReviewedCall(TERMS, "x" * (LONGEST_SHOWN + 1)), WriteRefusal.TOO_LARGE),
        (ReviewedCall(TERMS, "restart", has_secret=True), WriteRefusal.SECRET),
        (ReviewedCall(TERMS, "restart", is_storable=False), WriteRefusal.NOT_STORABLE),
    ],
)
def test_people_are_only_asked_what_they_can_decide(call, why):
    assert refusal(call) is why


def test_a_group_stands_for_its_members_and_an_unknown_one_for_nobody():
    groups = {"S1": frozenset({"U3", "U4"})}

    assert members(("U1", "S1", "S2"), groups) == {"U1", "U3", "U4"}
    assert members((), groups) == frozenset()


@pytest.mark.parametrize("part", ["run_id", "call_id", "tool", "target", "shown", "arguments"])
def test_another_part_gives_another_fingerprint(part):
    parts = {name: getattr(CALL, name) for name in BoundCall.__slots__}
    other = {**parts, part: {"service": "checkout"} if part == "arguments" else "another"}

    assert fingerprint(BoundCall(**other)) != fingerprint(CALL)


def test_words_cannot_move_from_one_part_to_the_next():
    one = BoundCall("run", "call", "a", "bc", "", {})
    other = BoundCall("run", "call", "ab", "c", "", {})

    assert fingerprint(one) != fingerprint(other)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_arguments_have_the_same_fingerprint_after_they_were_written_down_and_read_again(arguments):
    again = json.loads(json.dumps(dict(reversed(arguments.items()))))

    assert fingerprint(_with(arguments)) == fingerprint(_with(again))


@given(JSON, JSON)
def test_arguments_with_one_fingerprint_are_equal_json(one, other):
    if fingerprint(_with({"a": one})) == fingerprint(_with({"a": other})):
        assert one == other


def test_a_number_that_the_database_writes_another_way_is_the_same_number():
    assert fingerprint(_with({"a": 1e22})) == fingerprint(_with({"a": 10**22}))
    assert fingerprint(_with({"a": True})) != fingerprint(_with({"a": 1}))


def _with(arguments):
    return BoundCall("run", "call", "restart", "POST site", "restart", arguments)


def test_what_has_ended_never_comes_back_and_a_use_needs_a_yes():
    assert set(MOVES) == set(ApprovalState)
    assert {ApprovalState.WAITING, ApprovalState.APPROVED} == IS_OPEN
    assert [was for was in MOVES if ApprovalState.USED in MOVES[was]] == [ApprovalState.APPROVED]


@pytest.mark.parametrize("state", list(ApprovalState))
def test_the_model_is_told_of_every_state_in_which_the_write_did_not_run(state):
    closing = told(state)

    assert (closing is None) == (state in IS_OPEN)
    assert closing is None or closing.outcome is not CallOutcome.OK


def test_denied_expired_and_superseded_are_told_apart():
    ended = (ApprovalState.DENIED, ApprovalState.EXPIRED, ApprovalState.SUPERSEDED, ApprovalState.USED)
    texts = [told(state).text for state in ended]

    assert len(set(texts)) == len(ended)
    assert "said no" in texts[0]
    assert "in time" in texts[1]
    assert "outcome unknown" in texts[3]
    assert set(BLOCKED_BY) == {ApprovalState.DENIED, ApprovalState.EXPIRED}
