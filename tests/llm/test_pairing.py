"""The reference table of pairing rules, row by row: what each dialect refuses, and what it accepts."""

import pytest

from bot.errors import PairingError
from bot.llm import pairing_anthropic, pairing_openai
from bot.llm.validate import check_anthropic, check_openai
from tests.llm.notation import anthropic, openai, openai_call, result, said, text, use


def with_assistant(**fields: object) -> dict[str, object]:
    """An OpenAI body whose model message has these fields."""
    return {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", **fields}]}


def called(call_id: str = "a", name: str = "f", arguments: object = "{}", **more: object) -> dict[str, object]:
    """An OpenAI body with one answered call."""
    assistant = {"role": "assistant", "content": None, "tool_calls": [openai_call(call_id, name, arguments)]}
    answer = {"role": "tool", "tool_call_id": call_id, "content": "ok"}
    return {"messages": [{"role": "user", "content": "hi"}, assistant, answer], **more}


OPENAI_REFUSED = {
    "C01": ("C01", openai("U A[a,b] T[a] U")),
    "C02": ("C01", openai("U A[a]")),
    "C03": ("C03", openai("U T[a]")),
    "C04": ("C04", openai("U A[a] T[x] T[a]")),
    "C05": ("C05", openai("U A[a] T[a] T[a]")),
    "C05 with a dangling call": ("C01", openai("U A[a,b] T[a] T[a]")),
    "C06": ("C01", openai("U A[a] U T[a]")),
    "C07": ("C07", called("x" * 41)),
    "C07 empty": ("C07", called("")),
    "C08": ("C08", with_assistant(content="so", tool_calls=[])),
    "C09": ("C09", with_assistant(content=None)),
    "C10": ("C10", with_assistant(content=[], tool_calls=[openai_call("a")])),
    "C13": ("C13", openai("U A[a,a] T[a] T[a]")),
    "C14": ("C14", called(name="n" * 65)),
    "C14 characters": ("C14", called(name="functions.get")),
    "C14 empty": ("C14", called(name="")),
    "C14 tools": ("C14", called(tools=[{"type": "function", "function": {"name": "n" * 65}}])),
    "D01": ("C01", openai("U A[a,b] T[a] U")),
    "D02": ("C03", openai("U T[a]")),
    "D03": ("D03", called(thinking={"type": "enabled"})),
    "Q01": ("C01", openai("U A[a,b] T[a] U")),
    "Q02": ("Q02", called(arguments='{"q": ')),
    "Q02 no text": ("Q02", called(arguments={"q": "a"})),
    "K01": ("K01", with_assistant(content="")),
    "K02": ("C01", openai("U A[a] U")),
    "K03": ("D03", called(thinking={"type": "enabled"})),
    "X01": ("C13", openai("U A[a,a] T[a] T[a]")),
    "V01 broken": ("Q02", called(arguments="{")),
    "V01 no object": ("V01", called(arguments='["a"]')),
}
OPENAI_ACCEPTED = {
    "C07 40 characters": called("x" * 40),
    "C11": openai("U A[a,b] T[b] T[a]"),
    "C12": openai("U A[a] T[a] A[a] T[a]"),
    "a steer after the results": openai("U A[a] T[a] U"),
    "a final text": openai("U A U"),
    "reasoning that comes back": with_assistant(content="so", reasoning_content="hm")
    | {"thinking": {"type": "enabled"}},
}

SIGNED = {"SIG==": "hm"}


def thought(words: str = "hm", signature: str = "SIG==") -> dict[str, object]:
    """A thinking block."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def thinking(*first: dict[str, object], **more: object) -> dict[str, object]:
    """An Anthropic body whose model message starts with these blocks and calls a."""
    body = said(("user", "hi"), ("assistant", [*first, use("a")]), ("user", [result("a")]))
    return {**body, "thinking": {"type": "enabled"}, **more}


ANTHROPIC_REFUSED = {
    "A01": ("A01", anthropic("U A[a,b] T[a]")),
    "A02": ("A01", anthropic("U A[a]")),
    "A03": ("A03", anthropic("T[a]")),
    "A04": ("A01", anthropic("U A[a] U A T[a]")),
    "A05": ("A05", said(("user", "hi"), ("assistant", [use("a")]), ("user", [text("no"), result("a")]))),
    "A08": ("A08", anthropic("U A[a] T[a] A[a] T[a]")),
    "A08 in a message": ("A08", anthropic("U A[a,a] T[a]")),
    "A09": ("A09", anthropic("U A[a] T[a,a]")),
    "A10": ("A10", said(("user", "hi"), ("assistant", [text(""), use("a")]), ("user", [result("a")]))),
    "A10 blank": ("A10", said(("user", " \n"))),
    "A11": ("A11", said(("user", []), ("assistant", "so"), ("user", "hi"))),
    "A12": ("A12", anthropic("U A[a.b] T[a.b]")),
    "A13": ("A13", said(("user", "hi"), ("assistant", [use("a", "{}")]), ("user", [result("a")]))),
    "A14": ("A14", {**anthropic("U A[a] T[a]"), "tools": []}),
    "A15": ("A15", anthropic("A U")),
    "A16": ("A16", thinking()),
    "A17": ("A17", thinking(thought("edited"))),
    "A18": ("A18", thinking(thought(signature="of another model"))),
    "A18 empty": ("A18", thinking(thought(signature=""))),
    "A19": ("A19", anthropic("U A")),
}
ANTHROPIC_ACCEPTED = {
    "A06": said(("user", "hi"), ("assistant", [use("a")]), ("user", [result("a"), text("look there")])),
    "A07": anthropic("U A[a,b] T[a] T[b]"),
    "users in a row": anthropic("U U A U"),
    "thinking as it came": thinking(thought()),
    "redacted thinking": thinking({"type": "redacted_thinking", "data": "RED=="}),
}


@pytest.mark.parametrize(("rule", "body"), OPENAI_REFUSED.values(), ids=OPENAI_REFUSED)
def test_every_input_that_openai_or_its_kin_refuse_is_refused_by_the_same_rule(
    rule: str, body: dict[str, object]
) -> None:
    with pytest.raises(PairingError) as refused:
        check_openai(body)

    assert refused.value.rule == rule


@pytest.mark.parametrize("body", OPENAI_ACCEPTED.values(), ids=OPENAI_ACCEPTED)
def test_every_input_that_openai_accepts_is_accepted(body: dict[str, object]) -> None:
    assert check_openai(body) is None


@pytest.mark.parametrize(("rule", "body"), ANTHROPIC_REFUSED.values(), ids=ANTHROPIC_REFUSED)
def test_every_input_that_anthropic_refuses_is_refused_by_the_same_rule(rule: str, body: dict[str, object]) -> None:
    with pytest.raises(PairingError) as refused:
        check_anthropic(body, SIGNED)

    assert refused.value.rule == rule


@pytest.mark.parametrize("body", ANTHROPIC_ACCEPTED.values(), ids=ANTHROPIC_ACCEPTED)
def test_every_input_that_anthropic_accepts_is_accepted(body: dict[str, object]) -> None:
    assert check_anthropic(body, SIGNED) is None


def test_no_rule_of_either_table_is_without_an_input_that_it_refuses() -> None:
    openai_rules = {rule for rule, _ in OPENAI_REFUSED.values()}
    anthropic_rules = {rule for rule, _ in ANTHROPIC_REFUSED.values()}

    assert openai_rules == set(pairing_openai.RULES)
    assert anthropic_rules == set(pairing_anthropic.RULES)


@pytest.mark.parametrize("table", [pairing_openai, pairing_anthropic])
def test_a_row_that_another_rule_stands_for_names_a_rule_that_exists(table: object) -> None:
    same_as, rules = table.SAME_AS, table.RULES

    assert set(same_as.values()) <= set(rules)
    assert not set(same_as) & set(rules)


@pytest.mark.parametrize("body", [{}, {"messages": None}, {"messages": [1, "x"]}, {"messages": [{"role": 7}]}])
def test_a_body_of_no_known_shape_is_judged_without_any_other_error(body: dict[str, object]) -> None:
    refusals = []

    for check in (check_openai, check_anthropic):
        try:
            check(body)
        except PairingError as refused:
            refusals.append(refused.rule)

    assert refusals == ["A15"]


def test_a_refusal_names_the_rule_and_the_calls_that_are_open() -> None:
    body = openai("U A[a,b] T[a] U")

    with pytest.raises(PairingError, match=r"^C01: .*did not have response messages: b$"):
        check_openai(body)
