"""In an answer only addresses of hosts that are ours are links; every other is shown in full, as code."""

import pytest

from bot.card.answer import parts
from bot.card.links import only_links_to


def is_ours(host: str) -> bool:
    return host == "grafana.example"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see https://grafana.example/d/1?x=2", "see https://grafana.example/d/1?x=2"),
        ("[board](https://grafana.example/d/1)", "[board](https://grafana.example/d/1)"),
        ("see https://evil.example/x?d=1, now", "see `https://evil.example/x?d=1,` now"),
        ("[board](https://evil.example/x)", "board (`https://evil.example/x`)"),
        ("[grafana.example](https://evil.example/)", "grafana.example (evil.example) (`https://evil.example/`)"),
        ("![chart](https://evil.example/p.png)", "chart (`https://evil.example/p.png`)"),
        ("[a](https://grafana.example@evil.example/)", "a (`https://grafana.example@evil.example/`)"),
        ("https://evil.example\\@grafana.example/", "`https://evil.example\\@grafana.example/`"),
        ("HTTPS://EVIL.example", "`HTTPS://EVIL.example`"),
        ("mailto:ana@evil.example", "`mailto:ana@evil.example`"),
        ("https://evil.example/`https://evil.example/", "`https://evil.example/%60https://evil.example/`"),
        ("`https://evil.example/`", "`https://evil.example/`"),
        ("```\nhttps://evil.example/\n```", "```\nhttps://evil.example/\n```"),
        ("no address at all", "no address at all"),
    ],
)
def test_a_foreign_address_is_code_and_one_of_ours_is_a_link(text, shown):
    assert only_links_to(text, is_ours) == shown


def test_what_was_made_harmless_once_stays_as_it_is():
    text = "[a](https://evil.example/x) and https://evil.example, https://grafana.example"

    once = only_links_to(text, is_ours)

    assert only_links_to(once, is_ours) == once


def test_an_answer_is_cut_into_parts_with_its_foreign_links_shown_as_code():
    assert parts("see <https://evil.example|this>", is_ours=is_ours) == ("see &lt;`https://evil.example|this`&gt;",)
