"""What was seen before: one row a distinct message or gesture, without its text, with the verdict it got."""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from storage.engine import Transaction
from storage.tables import ingress

EDIT = "edit"
DELETION = "deletion"
PRESS = "press"
UNJUDGED = "unjudged"
"""Verdicts of what is no message, and of a message whose author is not known yet."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A message as it was first seen."""

    verdict: str
    policy_row: str
    interject: bool


_SEE = insert(ingress).on_conflict_do_nothing()


async def see(tx: Transaction, key: str, seen: Seen, gesture_key: str | None = None) -> bool:
    """Write down that something was seen; False when it had been seen before, under either key."""
    row = {
        "dedupe_key": key,
        "gesture_key": gesture_key,
        "verdict": seen.verdict,
        "policy_row": seen.policy_row,
        "interject": seen.interject,
    }
    return (await tx.execute(_SEE, row)).rowcount == 1


async def first_copy(tx: Transaction, key: str) -> Seen | None:
    """How this message was seen first."""
    found = sa.select(ingress.c.verdict, ingress.c.policy_row, ingress.c.interject).where(ingress.c.dedupe_key == key)
    row = (await tx.execute(found)).one_or_none()
    return Seen(row[0], row[1], row[2]) if row else None


async def rejudge(tx: Transaction, key: str, seen: Seen) -> None:
    """Replace the verdict of a message: it still has exactly one."""
    values = {"verdict": seen.verdict, "policy_row": seen.policy_row, "interject": seen.interject}
    await tx.execute(sa.update(ingress).where(ingress.c.dedupe_key == key).values(**values))
