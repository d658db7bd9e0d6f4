"""What a Slack message says, in the words that a model reads.

Pure, like inbound.py, which it belongs to: Slack's escapes are undone exactly once, its references are spelt out, and
an address is always the address that would be opened, never its label. It never raises and never shortens.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

Json: TypeAlias = Mapping[str, object]

NO_WORDS = "(a message without text)"

_TOKEN = re.compile(r"<([^<>]+)>|&(amp|lt|gt);")
_ESCAPE = re.compile(r"&(amp|lt|gt);")
_CHARACTER: Mapping[str, str] = MappingProxyType({"amp": "&", "lt": "<", "gt": ">"})
_SCHEME = re.compile(r"^(?:https?://|mailto:|tel:)", re.IGNORECASE)
_HOST = re.compile(r"://|\w[.\u3002\uff0e\uff61][^\W\d_]{2,}|\d+\.\d+\.\d+\.\d+|localhost", re.IGNORECASE)
_TEXTS = frozenset({"plain_text", "mrkdwn", "text", "markdown"})


def as_object(value: object) -> Json:
    """A JSON object; an empty one where there is none."""
    return value if isinstance(value, Mapping) else {}


def as_objects(value: object) -> list[Json]:
    """The JSON objects of a list; none where there is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def as_text(value: object) -> str:
    """A JSON text; an empty one where there is none."""
    return value if isinstance(value, str) else ""


def words_of(message: Json, names: Mapping[str, str], *, with_attachments: bool) -> str:
    """The message's text for the model, never empty; an app says in attachments or blocks what a person types."""
    parts = [as_text(message.get("text"))]
    if with_attachments:
        parts += [part for each in as_objects(message.get("attachments")) for part in _attachment(each)]
        parts = parts if any(part.strip() for part in parts) else list(_block_texts(message.get("blocks")))
    parts = [readable(part, names) for part in parts]
    parts += [f"(a file is attached: {name})" for name in file_names(message)]
    said = dict.fromkeys(part for part in parts if part.strip())
    return "\n".join(said) or NO_WORDS


def file_names(message: Json) -> tuple[str, ...]:
    """The names of the files that were sent with it."""
    files = as_objects(message.get("files"))
    named = (as_text(each.get("name")) or as_text(each.get("title")) for each in files)
    return tuple(" ".join(name.split()) or "no name" for name in named)


def mentions(message: Json, user_id: str) -> bool:
    """Whether it mentions this user, by its text or by its rich text; the kind of the event does not tell."""
    text = as_text(message.get("text"))
    if f"<@{user_id}>" in text or f"<@{user_id}|" in text:
        return True
    rich = [block for block in as_objects(message.get("blocks")) if block.get("type") == "rich_text"]
    return any(each.get("type") == "user" and each.get("user_id") == user_id for each in _inside(rich))


def readable(text: str, names: Mapping[str, str]) -> str:
    """Slack's text with its escapes undone once and its references spelt out; `names` maps user ids to names."""
    return _TOKEN.sub(lambda found: _spelt(found, names), text)


def _spelt(found: re.Match[str], names: Mapping[str, str]) -> str:
    if found[2]:
        return _CHARACTER[found[2]]
    target, _, label = (_unescaped(part) for part in found[1].partition("|"))
    if target.startswith("@"):
        name = names.get(target[1:]) or label
        return f"@{name} ({target[1:]})" if name else target
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    return _special(target[1:], label) if target.startswith("!") else _link(target, label)


def _special(target: str, label: str) -> str:
    kind, _, rest = target.partition("^")
    if kind == "subteam":
        return label or f"@{rest}"
    return (label or target) if kind == "date" else f"@{kind}"


def _link(url: str, label: str) -> str:
    """The address; its label goes with it only if it cannot be taken for another address."""
    says_nothing = not label or _bare(label) == _bare(url)
    return url if says_nothing or _HOST.search(label) else f"{url} ({label})"


def _bare(address: str) -> str:
    return _SCHEME.sub("", address).rstrip("/")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _CHARACTER[found[1]], text)


def _attachment(attachment: Json) -> Iterator[str]:
    texts = [as_text(attachment.get(key)) for key in ("pretext", "title", "text")]
    yield from texts if any(texts) else (as_text(attachment.get("fallback")),)
    for field in as_objects(attachment.get("fields")):
        yield ": ".join(filter(None, (as_text(field.get("title")), as_text(field.get("value")))))
    yield from _block_texts(attachment.get("blocks"))


def _block_texts(blocks: object) -> Iterator[str]:
    return (as_text(each.get("text")) for each in _inside(blocks) if each.get("type") in _TEXTS)


def _inside(value: object) -> Iterator[Json]:
    """Every JSON object in a value, in reading order; by a stack, so that no depth of nesting can end it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            yield each
            waiting += reversed(list(each.values()))
        elif isinstance(each, list):
            waiting += reversed(each)
