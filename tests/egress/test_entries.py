"""Rules as tables: everything an entry can say, what it may not say, and which rule decides."""

import pytest

from bot.egress.rules import Asked, EgressRules, Permit, Refusal, RuleEntry, SecretUse
from bot.errors import SettingsError
from bot.rules.terms import Grade

API = "https://api.example.com"


def rules(*entries: str | RuleEntry) -> EgressRules:
    return EgressRules.parse(entries, [])


def allowed_by(found: EgressRules, asked: Asked) -> str:
    """The prefix of the rule that decides, or the rule that refuses."""
    verdict = found.judge_asked(asked)
    return verdict.rule if isinstance(verdict, Refusal) else verdict.rule.shown


def test_a_table_that_says_nothing_but_its_url_is_what_the_plain_text_is():
    assert rules(RuleEntry(f"{API}/v1")) == rules(f"{API}/v1")


def test_a_rule_may_have_more_ports_than_its_url_says():
    found = rules(RuleEntry(API, ports=(8443, 9443)))

    assert isinstance(found.judge("GET", f"{API}:9443/"), Permit)
    assert isinstance(found.judge("GET", f"{API}/"), Permit)
    assert allowed_by(found, Asked(f"{API}:8444/")) == "egress.allow"


@pytest.mark.parametrize(
    ("entry", "method", "grade", "verdict"),
    [
        (RuleEntry(API), "GET", Grade.READ, f"{API}/"),
        (RuleEntry(API), "POST", Grade.READ, "egress.method"),
        (RuleEntry(API), "GET", Grade.WRITE, "egress.method"),
        (RuleEntry(API, methods=("POST",)), "POST", Grade.READ, f"{API}/"),
        (RuleEntry(API, methods=("POST",)), "GET", Grade.READ, "egress.method"),
        (RuleEntry(API, methods=("POST",)), "POST", Grade.WRITE, "egress.method"),
        (RuleEntry(API, methods=("GET", "POST"), grade=Grade.WRITE), "POST", Grade.WRITE, f"{API}/"),
        (RuleEntry(API, methods=("GET", "POST"), grade=Grade.WRITE), "POST", Grade.READ, "egress.method"),
        (RuleEntry(API, methods=("GET", "POST"), grade=Grade.WRITE), "GET", Grade.READ, f"{API}/"),
        (RuleEntry(API, methods=("GET", "POST"), grade=Grade.WRITE), "DELETE", Grade.WRITE, "egress.method"),
    ],
)
def test_a_write_needs_a_rule_of_its_grade_and_a_read_may_send_only_what_is_declared(entry, method, grade, verdict):
    assert allowed_by(rules(entry), Asked(f"{API}/", method, grade)) == verdict


def test_the_narrowest_rule_decides_whatever_the_order():
    wide = RuleEntry("https://*.example.com")
    exact = RuleEntry(API, api=True)
    deep = RuleEntry(f"{API}/v1", rate=5.0)

    for entries in ([wide, exact, deep], [deep, exact, wide]):
        found = rules(*entries)
        assert allowed_by(found, Asked(f"{API}/v1/x")) == f"{API}/v1"
        assert allowed_by(found, Asked(f"{API}/v2")) == f"{API}/"
        assert allowed_by(found, Asked("https://b.example.com/")) == "https://*.example.com/"


def test_a_rule_that_does_not_let_the_method_leaves_the_decision_to_one_that_does():
    found = rules(RuleEntry(f"{API}/v1"), RuleEntry(API, methods=("DELETE",), grade=Grade.WRITE))

    assert allowed_by(found, Asked(f"{API}/v1/x", "DELETE", Grade.WRITE)) == f"{API}/"


def test_a_public_host_is_asked_once_a_second_and_an_internal_one_as_often_as_it_must_be():
    found = rules(API, "http://prometheus.internal@10.0.0.0/8", RuleEntry("https://fast.example.com", rate=20.0))

    rates = [
        found.judge("GET", url).rate for url in (f"{API}/", "http://prometheus.internal/", "https://fast.example.com/")
    ]

    assert rates == [1.0, None, 20.0]


def test_robots_are_asked_of_public_hosts_that_are_no_api():
    found = rules(API, RuleEntry("https://b.example.com", api=True), "http://p.internal@10.0.0.0/8")

    asks = [found.judge("GET", url).asks_robots for url in (f"{API}/", "https://b.example.com/", "http://p.internal/")]

    assert asks == [True, False, False]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (RuleEntry(API, methods=("FETCH",)), "methods may be"),
        (RuleEntry(API, methods=()), "methods may be"),
        (RuleEntry(API, methods=("get",)), "methods may be"),
        (RuleEntry(API, ports=(0,)), "port is a number"),
        (RuleEntry(API, ports=(65536,)), "port is a number"),
        (RuleEntry(API, rate=0.0), "rate is a number"),
        (RuleEntry(API, rate=-1.0), "rate is a number"),
        (RuleEntry(API, secret=SecretUse("key", "Host")), "may not carry a secret"),
        (RuleEntry(API, secret=SecretUse("key", "Metadata-Flavor")), "may not carry a secret"),
        (RuleEntry(API, secret=SecretUse("key", "X Key")), "no name of a header"),
        (RuleEntry("http://api.example.com", secret=SecretUse("key")), "over https only"),
        (RuleEntry(API, cidr=("169.254.0.0/16",)), "not inside a private network"),
        (RuleEntry("https://user:hunter2@api.example.com"), "user name or password"),
    ],
)
def test_what_a_rule_may_not_say_is_named_with_what_to_write(entry: RuleEntry, problem: str):
    with pytest.raises(SettingsError, match=problem) as caught:
        rules(entry)

    assert caught.value.name == "egress.allow"
    assert "hunter2" not in str(caught.value)


def test_a_secret_may_leave_over_http_into_a_network_that_is_named():
    entry = RuleEntry("http://p.internal", cidr=("10.0.0.0/8",), secret=SecretUse("key", "X-Key", ""))

    (rule,) = rules(entry).allow

    assert rule.secret == SecretUse("key", "X-Key", "")
    assert rule.secret.worded("v") == "v"


def test_actions_may_add_rules_of_their_own():
    more = rules(RuleEntry(API, methods=("POST",), grade=Grade.WRITE)).allow

    found = rules("https://b.example.com").also(*more)

    assert allowed_by(found, Asked(f"{API}/x", "POST", Grade.WRITE)) == f"{API}/"
