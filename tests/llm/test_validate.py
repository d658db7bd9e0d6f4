"""The neutral rules: as strict as all dialects together, checked against the table and an independent judge."""

import pytest
from hypothesis import given, settings

from bot.errors import PairingError
from bot.llm import validate
from bot.llm.validate import check_messages, check_tools
from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, ToolSchema, UserMessage
from bot.rules.terms import CallOutcome
from tests.llm import histories, mistral
from tests.llm.notation import neutral


def round_of(call: ToolCall, result: str = "ok") -> list[Message]:
    """A question, one call, its result."""
    return [UserMessage("hi"), AssistantMessage("", (call,)), ToolResult(call.id, "f", result)]


def call(name: str = "f", arguments: object = None, call_id: str = "aaaaaaaaa") -> ToolCall:
    """A call with something odd in it."""
    return ToolCall(call_id, name, {} if arguments is None else arguments)


REFUSED = {
    "C01 A01 G01 B01 M01": ("N05", neutral("U A[a,b] T[a] U")),
    "C02 A02": ("N05", [*neutral("U A[a] T[a] A[b] U")]),
    "G02": ("N05", neutral("U A[a] U")),
    "C03 G03 D02": ("N06", neutral("U T[a]")),
    "A03": ("N01", neutral("T[a]")),
    "C04": ("N06", neutral("U A[a] T[x] T[a]")),
    "C05 A09 B02 B07": ("N07", neutral("U A[a] T[a] T[a]")),
    "C06": ("N05", neutral("U A[a] U T[a]")),
    "A04": ("N05", neutral("U A[a] U A T[a]")),
    "C07": ("N03", round_of(call(call_id="x" * 41))),
    "M03": ("N03", round_of(call(call_id="call_1"))),
    "A12": ("N03", round_of(call(call_id="a.b"))),
    "C12 A08": ("N04", neutral("U A[a] T[a] A[a] T[a]")),
    "C13": ("N04", neutral("U A[a,a] T[a] T[a]")),
    "C14": ("N11", round_of(call(name="n" * 65))),
    "C14 characters": ("N11", round_of(call(name="functions.get"))),
    "K01 C09": ("N09", [UserMessage("hi"), AssistantMessage(""), UserMessage("hi")]),
    "A10 G08": ("N09", [UserMessage(" \n")]),
    "B04": ("N09", round_of(call(), result="")),
    "A13 V01 Q02": ("N12", round_of(call(arguments=["a"]))),
    "V01 not a number": ("N12", round_of(call(arguments={"n": float("nan")}))),
    "A15 G05": ("N01", neutral("A[a] T[a]")),
    "G04": ("N08", neutral("U A A[a] T[a]")),
    "V02 B03": ("N08", neutral("U U")),
    "A19 G07 M04": ("N02", neutral("U A")),
    "NUL": ("N10", [UserMessage("a\0b")]),
    "a lone surrogate": ("N10", [UserMessage("a\ud800b")]),
    "nothing": ("N01", []),
}
ACCEPTED = {
    "C11 any order": neutral("U A[a,b] T[b] T[a]"),
    "A06 a steer after the results": neutral("U A[a] T[a] U"),
    "M02 user after tool": neutral("U A[a] T[a] U A U"),
    "rounds": neutral("U A[a] T[a] A[b,c] T[b] T[c]"),
}


@pytest.mark.parametrize(("rule", "messages"), REFUSED.values(), ids=REFUSED)
def test_what_any_dialect_refuses_is_refused_before_it_is_sent(rule: str, messages: list[Message]) -> None:
    with pytest.raises(PairingError) as refused:
        check_messages(messages)

    assert refused.value.rule == rule


@pytest.mark.parametrize("messages", ACCEPTED.values(), ids=ACCEPTED)
def test_what_every_dialect_accepts_is_accepted(messages: list[Message]) -> None:
    assert check_messages(messages) is None
    assert mistral.refusal(messages) is None


def test_no_neutral_rule_is_without_an_input_that_it_refuses() -> None:
    proved = {rule for rule, _ in REFUSED.values()}

    assert proved == set(validate.RULES)


@settings(max_examples=200, deadline=None)
@given(histories.broken())
def test_nothing_passes_that_an_independent_judge_refuses(messages: list[Message]) -> None:
    try:
        check_messages(messages)
    except PairingError:
        return

    assert mistral.refusal(messages) is None


@pytest.mark.parametrize("one", ["aaaaaaaa", "aaaaaaaaaa", "aaaa_aaaa", "éaaaaaaaa", "aaaaaaaa\n", "", None])
def test_only_nine_letters_or_digits_are_portable(one: object) -> None:
    assert not validate.is_portable(one)
    assert validate.is_portable("aB3456789")


def test_the_outcome_of_a_call_does_not_decide_whether_a_history_may_be_sent() -> None:
    for outcome in CallOutcome:
        messages = [*neutral("U A[a]"), ToolResult("aaaaaaaaa", "f", "said", outcome)]

        assert check_messages(messages) is None


@pytest.mark.parametrize(("rule", "names"), [("T01", ["a.b"]), ("T01", [""]), ("T01", ["n" * 65]), ("T02", ["f", "f"])])
def test_tools_with_names_that_a_dialect_refuses_are_refused(rule: str, names: list[str]) -> None:
    tools = [ToolSchema(name, "", {}) for name in names]

    with pytest.raises(PairingError) as refused:
        check_tools(tools)

    assert refused.value.rule == rule
    assert check_tools([ToolSchema("get_logs", "", {}), ToolSchema("restart-service", "", {})]) is None
