"""What a scripted model says to a conversation: which round, which text, which beats."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.llm.script import (
    NO_PLAY,
    PAST_THE_END,
    AtGate,
    Break,
    Call,
    Fault,
    FaultCount,
    FaultKind,
    Finish,
    Gate,
    Line,
    Pause,
    Play,
    Round,
    Script,
    Send,
    Speaker,
    Start,
    beats,
    perform,
    pick,
    wire_arguments,
)


def user(text: str) -> Line:
    return Line(Speaker.USER, text)


def result(text: str) -> Line:
    return Line(Speaker.RESULT, text)


SPOKEN = Line(Speaker.ASSISTANT, "")
SCRIPT = Script((
    Play("gateway", (Round(say="gateway 1"), Round(say="gateway 2"))),
    Play("slow", (Round(say="slow 1"),)),
    Play("", (Round(say="anything"),)),
))


def said(say: str, conversation: list[Line], **variables: str) -> str:
    script = Script((Play("", (Round(say=say),) * 9),))
    return perform(script, conversation, variables).text


def one_round(**fields: object) -> list[object]:
    performance = perform(Script((Play("", (Round(**fields),)),)), [user("hi")], {})  # type: ignore[arg-type]
    return list(beats(performance, performance.round.fault))


@pytest.mark.parametrize(
    ("conversation", "text"),
    [
        ([user("Why is checkout SLOW?")], "slow 1"),
        ([user("is the Gateway slow?")], "gateway 1"),
        ([user("gateway"), SPOKEN, result("r")], "gateway 2"),
        ([user("slow"), SPOKEN, result("r"), user("@ben: look at the gateway")], "gateway 1"),
        ([user("gateway"), SPOKEN, user("thanks"), user("and now?")], "anything"),
        ([], "anything"),
    ],
)
def test_the_first_play_whose_word_is_in_the_newest_user_message_is_played(conversation: list[Line], text: str) -> None:
    chosen = perform(SCRIPT, conversation, {})

    assert chosen.text == text


def test_the_round_is_the_number_of_assistant_messages_after_the_newest_user_message() -> None:
    older = [user("slow"), SPOKEN, SPOKEN, SPOKEN]

    place, chosen = pick(SCRIPT, [*older, user("gateway"), SPOKEN])

    assert (place, chosen.say) == ("play 1, round 2", "gateway 2")


def test_past_its_last_round_a_play_says_that_it_is_over() -> None:
    conversation = [user("slow"), SPOKEN, SPOKEN, SPOKEN]

    chosen = perform(SCRIPT, conversation, {})

    assert (chosen.text, chosen.calls) == (PAST_THE_END, ())


def test_a_message_that_no_play_is_for_is_answered_with_a_text() -> None:
    script = Script((Play("gateway", (Round(say="x"),)),))

    chosen = perform(script, [user("hello")], {})

    assert chosen.text == NO_PLAY


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{user}}", "why now?"),
        ("{{result 1}}|{{ result 2 }}", "p95 4.8 s|pool 64"),
        ("{{result 3}}", "(no result 3)"),
        ("{{result x}}", "(no result x)"),
        (r"{{find p95 (\S+)}}", "4.8"),
        (r"{{find pool \d{2}}}", "pool 64"),
        ("{{find ^pool}}", "pool"),
        ("{{find older (.*)}}", "than the question"),
        ("{{find nowhere}}", "(not found)"),
        ("{{find (broken}}", "(not found)"),
        ("{{find (x)?pool}}", "(not found)"),
        ("{{var URL}}/metrics", "http://sick/metrics"),
        ("{{var NONE}}", "(no variable NONE)"),
        ("{{other}} {user}", "{{other}} {user}"),
    ],
)
def test_a_template_is_filled_from_the_conversation(template: str, text: str) -> None:
    before = [user("first"), SPOKEN, result("older than the question")]
    conversation = [*before, user(" why now?\nPlease."), SPOKEN, result("p95 4.8 s\n"), result("pool 64")]

    filled = said(template, conversation, URL="http://sick")

    assert filled == text


def test_the_newest_result_is_searched_first() -> None:
    conversation = [user("x"), result("pool 256"), result("nothing"), result("pool 64"), result("nothing")]

    filled = said(r"{{find pool (\d+)}}", conversation)

    assert filled == "64"


def test_a_long_result_is_trimmed() -> None:
    conversation = [user("x"), result("y" * 10_000)]

    filled = said("{{result 1}}", conversation)

    assert len(filled) < 410


def test_a_template_inside_a_tool_result_is_not_filled() -> None:
    conversation = [user("x"), result("{{var SECRET}}")]

    filled = said("{{result 1}}", conversation, SECRET="s")

    assert filled == "{{var SECRET}}"


def test_strings_at_every_depth_of_the_arguments_are_filled_and_other_values_kept() -> None:
    call = Call("f", {"url": "{{var U}}/x", "deep": [{"k": "{{user}}"}, 7, True], "n": 1.5})
    script = Script((Play("", (Round(calls=(call,)),)),))

    performance = perform(script, [user("hi")], {"U": "http://s"})

    assert performance.calls == (Call("f", {"url": "http://s/x", "deep": [{"k": "hi"}, 7, True], "n": 1.5}),)


def test_text_is_sent_in_the_asked_number_of_pieces_and_each_call_is_one_more() -> None:
    call = Call("f", {"a": 1})

    played = one_round(say="abcdefg", chunks=3, calls=(call,), chunk_ms=30, first_ms=400)

    assert played == [
        Pause(400),
        Start(),
        Send("ab"),
        Pause(30),
        Send("cd"),
        Pause(30),
        Send("efg"),
        Pause(30),
        Send(call),
        Pause(0),
        Finish(),
    ]


@pytest.mark.parametrize(
    ("at", "place"),
    [("before_first_chunk", 1), ("chunk:1", 2), ("chunk:2", 4), ("before_end", 6), ("chunk:9", 6)],
)
def test_the_gate_stands_before_its_point(at: str, place: int) -> None:
    played = one_round(say="ab", chunks=2, gate=Gate("g", at))

    assert played.index(AtGate("g")) == place
    assert len(played) == 8


@pytest.mark.parametrize(
    ("fault", "sent"),
    [
        (Fault(FaultKind.STATUS, status=429), 0),
        (Fault(FaultKind.HANG), 0),
        (Fault(FaultKind.HANG, after=1), 1),
        (Fault(FaultKind.ENDS_EARLY), 2),
        (Fault(FaultKind.RESET, after=1), 1),
        (Fault(FaultKind.ERROR_IN_STREAM, after=99), 2),
    ],
)
def test_after_a_fault_nothing_follows(fault: Fault, sent: int) -> None:
    played = one_round(say="ab", chunks=2, fault=fault)

    assert played[-1] == Break(fault)
    assert sum(isinstance(beat, Send) for beat in played) == sent
    assert (Start() in played) == (fault.kind is not FaultKind.STATUS)


def test_an_empty_message_ends_properly_without_a_piece() -> None:
    played = one_round(say="unused", calls=(Call("f"),), fault=Fault(FaultKind.EMPTY))

    assert played == [Pause(0), Start(), Finish()]


def test_at_the_limit_only_the_last_call_is_cut() -> None:
    calls = (Call("f", {"a": 1}), Call("g", {"b": 2}))

    played = one_round(say="x", calls=calls, fault=Fault(FaultKind.MAX_TOKENS))

    assert [beat.cut for beat in played if isinstance(beat, Send)] == [False, False, True]
    assert played[-1] == Finish(at_limit=True)


def test_broken_arguments_end_properly() -> None:
    calls = (Call("f", {"a": 1}), Call("g", {"b": 2}))

    played = one_round(calls=calls, fault=Fault(FaultKind.BROKEN_ARGUMENTS))

    assert [beat.cut for beat in played if isinstance(beat, Send)] == [False, True]
    assert played[-1] == Finish(at_limit=False)


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_half_of_the_arguments_is_never_json(arguments: dict[str, object]) -> None:
    whole = wire_arguments(Send(Call("f", arguments)))

    half = wire_arguments(Send(Call("f", arguments), cut=True))

    assert json.loads(whole) == arguments
    with pytest.raises(ValueError, match=r".*"):
        json.loads(half)


def test_a_fault_with_a_number_of_times_is_over_after_that() -> None:
    count = FaultCount()
    once = Round(say="x", fault=Fault(FaultKind.RESET, times=1))
    script = Script((Play("a", (once, once)), Play("b", (Round(fault=Fault(FaultKind.HANG)),))))
    first, second = perform(script, [user("a")], {}), perform(script, [user("a"), SPOKEN], {})
    always = perform(script, [user("b")], {})

    due = [bool(count.due(each)) for each in (first, first, second, second, always, always)]

    assert due == [True, False, True, False, True, True]


LINES = st.builds(Line, st.sampled_from(Speaker), st.text(max_size=40))
TEMPLATES = st.sampled_from(["{{result ", "{{find ", "{{user}}", "{{var ", "}}", "{{", "(", "[", "a{9}", "\\", "1"])
SAYS = st.lists(TEMPLATES | st.text(max_size=8), max_size=12).map("".join)
FAULTS = st.none() | st.builds(
    Fault, st.sampled_from(FaultKind), after=st.none() | st.integers(-2, 9), times=st.none() | st.integers(0, 2)
)
GATES = st.none() | st.builds(Gate, st.text(max_size=3), st.text(max_size=9) | st.just("chunk:2"))
ROUNDS = st.builds(
    Round, SAYS, st.tuples(st.builds(Call, st.text(), st.dictionaries(st.text(max_size=3), SAYS, max_size=2))),
    st.integers(-3, 40), st.integers(0, 9), st.integers(0, 9), FAULTS, GATES,
)  # fmt: skip
SCRIPTS = st.builds(Script, st.tuples(st.builds(Play, st.text(max_size=2), st.tuples(ROUNDS, ROUNDS))))


@settings(deadline=None)
@given(SCRIPTS, st.lists(LINES, max_size=12), st.dictionaries(st.text(max_size=3), st.text(max_size=9)))
def test_any_script_plays_to_any_conversation_and_is_the_same_again(
    script: Script, conversation: list[Line], variables: dict[str, str]
) -> None:
    first, second = perform(script, conversation, variables), perform(script, conversation, variables)

    played = list(beats(first, first.round.fault))

    assert first == second
    assert isinstance(played[-1], Break | Finish)


@settings(deadline=None)
@given(st.text(min_size=1), st.integers(1, 50))
def test_the_pieces_make_up_the_whole_text_and_none_is_empty(text: str, chunks: int) -> None:
    pieces = [beat.piece for beat in one_round(say=text.replace("{", ""), chunks=chunks) if isinstance(beat, Send)]

    assert "".join(map(str, pieces)) == text.replace("{", "")
    assert all(pieces)
    assert len(pieces) <= chunks
