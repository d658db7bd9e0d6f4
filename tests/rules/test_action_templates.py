"""Templates of actions: whatever an argument is, the host, the shape of the path and the query stay the operator's."""

import json
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.egress.rules import Target, parse_url
from bot.errors import ToolArgumentsError
from bot.rules.action_templates import (
    example_url,
    filled_body,
    filled_url,
    filled_words,
    holes,
    holes_of_body,
    url_problem,
)

URL = "https://deploy.internal:8443/api/{service}/v{version}/restart?who={who}&dry=1"
EVIL = (
    "..", ".", "", "a/b", "../../admin", "%2e%2e", "%2E%2E%2Fadmin", "%252e%252e", "a;b", "a\\b", "x@evil.test", "?a=1",
    "#x", "&dry=0", "a&b=c", "//evil.test", "https://evil.test", " ", "\n", "\r\nHost: evil.test", "\x00", "+", "=",
    "{who}", "\u2025", "\uff0e\uff0e", "\u2215", "e\u0301", "\U0001f525",
)  # fmt: skip
values = st.one_of(st.sampled_from(EVIL), st.text(max_size=40))


def filled(service: str, who: str) -> str | None:
    try:
        return filled_url(URL, {"service": service, "version": 2, "who": who})
    except ToolArgumentsError:
        return None


@example("checkout", "ana")
@given(values.filter(lambda text: text.isprintable()), values.filter(lambda text: text.isprintable()))
def test_no_argument_changes_host_path_shape_or_query(service, who):
    url = filled(service, who)

    if url is not None:
        parts = urlsplit(url)
        assert url.startswith("https://deploy.internal:8443/api/")
        assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "deploy.internal:8443", "")
        assert [unquote(each) for each in parts.path.split("/")] == ["", "api", service, "v2", "restart"]
        assert parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True) == [("who", who), ("dry", "1")]


@given(values, values)
def test_what_is_filled_is_a_url_that_the_door_takes_with_the_same_host(service, who):
    try:
        url = filled_url(URL, {"service": service, "version": 2, "who": who.encode("utf-8", "replace").decode()})
    except (ToolArgumentsError, UnicodeEncodeError):
        return

    target = parse_url(url)

    assert isinstance(target, Target)
    assert (target.host, target.port, target.path.count("/")) == ("deploy.internal", 8443, 4)


@pytest.mark.parametrize("service", ["..", ".", "", "a/b", "a\\b", "a;b", "%2e%2e", "a%2fb", "\n", "\x00"])
def test_a_segment_that_could_move_the_path_is_refused(service):
    assert filled(service, "ana") is None


@pytest.mark.parametrize("who", ["..", "a/b", "?x=1&y=2#z", "a+b", "%2e", ""])
def test_a_query_value_may_hold_anything_that_can_be_seen(who):
    url = filled("checkout", who)

    assert url is not None
    assert dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))["who"] == who


@pytest.mark.parametrize("who", ["\n", "\r\nX: y", "\x00", "\x7f"])
def test_a_query_value_holds_no_control_characters(who):
    assert filled("checkout", who) is None


def test_a_value_that_the_operator_listed_may_hold_a_slash_which_stays_one_segment():
    url = filled_url("https://git.test/projects/{name}/retry", {"name": "group/app"}, frozenset({"name"}))

    assert url == "https://git.test/projects/group%2Fapp/retry"


@pytest.mark.parametrize("name", ["..", "a/../b"])
def test_even_a_listed_value_may_not_climb(name):
    with pytest.raises(ToolArgumentsError, match="may not be empty"):
        filled_url("https://git.test/projects/{name}", {"name": name}, frozenset({"name"}))


@pytest.mark.parametrize(("first", "second"), [(".", "."), ("", "")])
def test_two_holes_in_one_segment_may_not_make_a_step_up_or_a_gap_together(first, second):
    with pytest.raises(ToolArgumentsError):
        filled_url("https://git.test/{a}{b}/x", {"a": first, "b": second})


def test_numbers_and_booleans_are_spelled_as_json_spells_them():
    assert filled_url("https://a.test/{n}?on={on}", {"n": -3, "on": True}) == "https://a.test/-3?on=true"
    assert filled_words("scale to {n}: {on}", {"n": 3, "on": False}) == "scale to 3: false"


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example",
        "http://a.example:8080/x/{service}?a={b}&c=d",
        "https://a.example/v{version}-{name}.json",
        "https://[::1]:8443/x",
    ],
)
def test_a_sound_template_has_no_problem(url):
    assert url_problem(url) is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "no fixed host"),
        ("a.example/x", "no fixed host"),
        ("ftp://a.example/x", "no fixed host"),
        ("https://{host}/x", "no fixed host"),
        ("https://a.{domain}/x", "no fixed host"),
        ("https://a.example:{port}/x", "no fixed host"),
        ("{scheme}://a.example/x", "no fixed host"),
        ("https://me:pw@a.example/x", "no fixed host"),
        ("https://a.example/x#{part}", "no #"),
        ("https://a.example?{name}=1", "name of a query value"),
        ("https://a.example/x?a=1&{name}", "name of a query value"),
        ("https://a.example/../x", ". or .. segment"),
        ("https://a.example/%2e%2e/x", ". or .. segment"),
        ("https://a.example/{}/x", "no hole"),
        ("https://a.example/{a b}", "no hole"),
        ("https://a.example/{a", "no hole"),
        ("https://a.example/a b", "blank"),
        ("https://a.example/größe", "not ASCII"),
        ("https://a.example\\x", "backslash"),
    ],
)
def test_a_template_that_could_be_moved_says_what_to_write(url, words):
    assert words in (url_problem(url) or "")


def test_a_string_that_is_one_hole_becomes_the_value_in_its_own_type():
    body = '{"service": "{service}", "count": "{n}", "drain": "{on}", "why": "for {service}: {n}", "keep": [1, null]}'

    sent = json.loads(filled_body(body, {"service": 'a"b', "n": 3, "on": True}))

    assert sent == {"service": 'a"b', "count": 3, "drain": True, "why": 'for a"b: 3', "keep": [1, None]}


@given(st.text(), st.text())
def test_no_argument_adds_to_the_shape_of_a_body(first, second):
    sent = json.loads(filled_body('{"a": "{a}", "b": ["x {b}"]}', {"a": first, "b": second}))

    assert sent == {"a": first, "b": [f"x {second}"]}


def test_what_was_put_in_is_not_looked_at_again():
    assert filled_words("{a} {b}", {"a": "{b}", "b": "{a}"}) == "{b} {a}"
    assert json.loads(filled_body('["{a}"]', {"a": "{b}", "b": 1})) == ["{b}"]


def test_holes_are_found_in_words_and_in_every_string_of_a_body():
    assert holes("restart {service} in {zone}") == {"service", "zone"}
    assert holes_of_body('{"a": ["{x}", {"b": "n {y}"}], "c": 1}') == {"x", "y"}


@pytest.mark.parametrize("body", ['{"{name}": 1}', '{"a": {"x {b}": 2}}', "{", "service={service}"])
def test_a_body_that_is_no_json_or_has_a_hole_in_a_name_is_refused(body):
    with pytest.raises(ValueError, match=r"hole in the name|Expecting|property name"):
        holes_of_body(body)


def test_an_example_has_a_word_in_every_hole():
    assert example_url("https://a.example/{a}/{b}?c={d}") == "https://a.example/x/x?c=x"
