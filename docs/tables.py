"""Writes the tables of bot/rules, and the door's, into the pages, so that the pages and the code cannot differ.

A module of bot/rules that has `as_markdown()` gives its tables by name; a page names the place of each between
`<!-- table: NAME -->` and `<!-- end -->`. Run by `make docs`; tests/test_docs.py fails where it was not run.
"""

import importlib
import pkgutil
import re
from collections.abc import Mapping
from pathlib import Path

import bot.rules

PAGES = tuple(Path(__file__).with_name(name) for name in ("how-it-works.md", "operating.md"))
ELSEWHERE = ("bot.egress.addresses",)
"""Other modules whose tables stand on a page."""
_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def tables() -> dict[str, str]:
    """Every table of the rules by its name; raises ValueError where two rules use one name."""
    found: dict[str, str] = {}
    rules = [module.name for module in pkgutil.iter_modules(bot.rules.__path__, "bot.rules.")]
    for module in (*rules, *ELSEWHERE):
        as_markdown = getattr(importlib.import_module(module), "as_markdown", dict)
        for name, table in as_markdown().items():
            if name in found:
                raise ValueError(f"{module}: there is another table {name}")
            found[name] = table
    return found


def places(page: str) -> list[str]:
    """The names of the tables that the page has a place for."""
    return [match[2] for match in _PLACE.finditer(page)]


def filled(page: str, by_name: Mapping[str, str]) -> str:
    """The page with each table in its place; raises KeyError where the page names a table that no rule has."""
    return _PLACE.sub(lambda match: f"{match[1]}\n{by_name[match[2]].strip()}\n\n{match[3]}", page)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), tables()), encoding="utf-8")
