"""The file of a script: what may stand in it, and what is said about a wrong one."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import SettingsError
from bot.llm.script import Call, Fault, FaultKind, Gate, Play, Round, Script
from bot.llm.script_file import FAULT_KINDS, parse_script
from bot.llm.script_templates import SOURCES
from bot.llm.scripted import load_script

EVERYTHING = r"""
[[plays]]
when = "slow"

[[plays.rounds]]
say = "Reading {{var URL}}."
chunks = 4
chunk_ms = 30
first_ms = 400
calls = [
  { name = "http_get", arguments = { url = "{{var URL}}/metrics", deep = [1, 2.5, true] } },
  { name = "no_arguments" },
]
gate = { name = "steer-here", at = "before_end" }

[[plays.rounds]]
say = '{{find p95 \d{1,2}}}'
fault = { kind = "ends_early", after = 1, times = 2 }
gate = "chunk:2"

[[plays]]

[[plays.rounds]]
fault = 429

[[plays.rounds]]
fault = { kind = 503, retry_after = 1.5 }

[[plays.rounds]]
fault = "empty"
"""


def test_everything_that_a_file_may_say_is_read() -> None:
    script = parse_script(EVERYTHING, "all.toml")

    calls = (
        Call("http_get", {"url": "{{var URL}}/metrics", "deep": [1, 2.5, True]}),
        Call("no_arguments"),
    )
    first = Round("Reading {{var URL}}.", calls, 4, 30, 400, None, Gate("steer-here", "before_end"))
    early = Fault(FaultKind.ENDS_EARLY, after=1, times=2)
    second = Round(r"{{find p95 \d{1,2}}}", fault=early, gate=Gate("chunk:2", "chunk:2"))
    others = (
        Round(fault=Fault(FaultKind.STATUS, status=429)),
        Round(fault=Fault(FaultKind.STATUS, status=503, retry_after=1.5)),
        Round(fault=Fault(FaultKind.EMPTY)),
    )
    assert script == Script((Play("slow", (first, second)), Play("", others)))


@pytest.mark.parametrize("kind", [kind for kind in FaultKind if kind is not FaultKind.STATUS])
def test_every_kind_of_fault_has_its_word(kind: FaultKind) -> None:
    script = parse_script(f'[[plays]]\n[[plays.rounds]]\nfault = "{kind}"', "f.toml")

    assert script.plays[0].rounds[0].fault == Fault(kind)


ROUND = "[[plays]]\n[[plays.rounds]]\n"
CALL = f"{ROUND}calls = [{{ name = 'f', arguments = {{ "


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("plays = [", "bad.toml: this is no TOML", "line"),
        ("", "bad.toml: there is no play", "[[plays]]"),
        ("plays = 3", "bad.toml: `plays` is no list", "list"),
        ("plays = [3]", "bad.toml: `plays 1` is no table", "table"),
        ("[[play]]", "bad.toml: unknown key `play`", "plays"),
        ('[[plays]]\nwhen = "x"', 'bad.toml, play 1 (when "x"): it has no round', "[[plays.rounds]]"),
        ("[[plays]]\nwhen = 1", "bad.toml, play 1: `when` is no string", "string"),
        (f"{ROUND}say = 1", 'bad.toml, play 1 (when ""), round 1: `say` is no string', "string"),
        (f"{ROUND}sag = 'x'", "round 1: unknown key `sag`", "say, calls"),
        (ROUND, "round 1: it neither says nor calls anything", "empty"),
        (f"{ROUND}say = 'x'\nchunks = -1", "round 1: `chunks` is -1", "whole number"),
        (f"{ROUND}say = 'x'\nchunk_ms = true", "round 1: `chunk_ms` is True", "whole number"),
        (f"{ROUND}say = '{{{{env X}}}}'", "round 1: unknown template {{env}}", "result, find, user, var"),
        (f"{ROUND}say = '{{{{find (}}}}'", "round 1: {{find (}} is no regular expression", "Mend"),
        (f"{ROUND}calls = [{{ name = 'a b' }}]", 'round 1, call 1: "a b" is no name of a tool', "letters"),
        (f"{ROUND}calls = [{{ nam = 'f' }}]", "round 1, call 1: unknown key `nam`", "name, arguments"),
        (f"{ROUND}calls = [{{ name = 'f', arguments = 'x' }}]", "call 1: `arguments` is no table", "table"),
        (f"{CALL}n = nan }} }}]", "call 1: JSON has no number nan", "finite"),
        (f"{CALL}d = 2026-01-01 }} }}]", "call 1: JSON has nothing like", "string"),
        (f"{CALL}u = ['{{{{who}}}}'] }} }}]", "call 1: unknown template", "user"),
        (f"{ROUND}fault = 200", "round 1, fault: unknown kind 200", "400 to 599"),
        (f"{ROUND}fault = 'status'", "round 1, fault: unknown kind 'status'", "hang"),
        (f"{ROUND}fault = {{ kind = 429, retry_after = -1 }}", "fault: `retry_after` is -1", "seconds"),
        (f"{ROUND}fault = {{ kind = 'hang', when = 1 }}", "fault: unknown key `when`", "after, times"),
        (f"{ROUND}say = 'x'\ngate = 'chunk:0'", 'gate: "chunk:0" is no point of a round', "chunk:N"),
        (f"{ROUND}say = 'x'\ngate = {{ name = 'g' }}", 'gate: "" is no point of a round', "before_end"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_an_error_that_names_the_place_and_what_to_do(text: str, place: str, remedy: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_script(text, "bad.toml")

    assert place in caught.value.problem
    assert remedy in caught.value.remedy + caught.value.problem
    assert caught.value.name == "STEERSMAN_MODEL"


def test_the_play_and_the_round_that_are_wrong_are_counted() -> None:
    good = '[[plays.rounds]]\nsay = "x"\n'

    with pytest.raises(SettingsError, match=r'play 2 \(when "b"\), round 3: unknown key `oops`'):
        parse_script(f'[[plays]]\n{good}[[plays]]\nwhen = "b"\n{good * 2}[[plays.rounds]]\noops = 1', "x.toml")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 999) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["kind", "at", "say", "x"]), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(["say", "calls", "chunks", "chunk_ms", "first_ms", "fault", "gate"])


@settings(deadline=None)
@given(st.dictionaries(KEYS, JSON.filter(lambda value: value is not None), max_size=3))
def test_any_table_is_read_or_refused_with_its_place(table: dict[str, object]) -> None:
    text = ROUND + "\n".join(f"{key} = {toml(value)}" for key, value in table.items())

    read = rounds_or_problem(text)

    assert read == 1 or str(read).startswith("any.toml")


def rounds_or_problem(text: str) -> int | str:
    try:
        return len(parse_script(text, "any.toml").plays[0].rounds)
    except SettingsError as error:
        return error.problem


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps("none" if value is None else value)


def test_a_file_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"

    with pytest.raises(SettingsError, match=r"none\.toml cannot be read"):
        load_script(missing)


def test_a_script_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "hello.toml"
    path.write_text('[[plays]]\n[[plays.rounds]]\nsay = "Hello"\n', encoding="utf-8")

    script = load_script(path)

    assert script == Script((Play("", (Round(say="Hello"),)),))


DOCUMENT = (Path(__file__).parents[2] / "docs" / "model-scripts.md").read_text(encoding="utf-8")


def test_the_example_of_the_document_is_a_script() -> None:
    example = DOCUMENT.split("```toml\n")[1].split("```")[0]

    script = parse_script(example, "example.toml")

    assert [(play.when, len(play.rounds)) for play in script.plays] == [("checkout", 2), ("", 1)]


def test_the_document_names_every_fault_template_and_key() -> None:
    words = [*FAULT_KINDS, *SOURCES, "say", "calls", "chunks", "first_ms", "chunk_ms", "after", "times", "retry_after"]

    missing = [word for word in words if f"`{word}`" not in DOCUMENT and f"`{{{{{word}" not in DOCUMENT]

    assert missing == []


def test_the_error_that_the_document_shows_is_the_error_that_is_raised() -> None:
    text = '[[plays]]\n[[plays.rounds]]\nsay = "x"\n[[plays]]\nwhen = "checkout"\n[[plays.rounds]]\nsag = "x"'

    with pytest.raises(SettingsError) as caught:
        parse_script(text, "demo.toml")

    assert f"```\n{caught.value}\n```" in DOCUMENT
