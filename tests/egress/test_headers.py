"""Which headers a caller may set: a name that changes where, who, what or how is none of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.egress.headers import LONGEST_VALUE, MOST, judge_headers
from bot.egress.rules import Asked, EgressRules, Refusal

RULES = EgressRules.parse(["https://a.example.com"], [])


@pytest.mark.parametrize(
    "name",
    [
        "Host", "hOST", "Authorization", "Cookie", "Proxy-Authorization", "Proxy-Anything", "Transfer-Encoding",
        "Connection", "Content-Length", "Metadata", "Metadata-Flavor", "X-aws-ec2-metadata-token", "X-AWS-anything",
        "X-Google-Metadata-Request", "X-Identity-Header", "X-HTTP-Method-Override", "X-Original-URL", "X-Forwarded-For",
        "Forwarded", "User-Agent", "Idempotency-Key", "X-Request-Id", "Accept-Encoding", "Upgrade", "Expect",
    ],
)  # fmt: skip
def test_a_header_that_is_not_for_tools_is_refused_in_any_case(name: str):
    verdict = RULES.judge_asked(Asked("https://a.example.com/", headers=((name, "x"),)))

    assert isinstance(verdict, Refusal)
    assert (verdict.rule, name in verdict.message) == ("egress.header", True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "b\r\nX-Evil: 1"), ("X-A", "b\nc"), ("X-A", "\x00"), ("X-A", "é"), ("X-A", "x" * (LONGEST_VALUE + 1)),
        ("", "x"), ("X A", "x"), ("X:A", "x"), ("X\r\nA", "x"), ("é", "x"), ("X" * 65, "x"),
    ],
)  # fmt: skip
def test_a_header_that_could_become_two_is_refused(name: str, value: str):
    assert judge_headers([(name, value)]) is not None


@pytest.mark.parametrize(
    ("name", "value"), [("Accept", "text/html"), ("Content-Type", "application/json"), ("X-Scope-OrgID", "t1")]
)
def test_an_ordinary_header_passes(name: str, value: str):
    assert judge_headers([(name, value)]) is None


def test_there_are_not_endlessly_many():
    assert judge_headers([("X-A", "b")] * MOST) is None
    assert judge_headers([("X-A", "b")] * (MOST + 1)) is not None


@given(st.text(max_size=30), st.text(max_size=60))
def test_whatever_passes_is_one_line_of_ascii(name: str, value: str):
    if judge_headers([(name, value)]) is None:
        line = f"{name}: {value}"
        assert line.isascii()
        assert line.isprintable()
