"""Links to messages, as people paste them."""

import pytest

from bot.rules.permalinks import MessageLink, parse_link


@pytest.mark.parametrize(
    ("link", "named"),
    [
        ("https://acme.slack.com/archives/C1/p1000000007", ("C1", "1000.000007", "1000.000007")),
        (
            "https://acme.slack.com/archives/C1/p1764547200123456?thread_ts=1764547100.000200&cid=C1",
            ("C1", "1764547200.123456", "1764547100.000200"),
        ),
        (
            "  <https://x.enterprise.slack.com/archives/G0A/p1764547200123456?cid=G0A&thread_ts=1764547100.000200> ",
            ("G0A", "1764547200.123456", "1764547100.000200"),
        ),
        ("http://127.0.0.1:4000/archives/D7/p1000000007", ("D7", "1000.000007", "1000.000007")),
    ],
)
def test_a_link_names_its_channel_message_and_thread(link, named):
    assert parse_link(link) == MessageLink(*named)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "why?",
        "https://acme.slack.com/archives/C1",
        "https://acme.slack.com/archives/C1/p12",
        "https://acme.slack.com/archives/C1/1000.000007",
        "ftp://acme.slack.com/archives/C1/p1000000007",
        "https://acme.slack.com/archives/C1/p1000000007 and more",
    ],
)
def test_what_is_no_link_to_a_message_names_nothing(text):
    assert parse_link(text) is None
