"""Nothing that has the shape or the value of a secret survives, and harmless text does."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.rules.redaction import MIN_SECRET, REDACTED, Scrubber, scrub, scrub_url

# Two cores are shared by many: how long an example takes says nothing.
ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0\nabc\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"

SHAPES = [
    ("token xoxb-2345678901-abcDEF end", f"token {REDACTED} end"),
    ("xoxp-1-2-3-abcdef", REDACTED),
    ("xoxe.xoxp-1-Mi0yLTEyMw", REDACTED),
    ("xoxd-abc%2Bdef%3D", REDACTED),
    ("xapp-1-A0123-456-abcdef", REDACTED),
    ("https://hooks.slack.com/services/T000/B000/abcDEF123", f"https://hooks.slack.com/services/{REDACTED}"),
    ("key sk-ant-api03-abcDEF_123-xyz.", f"key {REDACTED}."),
    ("sk-proj-abcdefgh12345678", REDACTED),
    ("sk-abcdefghijklmnopqrst", REDACTED),
    ("AKIAIOSFODNN7EXAMPLE", REDACTED),
    ("ASIAIOSFODNN7EXAMPLE", REDACTED),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", REDACTED),
    ("github_pat_11ABCDEFG0abcdefghijklmnop", REDACTED),
    ("glpat-abcdefghij1234567890", REDACTED),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", REDACTED),
    (f"id {JWT}", f"id {REDACTED}"),
    ("Authorization: Bearer abcdef123456", f"Authorization: {REDACTED}"),
    ("authorization: token abc def", f"authorization: {REDACTED}"),
    ('{"Authorization": "Basic dXNlcjpwYXNz"}', f'{{"Authorization": "{REDACTED}"}}'),
    ("sent bearer abcdef123456, twice", f"sent bearer {REDACTED}, twice"),
    ("Set-Cookie: a=1; b=2\nServer: x", f"Set-Cookie: {REDACTED}\nServer: x"),
    ("X-Api-Key: abc", f"X-Api-Key: {REDACTED}"),
    (KEY, REDACTED),
    (f"a\n{KEY}\nb", f"a\n{REDACTED}\nb"),
    (KEY.replace("\n", "\\n"), REDACTED),
    (KEY[:60], REDACTED),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc", REDACTED),
    ("postgres://bot:hunter2@db/steersman", "postgres://db/steersman"),
    ("redis://:hunter2@cache:6379/0", "redis://cache:6379/0"),
    ("postgres://bot:p/w#x?@db/steersman", "postgres://db/steersman"),
    ("https://token@a.example/x", "https://a.example/x"),
    ("GET https://a.example/x?key=abc&page=2", f"GET https://a.example/x?key={REDACTED}&page=2"),
    ("https://a.example/?page=2&sig=abc", f"https://a.example/?page=2&sig={REDACTED}"),
    ("DB_PASSWORD=hunter2 next", f"DB_PASSWORD={REDACTED} next"),
    ('{"password": "hunter2", "a": 1}', f'{{"password": "{REDACTED}", "a": 1}}'),
    (r"{\"api_key\": \"hunter2\"}", rf"{{\"api_key\": \"{REDACTED}\"}}"),
    ("client_secret: hunter2", f"client_secret: {REDACTED}"),
    ("access_token='hunter2'", f"access_token='{REDACTED}'"),
    ("AWS_SECRET_ACCESS_KEY=abcDEF123", f"AWS_SECRET_ACCESS_KEY={REDACTED}"),
    ("see Authorization%3A%20Bearer%20abcdef123456 there", f"see {REDACTED} there"),
    ("http://a.example/Bearer+abcdef123456%20?x=1", f"http://a.example/{REDACTED}?x=1"),
    ("https%253A%252F%252Fana%253Ahunter2%2540db.example.com", REDACTED),
    (quote(KEY, safe=""), REDACTED),
    (f"a\\n{JWT}", f"a\\n{REDACTED}"),
    ("a\\nsk-proj-abcdefgh12345678", f"a\\n{REDACTED}"),
    ("a\\nAuthorization: Basic abc", f"a\\nAuthorization: {REDACTED}"),
    ("AKIAIOSFODNN7EXAMPLEsk-proj-abcdefgh12345678", REDACTED * 2),
]


@pytest.mark.parametrize(("text", "scrubbed"), SHAPES)
def test_the_shape_of_a_secret_gives_it_away(text: str, scrubbed: str):
    assert scrub(text) == scrubbed


@pytest.mark.parametrize(("text", "scrubbed"), SHAPES)
def test_what_is_scrubbed_stays_as_it_is(text: str, scrubbed: str):
    assert scrub(scrub(text)) == scrubbed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "checkout is slow: 812 ms at p99",
        "https://a.example:8080/path@2x?page=2&sort=name#top",
        "http://10.0.0.1:9090/api/v1/query?query=up",
        "ask ana@example.com about sk-learn-pipeline and task-management",
        "input_tokens: 1234",
        "the bearer of bad news",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "commit 3f2a9c1 by ben",
        'http_requests_total{job="api",code="500"} 17',
        "ratio=0.5, key=name",
        "at 50%25 of a%20b, 100% sure, %zz",
        "http://a.example/api?query=rate(http_requests%7Bjob%3D%22api%22%7D%5B5m%5D)",
    ],
)
def test_harmless_text_is_left_alone(text: str):
    assert scrub(text) == text


@pytest.mark.parametrize(
    ("url", "scrubbed"),
    [
        ("https://a.example/x?key=abc", "https://a.example/x"),
        ("https://a.example/x#token=abc", "https://a.example/x"),
        ("https://a.example/x?a#b?c", "https://a.example/x"),
        ("https://me:hunter2@a.example:8443/x?y", "https://a.example:8443/x"),
        ("https://me:hun@ter2@a.example/x", "https://a.example/x"),
        ("postgres://bot:p/w#x?@db:5432/steersman?sslmode=require", "postgres://db:5432/steersman"),
        ("https://a.example:8080/path@2x", "https://a.example:8080/path@2x"),
        ("https://a.example?mail=ana@example.com", "https://a.example"),
        ("not a url", "not a url"),
        ("", ""),
    ],
)
def test_a_url_keeps_neither_credentials_nor_query(url: str, scrubbed: str):
    assert scrub_url(url) == scrubbed


SECRET = 'hunter2 &"pass"\\n+/é'


@pytest.mark.parametrize(
    "spelling",
    [
        SECRET,
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        base64.b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_known_secret_is_found_in_every_spelling(spelling: str):
    assert Scrubber([SECRET]).text(f"before {spelling} after") == f"before {REDACTED} after"


@ANY_SPEED
@given(st.text(max_size=30), st.lists(st.text("abcdef01", min_size=MIN_SECRET, max_size=9), max_size=4), st.text())
def test_no_known_secret_survives_in_any_text(before: str, secrets: list[str], after: str):
    text = f"{before}{''.join(secrets)}{after}{'|'.join(secrets)}"

    scrubbed = Scrubber(secrets).text(text)

    assert not [secret for secret in secrets if secret in scrubbed]


def test_a_secret_that_begins_like_another_leaves_nothing_behind():
    scrubber = Scrubber(["hunter2", "hunter2-and-more"])

    assert scrubber.text("hunter2-and-more, hunter2") == f"{REDACTED}, {REDACTED}"


def test_a_secret_that_is_hardly_one_does_not_blacken_common_words():
    scrubber = Scrubber(["", "a", "test"])

    assert scrubber.text("a test of the database") == "a test of the database"


def test_a_known_secret_in_the_path_of_a_url_is_found():
    scrubber = Scrubber(["hunter2hunter2"])

    assert scrubber.url("https://me@a.example/hook/hunter2hunter2?x=1") == f"https://a.example/hook/{REDACTED}"


def test_a_json_value_is_scrubbed_in_all_its_parts():
    scrubber = Scrubber(["hunter2"])
    arguments = {
        "url": "https://me:pw@a.example/?key=abcd",
        "headers": [{"Authorization": "anything"}, "the hunter2"],
        "hunter2": 1,
        "password": "abc",
        "max_tokens": 4096,
        "flags": (True, None, 1.5),
    }

    scrubbed = scrubber.value(arguments)

    assert scrubbed == {
        "url": f"https://a.example/?key={REDACTED}",
        "headers": [{"Authorization": REDACTED}, f"the {REDACTED}"],
        REDACTED: 1,
        "password": REDACTED,
        "max_tokens": 4096,
        "flags": [True, None, 1.5],
    }


def test_a_value_under_the_name_of_a_secret_is_gone_whatever_it_is():
    scrubber = Scrubber()

    assert scrubber.value({"db_password": ["a", {"b": 7}]}) == {"db_password": REDACTED}
    assert scrubber.value({"api_key": 12345678}) == {"api_key": REDACTED}
    assert scrubber.value({"api_key": None, "password": ""}) == {"api_key": None, "password": ""}


FRAGMENTS = [text for text, _ in SHAPES] + [
    REDACTED,
    "://",
    "@",
    "?",
    "=",
    ":",
    " ",
    '"',
    "\n",
    "é",
    "\ud800",
    "key",
    "x",
]


@ANY_SPEED
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=5).map("".join))
def test_scrubbing_twice_is_scrubbing_once(text: str):
    once = Scrubber(["hunter2"]).text(text)

    assert Scrubber(["hunter2"]).text(once) == once


@ANY_SPEED
@given(st.text(), st.text())
def test_nothing_that_is_given_makes_it_raise(text: str, secret: str):
    scrubber = Scrubber([secret])

    assert isinstance(scrubber.text(text) + scrubber.url(text), str)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece",
    [
        "a", "-", "eyJ", "sk-", "xox", "://", "://a:x", "://a:x/", "-----BEGIN PRIVATE KEY-----", "password", "token_",
        "bearer ", "?key=", "A", "=", "Authorization:", "api_", "@",
    ],
)  # fmt: skip
def test_a_long_hostile_text_costs_one_pass(piece: str):
    """Patterns that look back and forth would take many minutes: the time limit of this test is its assertion."""
    text = piece * (250_000 // len(piece))

    assert isinstance(scrub(text) + scrub_url(text), str)
