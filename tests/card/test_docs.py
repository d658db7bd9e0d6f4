"""The page on the card shows the tables that the card is made from.

After a wanted change run the tests with STEERSMAN_WRITE_GOLDEN=1.
"""

import os
from pathlib import Path

from bot.rules import card_menu, card_states
from docs import tables

TABLES = {**card_states.as_markdown(), **card_menu.as_markdown()}
PAGE = Path(tables.__file__).with_name("card.md")


def test_the_tables_on_the_page_are_those_of_the_card():
    page = PAGE.read_text(encoding="utf-8")
    written = tables.filled(page, TABLES)
    if os.environ.get("STEERSMAN_WRITE_GOLDEN"):
        PAGE.write_text(written, encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == written
    assert sorted(tables.places(page)) == sorted(TABLES)
