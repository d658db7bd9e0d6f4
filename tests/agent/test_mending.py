"""The send boundary: whatever an older fault left is mended, once, truthfully, and counted."""

import copy

import pytest
from hypothesis import given, settings

from bot.agent.history import FixKind, flat, mend, project
from bot.agent.matching import NO_RESULT
from bot.agent.mending import GO_ON, MISSING_START, NO_OUTPUT
from bot.llm.anthropic_messages import request_body as anthropic_body
from bot.llm.openai_chat import request_body as openai_body
from bot.llm.provider import ModelRequest
from bot.llm.validate import check_anthropic, check_messages, check_openai, is_portable
from bot.rules.messages import AssistantMessage, Event, Message, ToolCall, ToolResult, UserMessage
from bot.rules.terms import CallOutcome
from tests.llm import histories, mistral
from tests.llm.notation import neutral

A, B = "a" * 9, "b" * 9


def fixes(messages: list[Message]) -> list[FixKind]:
    """What had to be mended, in order."""
    return [fix.kind for fix in mend(messages).fixes]


def assert_sendable(messages: tuple[Message, ...]) -> None:
    """Every judge accepts the messages, in every form."""
    request = ModelRequest("m", "be brief", messages, ())
    assert check_messages(messages) is None
    assert mistral.refusal(messages) is None
    assert check_openai(openai_body(request)) is None
    assert check_anthropic(anthropic_body(request)) is None


def test_a_call_without_a_result_is_answered_with_what_is_known_of_it() -> None:
    mended = mend(neutral("U A[a,b] T[a] U"))

    assert mended.messages[3] == ToolResult(B, "f", NO_RESULT, CallOutcome.UNKNOWN)
    assert [(fix.kind, fix.at, fix.call_id) for fix in mended.fixes] == [(FixKind.NO_RESULT, 1, B)]


def test_a_result_without_a_call_is_dropped() -> None:
    mended = mend(neutral("U A[a] T[a] T[x]"))

    assert mended.messages == tuple(neutral("U A[a] T[a]"))
    assert [fix.kind for fix in mended.fixes] == [FixKind.ORPHAN]


def test_of_two_results_the_first_is_kept() -> None:
    first, second = ToolResult(A, "f", "first"), ToolResult(A, "f", "second")

    mended = mend([*neutral("U A[a]"), first, second])

    assert mended.messages[2:] == (first,)
    assert [fix.kind for fix in mended.fixes] == [FixKind.DUPLICATE]


def test_a_real_result_beats_one_that_mending_made_up_before_it() -> None:
    made_up, real = ToolResult(A, "f", NO_RESULT, CallOutcome.UNKNOWN), ToolResult(A, "f", "it came after all")

    mended = mend([*neutral("U A[a]"), made_up, UserMessage("hi"), real])

    assert mended.messages[2] == real
    assert [fix.kind for fix in mended.fixes] == [FixKind.MOVED, FixKind.DUPLICATE]


@pytest.mark.parametrize("shorthand", ["U A[a] U T[a]", "U T[a] A[a] U"])
def test_a_result_that_came_late_or_early_is_moved_next_to_its_call(shorthand: str) -> None:
    mended = mend(neutral(shorthand))

    assert [type(message) for message in mended.messages] == [UserMessage, AssistantMessage, ToolResult, UserMessage]
    assert [fix.kind for fix in mended.fixes] == [FixKind.MOVED]


def test_a_result_after_its_call_beats_one_that_stands_before_it() -> None:
    stray, own = ToolResult(A, "f", "of another time"), ToolResult(A, "f", "its own")

    mended = mend([UserMessage("hi"), stray, AssistantMessage("", (ToolCall(A, "f", {}),)), own])

    assert mended.messages[2:] == (own,)
    assert [fix.kind for fix in mended.fixes] == [FixKind.DUPLICATE]


def test_an_id_that_is_minted_is_none_that_a_later_call_has() -> None:
    minted = mend(neutral("U A[call_1] T[call_1]")).messages[1].calls[0].id

    mended = mend(neutral(f"U A[call_1] T[call_1] A[{minted}] T[{minted}]"))

    assert mended.messages[3].calls[0].id == minted
    assert mended.messages[1].calls[0].id != minted


def test_an_id_that_is_used_again_is_minted_anew_and_each_call_keeps_its_own_result() -> None:
    once = [*neutral("U A[a]"), ToolResult(A, "f", "first"), AssistantMessage("", (ToolCall(A, "f", {}),))]

    mended = mend([*once, ToolResult(A, "f", "second")])

    again = mended.messages[3].calls[0].id
    assert again != A
    assert is_portable(again)
    assert mended.messages[2] == ToolResult(A, "f", "first")
    assert mended.messages[4] == ToolResult(again, "f", "second")
    assert [fix.kind for fix in mended.fixes] == [FixKind.REMINTED]


def test_a_second_call_under_one_id_does_not_take_the_result_of_the_first() -> None:
    mended = mend(neutral("U A[a] T[a] A[a] U"))

    assert mended.messages[2].text == "ok"
    assert mended.messages[4].text == NO_RESULT


def test_two_calls_under_one_id_in_one_message_get_their_results_in_order() -> None:
    results = [ToolResult(A, "f", "first"), ToolResult(A, "f", "second")]

    mended = mend([*neutral("U A[a,a]"), *results])

    assert [message.text for message in mended.messages[2:]] == ["first", "second"]


def test_ids_are_minted_the_same_every_time_however_long_the_history_grows() -> None:
    short = neutral("U A[call_1] T[call_1]")

    minted = [
        mend(messages).messages[1].calls[0].id for messages in (short, short, [*short, *neutral("A U A[b] T[b]")])
    ]

    assert len(set(minted)) == 1
    assert is_portable(minted[0])


def test_text_that_cannot_be_sent_is_cleaned_and_blank_results_say_so() -> None:
    call = ToolCall(A, "functions.get", {"q\0": "\ud800"}, "\0")

    mended = mend([UserMessage("a\0"), AssistantMessage("\ud800", (call,)), ToolResult(A, "f", "")])

    assert mended.messages == (
        UserMessage("a\ufffd"),
        AssistantMessage("\ufffd", (ToolCall(A, "functions_get", {"q\ufffd": "\ufffd"}, "\ufffd"),)),
        ToolResult(A, "f", NO_OUTPUT),
    )
    assert {fix.kind for fix in mended.fixes} == {FixKind.CLEANED}


@pytest.mark.parametrize("arguments", [["a"], "x", None, {"n": float("nan")}, {"o": object()}])
def test_arguments_that_are_no_json_object_become_an_empty_one(arguments: object) -> None:
    messages = [UserMessage("hi"), AssistantMessage("", (ToolCall(A, "f", arguments),)), ToolResult(A, "f", "ok")]

    mended = mend(messages)

    assert mended.messages[1].calls[0].arguments == {}


@pytest.mark.parametrize(
    ("messages", "texts", "kind"),
    [
        (neutral("A U"), [MISSING_START, "so", "hi"], FixKind.BRIDGED),
        (neutral("U A A U"), ["hi", "so", GO_ON, "so", "hi"], FixKind.BRIDGED),
        (neutral("U A"), ["hi", "so", GO_ON], FixKind.GO_ON),
        ([], [GO_ON], FixKind.GO_ON),
        ([UserMessage("hi"), AssistantMessage(" \n")], ["hi"], FixKind.EMPTY),
        (
            [UserMessage("hi"), AssistantMessage("so"), UserMessage(" "), UserMessage("go")],
            ["hi", "so", "go"],
            FixKind.EMPTY,
        ),
        (neutral("U U"), ["hi\n\nhi"], FixKind.JOINED),
    ],
)
def test_roles_are_bridged_so_that_they_alternate(messages: list[Message], texts: list[str], kind: FixKind) -> None:
    mended = mend(messages)

    assert [message.text for message in mended.messages] == texts
    assert [fix.kind for fix in mended.fixes] == [kind]


def test_a_message_that_needs_no_mending_keeps_its_providers_blocks_and_a_changed_one_loses_them() -> None:
    blocks = ({"type": "thinking", "thinking": "hm", "signature": "S"},)
    kept = AssistantMessage("", (ToolCall(A, "f", {}),), "anthropic", "m", blocks)
    changed = AssistantMessage("", (ToolCall(A, "f", {}),), "anthropic", "m", blocks)
    answer = ToolResult(A, "f", "ok")

    mended = mend([UserMessage("hi"), kept, answer, changed, answer])

    assert mended.messages[1] == kept
    assert mended.messages[3].provider_blocks == ()


def test_flat_tells_every_round_as_the_users_text_and_holds_no_call() -> None:
    call = ToolCall(A, "get_logs", {"q": "é"})
    messages = [
        UserMessage("why?"),
        AssistantMessage("let me look", (call,), "anthropic", "m", ({"type": "thinking"},)),
        ToolResult(A, "get_logs", "no such pod", CallOutcome.FAILED),
        UserMessage("and now?"),
    ]

    told = flat(messages)

    assert told == (
        UserMessage("why?"),
        AssistantMessage("let me look"),
        UserMessage('(the tool get_logs was called with {"q": "é"}; outcome: failed)\nno such pod\n\nand now?'),
    )


def test_flat_of_rounds_without_text_is_one_message_of_the_user() -> None:
    told = flat(neutral("U A[a,b] T[a] T[b] A[c] T[c]"))

    assert len(told) == 1
    assert told[0].text.count("was called with") == 3


def test_flat_tells_of_a_lost_result_that_it_is_unknown() -> None:
    told = flat(neutral("U A[a] U"))

    assert NO_RESULT in told[0].text
    assert "outcome: unknown" in told[0].text


@settings(max_examples=250, deadline=None)
@given(histories.damaged())
def test_after_any_one_fault_in_what_is_stored_the_history_can_still_be_sent(events: list[Event]) -> None:
    before = copy.deepcopy(events)

    mended = mend(project(events))

    assert_sendable(mended.messages)
    assert_sendable(flat(project(events)))
    assert events == before


@settings(max_examples=300, deadline=None)
@given(histories.broken())
def test_whatever_messages_are_given_what_comes_out_can_be_sent_and_needs_no_more_mending(
    messages: list[Message],
) -> None:
    mended = mend(messages)

    assert_sendable(mended.messages)
    assert mend(mended.messages).messages == mended.messages
    assert mend(mended.messages).fixes == ()
    assert mend(messages) == mended


@settings(max_examples=200, deadline=None)
@given(histories.broken())
def test_flat_can_always_be_sent_and_holds_no_call_and_no_block(messages: list[Message]) -> None:
    told = flat(messages)

    assert_sendable(told)
    assert not any(isinstance(message, ToolResult) for message in told)
    assert not any(
        message.calls or message.provider_blocks for message in told if isinstance(message, AssistantMessage)
    )


@settings(max_examples=200, deadline=None)
@given(histories.broken())
def test_mending_never_invents_a_call_and_never_drops_one(messages: list[Message]) -> None:
    def called(some: tuple[Message, ...] | list[Message]) -> int:
        return sum(len(message.calls) for message in some if isinstance(message, AssistantMessage))

    assert called(mend(messages).messages) == called(messages)


def test_a_history_that_passes_comes_back_as_it_was_with_its_results_in_call_order() -> None:
    messages = tuple(neutral("U A[a,b] T[a] T[b] U A U"))

    assert mend(messages).messages == messages
    assert mend(neutral("U A[a,b] T[b] T[a] U A U")).messages == messages
    assert fixes(neutral("U A[a,b] T[b] T[a] U A U")) == []
