"""SECURITY.md says what is so: Slack's scopes are those of the manifest, and nothing in the product runs commands."""

import re

import pytest

from tests.gates import code, tree

PAGE = tree.read("SECURITY.md")
SCOPE = re.compile(r"^ {6}- (\S+) # (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| `(\S+)` \| (.+) \|$", re.MULTILINE)


def test_the_scopes_on_the_page_are_those_of_the_manifest_with_their_reasons():
    table = PAGE.partition("<!-- scopes -->")[2].partition("<!-- end of scopes -->")[0]

    assert ROW.findall(table) == SCOPE.findall(tree.read("manifest.yml")) != []


def test_every_test_that_the_page_names_is_there():
    named = re.findall(r"`(tests/[\w/]+\.py)`", PAGE)

    assert named
    assert [name for name in named if not (tree.ROOT / name).exists()] == []


@pytest.mark.parametrize("name", tree.python_files("bot", "storage"))
def test_nothing_in_the_product_runs_a_command_or_code(name):
    assert code.runs_what_it_is_given(name, tree.read(name)) == []


def test_the_page_says_where_to_report_and_what_reaches_the_model():
    heads = set(re.findall(r"^## (.+)$", PAGE, re.MULTILINE))

    assert {"Reporting a fault", "Where data flows", "Secrets", "Limits"} <= heads
    assert "What reaches the model:" in PAGE
