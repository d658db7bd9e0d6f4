"""The chain of the audit: how an entry is written for hashing, and what is wrong with the entries of a thread.

Pure. An entry's hash covers the hash before it, so that whatever is changed, taken out, moved or put in between leaves
a trace. Only the end of a chain can be cut off unseen: for that a hash is kept elsewhere and looked for again.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from bot.rules.markdown import table
from bot.rules.messages import JsonObject

GENESIS: Final = "0" * 64
"""What stands in place of the hash before the first entry of a thread."""

WORKSPACE: Final = "workspace"
"""The chain of what belongs to no thread: changes of the policy, halts."""


class EntryKind(StrEnum):
    """What an entry says has happened; the values stand in the database and are never renamed."""

    PLANNED = "planned"
    STARTED = "started"
    ENDED = "ended"
    LATE = "late"
    APPROVAL_ASKED = "approval_asked"
    APPROVAL_DECIDED = "approval_decided"
    APPROVAL_USED = "approval_used"
    INTERRUPT = "interrupt"
    SETTLED = "settled"
    POLICY = "policy"
    HALT = "halt"


MEANING: Mapping[EntryKind, str] = MappingProxyType({
    EntryKind.PLANNED: "the model asked for a call; nothing has started",
    EntryKind.STARTED: "the call may start: nothing was pending that ends the batch",
    EntryKind.ENDED: "how the call ended, as its answer in the history says",
    EntryKind.LATE: "an end that came when the call had been answered for already; it is told to nobody",
    EntryKind.APPROVAL_ASKED: "a write was put before its approvers",
    EntryKind.APPROVAL_DECIDED: "it was approved, denied, expired or superseded",
    EntryKind.APPROVAL_USED: "the approval was spent on the one start of its call",
    EntryKind.INTERRUPT: "somebody or something asked a run to stop, pause or go back",
    EntryKind.SETTLED: "how a run ended",
    EntryKind.POLICY: "a channel's own rule was set or taken away",
    EntryKind.HALT: "everything was halted, or the halt was lifted",
})
"""What each kind says, for the documents."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A fact for the chain of a thread; texts and whole numbers only, so that every database gives it back alike."""

    kind: EntryKind
    body: JsonObject
    run_id: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """An entry as it is stored."""

    thread_id: str
    seq: int
    run_id: str | None
    request_id: str | None
    kind: str
    body: object
    prev_hash: str
    hash: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a chain, at or just before this entry."""

    thread_id: str
    seq: int
    what: str


def content(thread_id: str, run_id: str | None, request_id: str | None, kind: str, body: object) -> str:
    """What an entry says, in the one spelling that is hashed: the last five members of a JSON list."""
    members = [thread_id, run_id, request_id, kind, body]
    return json.dumps(members, ensure_ascii=False, sort_keys=True, separators=(",", ":"))[1:]


def at_text(moment: datetime) -> str:
    """A moment in the one spelling that is hashed, to the microsecond that PostgreSQL keeps."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def hash_of(link: Link) -> str:
    """The hash that this entry must have: SHA-256 over the hash before it and a JSON list of all that it says."""
    said = content(link.thread_id, link.run_id, link.request_id, link.kind, link.body)
    return _sha256(f'{link.prev_hash}[{link.seq},"{at_text(link.recorded_at)}",{said}')


def faults(links: Sequence[Link]) -> list[Fault]:
    """What is wrong with the chain of one thread, its entries in the order of their numbers."""
    found: list[Fault] = []
    before, number = GENESIS, 0
    for link in links:
        if link.seq != number + 1:
            found.append(Fault(link.thread_id, link.seq, f"follows number {number}: an entry is missing or too many"))
        if link.prev_hash != before:
            found.append(Fault(link.thread_id, link.seq, "does not follow the entry before it"))
        if link.hash != hash_of(link):
            found.append(Fault(link.thread_id, link.seq, "does not say what it said when it was written"))
        before, number = link.hash, link.seq
    return found


def missing(kept: Iterable[str], present: Collection[str]) -> list[str]:
    """The hashes kept elsewhere that no entry has any more: the end of their chain was cut off, or written anew."""
    return [each for each in kept if each not in present]


def overall(heads: Iterable[tuple[str, int, str]]) -> str:
    """One hash over the newest entry of every chain: (thread, number, hash)."""
    lines = sorted(f"{thread_id} {seq} {head}\n" for thread_id, seq, head in heads)
    return _sha256("".join(lines))


def as_markdown() -> dict[str, str]:
    """The kinds of entries for the documents."""
    return {"audit_entries": table(("entry", "what it says"), [(kind.value, MEANING[kind]) for kind in EntryKind])}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
