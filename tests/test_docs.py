"""The documents say what the code does: their tables are the code's, and their links lead somewhere."""

import ast
import re
from textwrap import indent

import pytest

from docs import tables
from tests.gates import tree

ONE_PLACE = "before\n<!-- table: a -->\nold\n<!-- end -->\nafter\n"
FENCED = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


def documents() -> list[str]:
    return [name for name, _ in tree.text_files() if name.endswith(".md")]


@pytest.mark.parametrize("path", tables.PAGES, ids=lambda path: path.name)
def test_the_tables_on_a_page_are_those_of_the_rules(path):
    page = path.read_text(encoding="utf-8")

    written = tables.filled(page, tables.tables())

    assert written == page, "run `make docs`"


def test_every_table_of_the_rules_has_one_place_on_the_pages():
    pages = [path.read_text(encoding="utf-8") for path in tables.PAGES]

    places = [name for page in pages for name in tables.places(page)]

    assert sorted(places) == sorted(tables.tables())


def test_a_table_replaces_what_stood_in_its_place_and_nothing_else():
    written = tables.filled(ONE_PLACE, {"a": "| new |", "b": "| unused |"})

    assert written == "before\n<!-- table: a -->\n\n| new |\n\n<!-- end -->\nafter\n"


def test_writing_a_page_twice_is_writing_it_once():
    once = tables.filled(ONE_PLACE, {"a": "| new |"})

    twice = tables.filled(once, {"a": "| new |"})

    assert twice == once


def test_a_place_for_a_table_that_no_rule_has_is_an_error():
    with pytest.raises(KeyError):
        tables.filled(ONE_PLACE, {})


def test_every_link_inside_the_documents_leads_to_a_file():
    links = [(name, link) for name in documents() for link in LINK.findall(tree.read(name))]

    broken = [(name, link) for name, link in links if not (tree.ROOT / name).parent.joinpath(link).exists()]

    assert links
    assert broken == []


@pytest.mark.parametrize("name", [name for name in documents() if re.match(r"docs/decisions/\d", name)])
def test_a_decision_fits_one_screen_under_four_headings(name):
    lines = tree.read(name).splitlines()

    headings = [line for line in lines if line.startswith("## ")]

    assert headings == ["## Context", "## Choice", "## What it costs", "## When to reconsider"]
    assert len(lines) <= 45


def test_every_example_in_python_is_python():
    examples = [example for name in documents() for example in FENCED.findall(tree.read(name))]

    parsed = [ast.parse(f"async def f():\n{indent(example, '    ')}") for example in examples]

    assert parsed
