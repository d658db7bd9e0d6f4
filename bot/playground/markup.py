"""HTML that cannot be forgotten to escape: whatever is not Html already is text, and is escaped.

It is the only place where the page's HTML is put together.
"""

import html
from collections.abc import Iterable
from typing import TypeAlias

VOID = frozenset({"br", "hr", "input"})


class Html(str):
    """Markup that is safe to send as it is."""

    __slots__ = ()


Attribute: TypeAlias = str | bool | None


def text(words: str) -> Html:
    """Words as markup; line breaks stay."""
    return Html(html.escape(words).replace("\n", "<br>"))


def tag(name: str, *children: str, **attributes: Attribute) -> Html:
    """An element. `class_` is written class, `data_ts` data-ts; an attribute that is None or False is left out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    opening = f"<{name}{written}>"
    return Html(opening) if name in VOID else Html(f"{opening}{join(children)}</{name}>")


def join(children: Iterable[str]) -> Html:
    """Pieces of markup and words, one after another."""
    return Html("".join(child if isinstance(child, Html) else text(child) for child in children))


def _attribute(key: str, value: Attribute) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
