"""Whether a text shows anything: a model's message that shows nothing is no answer, and no post is made of it."""

import unicodedata

UNSEEN = frozenset({"Cc", "Cf", "Mn"})
"""Unicode's categories of control characters, of format characters such as a zero width space, and of marks."""


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing at all."""
    return all(char.isspace() or unicodedata.category(char) in UNSEEN for char in text)
