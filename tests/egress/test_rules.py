"""Beyond the shared cases: paths, entries that an operator gets wrong, pairs of this machine, other parsers."""

from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.egress.rules import EgressRules, Permit, Refusal, Target, parse_url
from bot.errors import SettingsError

# Two cores are shared by many: how long an example takes says nothing.
ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

PUBLIC = "93.184.216.34"


def refused_by(rules: EgressRules, url: str, method: str = "GET") -> str | None:
    verdict = rules.judge(method, url)
    return verdict.rule if isinstance(verdict, Refusal) else None


def permit(allow: list[str], url: str, loopback: tuple[str, ...] = ()) -> Permit:
    verdict = EgressRules.parse(allow, loopback).judge("GET", url)
    assert isinstance(verdict, Permit), verdict
    return verdict


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("/v1", True),
        ("/v1/", True),
        ("/v1/a/b", True),
        ("/v1?x=1", True),
        ("/v1//a", True),
        ("/", False),
        ("", False),
        ("/v10", False),
        ("/v1x/a", False),
        ("/V1/a", False),
        ("/%76%31/a", False),
        ("//v1/a", False),
        ("/v1%2Fa", False),
    ],
)
def test_a_path_prefix_ends_at_the_border_of_a_segment(path: str, covered: bool):
    rules = EgressRules.parse(["https://api.example.com/v1"], [])

    refusal = refused_by(rules, f"https://api.example.com{path}")

    assert refusal == (None if covered else "egress.allow")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/..",
        "/v1/../admin",
        "/v1/./a",
        "/v1/%2e%2e/admin",
        "/v1/.%2E/admin",
        "/v1/%252e%252e/admin",
        "/v1/a%2f..%2fadmin",
        "/v1/a%5c..%5cadmin",
        "/v1/..;/admin",
        "/v1/..;x=1/admin",
        "/v1/%25252525252e%25252525252e/admin",
    ],
)
def test_a_step_upwards_is_refused_however_it_is_written(path: str):
    rules = EgressRules.parse(["https://api.example.com/v1"], [])

    assert refused_by(rules, f"https://api.example.com{path}") == "egress.path"


@pytest.mark.parametrize("path", ["/v1/a..b", "/v1/...", "/v1/.well-known", "/v1/100%25", "/v1/a%2fb"])
def test_dots_that_are_no_step_are_harmless(path: str):
    rules = EgressRules.parse(["https://api.example.com/v1"], [])

    assert refused_by(rules, f"https://api.example.com{path}") is None


def test_a_prefix_that_ends_with_a_slash_leaves_its_own_segment_out():
    rules = EgressRules.parse(["https://api.example.com/v1/"], [])

    assert refused_by(rules, "https://api.example.com/v1/a") is None
    assert refused_by(rules, "https://api.example.com/v1") == "egress.allow"


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("https://user@api.example.com/", "egress.userinfo"),
        ("https://user:pass@api.example.com/", "egress.userinfo"),
        ("https://@api.example.com/", "egress.userinfo"),
        ("https://api.example.com\\@evil.com/", "egress.url"),
        ("https://api.example.com/a b", "egress.url"),
        ("https://api.example.com/é", "egress.url"),
        ("https://api.example.com/\r\nX: y", "egress.url"),
        ("https://api.example.com:/", "egress.port"),
        ("https://api.example.com:0443/", "egress.port"),
        ("https://api.example.com:65536/", "egress.port"),
        ("https://[::1/", "egress.port"),
        ("https:///path", "egress.host"),
        ("https://-a.example.com/", "egress.host"),
        ("https://a_b.example.com/", "egress.host"),
        ("https://api.example.com./", "egress.host"),
        ("https://[127.0.0.1]/", "egress.host"),
        ("https://0x7f.1/", "egress.host"),
        ("https://1.2.3.4.5/", "egress.host"),
        (f"https://{'a.' * 127}a/", "egress.host"),
        ("https:/api.example.com/", "egress.scheme"),
        ("//api.example.com/", "egress.scheme"),
        ("api.example.com", "egress.scheme"),
        ("javascript:alert(1)", "egress.scheme"),
        ("", "egress.scheme"),
    ],
)
def test_a_url_that_is_not_plain_is_refused_by_the_rule_that_says_why(url: str, rule: str):
    assert refused_by(EgressRules.parse(["https://api.example.com"], []), url) == rule


def test_a_refusal_says_what_would_be_allowed_and_not_what_was_in_the_query():
    rules = EgressRules.parse(["https://api.example.com/v1"], [])

    verdict = rules.judge("GET", "https://evil.example.com/x?key=hunter2hunter2")

    assert isinstance(verdict, Refusal)
    assert verdict.message == ("https://evil.example.com/x is not under any allowed prefix: https://api.example.com/v1")


def test_without_entries_nothing_may_be_called():
    assert refused_by(EgressRules.parse([], []), "https://api.example.com/") == "egress.allow"
    assert refused_by(EgressRules(), "https://api.example.com/") == "egress.allow"


def test_case_does_not_matter_in_scheme_and_host():
    verdict = permit(["HTTPS://API.example.com/v1"], "HTTPS://api.EXAMPLE.com/v1/A#part")

    assert verdict.target == Target("https", "api.example.com", 443, "/v1/A", "")


def test_characters_that_have_no_place_in_a_url_are_sent_encoded():
    verdict = permit(["https://p.example.com"], 'https://p.example.com/q?query=up{job="a"}&t=%7B1')

    assert verdict.target.resource == "/q?query=up%7Bjob=%22a%22%7D&t=%7B1"


def test_a_punycode_name_must_be_listed_by_itself():
    wild = EgressRules.parse(["https://*.example.com"], [])
    listed = EgressRules.parse(["https://xn--bcher-kva.example.com"], [])

    assert refused_by(wild, "https://xn--bcher-kva.example.com/") == "egress.allow"
    assert refused_by(listed, "https://xn--bcher-kva.example.com/") is None


@pytest.mark.parametrize("method", ["POST", "DELETE", "get", "Get", "", "OPTIONS"])
def test_only_reading_methods_pass(method: str):
    assert refused_by(EgressRules.parse(["https://a.example.com"], []), "https://a.example.com/", method) == (
        "egress.method"
    )


def test_a_private_address_needs_a_rule_that_names_its_network():
    allow = ["http://prometheus.internal:9090@10.20.0.0/16,fd12::/32"]
    verdict = permit(allow, "http://prometheus.internal:9090/api")

    assert verdict.admit(["10.20.3.4", "fd12::7"]) == ("10.20.3.4", "fd12::7")
    assert isinstance(verdict.admit(["10.21.0.1"]), Refusal)
    assert isinstance(verdict.admit([PUBLIC]), Refusal)
    assert isinstance(verdict.admit(["10.20.3.4", "127.0.0.1"]), Refusal)


def test_a_private_literal_may_be_called_under_a_rule_with_its_network():
    rules = EgressRules.parse(["http://10.20.3.4:9090@10.20.0.0/16", "http://10.99.0.1"], [])

    assert refused_by(rules, "http://10.20.3.4:9090/") is None
    assert refused_by(rules, "http://10.99.0.1/") == "egress.address"


def test_a_wide_network_does_not_open_a_metadata_service_inside_it():
    verdict = permit(["http://a.internal@100.64.0.0/10,fc00::/7"], "http://a.internal/")

    assert verdict.admit(["100.64.0.1", "fd00::1"]) == ("100.64.0.1", "fd00::1")
    assert isinstance(verdict.admit(["100.100.100.200"]), Refusal)
    assert isinstance(verdict.admit(["fd00:ec2::254"]), Refusal)


def test_at_most_four_addresses_are_tried_but_all_are_checked():
    addresses = [f"93.184.216.{number}" for number in range(10)]
    verdict = permit(["https://a.example.com"], "https://a.example.com/")

    assert verdict.admit(addresses) == tuple(addresses[:4])
    assert isinstance(verdict.admit([*addresses, "10.0.0.1"]), Refusal)


def test_a_pair_opens_this_machine_for_exactly_its_host_and_port():
    rules = EgressRules.parse(["http://127.0.0.1:8123/ok", "http://127.0.0.1:8124"], ["127.0.0.1:8123"])

    assert refused_by(rules, "http://127.0.0.1:8123/ok") is None
    assert refused_by(rules, "http://127.0.0.1:8123/admin") == "egress.allow"
    assert refused_by(rules, "http://127.0.0.1:8124/") == "egress.address"
    assert refused_by(rules, "http://127.0.0.2:8123/ok") == "egress.allow"
    assert refused_by(rules, "https://127.0.0.1:8123/ok") == "egress.allow"


def test_a_pair_may_be_a_name_and_then_leads_to_this_machine_only():
    verdict = permit(["http://checkout.internal:8123"], "http://checkout.internal:8123/", ("checkout.internal:8123",))

    assert verdict.admit(["127.0.0.1", "::1"]) == ("127.0.0.1", "::1")
    assert isinstance(verdict.admit(["10.0.0.1"]), Refusal)
    assert isinstance(verdict.admit([PUBLIC]), Refusal)


def test_a_reserved_name_is_opened_by_its_pair_alone():
    rules = EgressRules.parse(["http://localhost:8123", "http://localhost:8124"], ["localhost:8123"])

    assert refused_by(rules, "http://localhost:8123/") is None
    assert refused_by(rules, "http://localhost:8124/") == "egress.name"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("api.example.com", "begin with https://"),
        ("ftp://api.example.com", "begin with https://"),
        ("https://user:hunter2@api.example.com", "user name or password"),
        ("https://api.example.com/v1?x=1", "no query"),
        ("https://api.example.com/#x", "no query and no fragment"),
        ("https://*", "host is not a plain name"),
        ("https://*.com", "wildcard"),
        ("https://a.*.example.com", "host is not a plain name"),
        ("https://*.168.1.1", "host is not a plain"),
        ("https://*.192.168.1.1", "wildcard"),
        ("https://api.example.com:99999", "port"),
        ("https://api.example.com/../x", "segments"),
        ("https://bücher.example", "ASCII"),
        ("http://127.1", "host is not a plain name"),
        ("http://a.internal@10.20.0.1/16", "is not a network"),
        ("http://a.internal@8.8.8.0/24", "not inside a private network"),
        ("http://a.internal@0.0.0.0/0", "not inside a private network"),
        ("http://a.internal@127.0.0.0/8", "not inside a private network"),
        ("http://a.internal@169.254.0.0/16", "not inside a private network"),
    ],
)
def test_a_wrong_entry_is_named_with_what_to_write(entry: str, problem: str):
    with pytest.raises(SettingsError) as caught:
        EgressRules.parse(["https://fine.example.com", entry], [])

    assert caught.value.name == "egress.allow"
    assert problem in caught.value.problem
    assert "https://api.example.com/v1" in caught.value.remedy
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("127.0.0.1", "not a host and a port"),
        ("127.0.0.1:", "not a host and a port"),
        ("127.0.0.1:80/x", "not a host and a port"),
        ("127.0.0.1:80?", "not a host and a port"),
        ("127.1:80", "not a host and a port"),
        ("http://127.0.0.1:80", "not a host and a port"),
        ("me:hunter2@127.0.0.1:80", "not a host and a port"),
        ("*:80", "not a host and a port"),
        ("10.0.0.1:80", "not an address of this machine"),
        ("127.0.0.1:81", "not under any prefix of egress.allow"),
    ],
)
def test_a_wrong_pair_is_named_with_what_to_write(entry: str, problem: str):
    with pytest.raises(SettingsError) as caught:
        EgressRules.parse(["http://127.0.0.1:80"], [entry])

    assert caught.value.name == "egress.loopback"
    assert problem in caught.value.problem
    assert "127.0.0.1:8" in caught.value.remedy
    assert "hunter2" not in str(caught.value)


PARTS = [
    "a",
    "B-c",
    ".",
    ".example",
    "127.0.0.1",
    "0x7f",
    "1",
    ":80",
    ":",
    "[::1]",
    "[2606:4700::1111]",
    "@",
    "%40",
    "\\",
    "。",
]
PATHS = ["/", "/a", "/%2e", "/b%zz", "?", "#", "=", "@", ":", "{", '"', "é", "//"]
PIECES = st.builds(
    "{}://{}{}".format,
    st.sampled_from(["http", "https", "HTTP"]),
    st.lists(st.sampled_from(PARTS), max_size=4).map("".join),
    st.lists(st.sampled_from(PATHS), max_size=5).map("".join),
)


@ANY_SPEED
@given(PIECES)
def test_other_parsers_see_the_same_host_and_port_in_what_we_take_apart(url: str):
    target = parse_url(url)

    if isinstance(target, Target):
        split, other = urlsplit(url), httpx.URL(target.shown)
        assert (split.scheme, split.hostname) == (target.scheme, target.host)
        assert split.port in {target.port, None}
        assert other.host == target.host
        assert (other.port or target.port) == target.port
        assert other.raw_path.decode() == target.path


@ANY_SPEED
@given(PIECES)
def test_taking_apart_what_was_put_together_changes_nothing(url: str):
    target = parse_url(url)

    if isinstance(target, Target):
        assert parse_url(f"{target.scheme}://{target.netloc}{target.resource}") == target
