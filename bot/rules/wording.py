"""Sentences with holes: `stopped[ by {who}]`.

A part in square brackets is said only where every hole in it can be filled. Owns no words of its own, and never
formats what is put in: whoever fills a hole decides how it is shown.
"""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass

PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
HOLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a sentence: words as they stand, or the name of the hole to fill."""

    text: str
    is_hole: bool = False


def pieces(template: str, known: Container[str]) -> Iterator[Piece]:
    """The parts of a sentence in order; brackets with a hole that is not in `known` are left out whole."""
    for optional, always in PART.findall(template):
        if optional and any(name not in known for name in HOLE.findall(optional)):
            continue
        for at, text in enumerate(HOLE.split(optional or always)):
            if text:
                yield Piece(text, is_hole=at % 2 == 1)


def holes(template: str) -> frozenset[str]:
    """The names of all holes of a sentence."""
    return frozenset(HOLE.findall(template))


def filled(template: str, values: dict[str, str]) -> str:
    """The sentence as plain text; a hole without a value outside brackets is a KeyError."""
    return "".join(values[piece.text] if piece.is_hole else piece.text for piece in pieces(template, values))
