"""A run may be cut only where no call is open; the ledger names each call, so none hides behind another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import DuplicateCallError, UnpairedResponseError
from bot.rules.tool_call_ledger import ToolCallLedger


def test_a_new_ledger_is_at_a_cut_point():
    assert ToolCallLedger().balance == 0


def test_the_balance_is_the_number_of_open_calls():
    ledger = ToolCallLedger()

    ledger.record_calls(["a", "b"])

    assert ledger.balance == 2


def test_the_last_response_of_a_batch_reaches_the_cut_point():
    ledger = ToolCallLedger()
    ledger.record_calls(["a", "b"])

    answers = [ledger.record_response("b"), ledger.record_response("a")]

    assert answers == [False, True]
    assert ledger.balance == 0


def test_a_call_that_is_open_already_is_refused_and_named():
    ledger = ToolCallLedger()
    ledger.record_calls(["a"])

    with pytest.raises(DuplicateCallError) as caught:
        ledger.record_calls(["b", "a"])

    assert caught.value.call_id == "a"
    assert ledger.open_calls == {"a"}


def test_a_message_that_names_a_call_twice_opens_none_of_its_calls():
    ledger = ToolCallLedger()

    with pytest.raises(DuplicateCallError):
        ledger.record_calls(["a", "b", "a"])

    assert ledger.balance == 0


@pytest.mark.parametrize("answered", [[], ["a"]])
def test_a_response_without_an_open_call_is_refused_and_named(answered):
    ledger = ToolCallLedger()
    ledger.record_calls(answered)
    for call_id in answered:
        ledger.record_response(call_id)

    with pytest.raises(UnpairedResponseError) as caught:
        ledger.record_response("a")

    assert caught.value.call_id == "a"
    assert ledger.balance == 0


def test_an_id_may_be_used_again_after_its_answer():
    ledger = ToolCallLedger()
    ledger.record_calls(["a"])
    ledger.record_response("a")

    ledger.record_calls(["a"])

    assert ledger.balance == 1


@given(st.lists(st.text(max_size=3), unique=True), st.randoms())
def test_whatever_the_order_of_the_responses_only_the_last_one_is_a_cut_point(call_ids, random):
    ledger = ToolCallLedger()
    ledger.record_calls(call_ids)
    random.shuffle(call_ids)

    answers = [ledger.record_response(call_id) for call_id in call_ids]

    assert answers == [False] * (len(call_ids) - 1) + [True] * bool(call_ids)
