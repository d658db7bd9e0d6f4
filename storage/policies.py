"""The rows of the steer policy that a channel has made its own, and the verdicts that messages got.

A change is told to the chain of the workspace in the same transaction, with who made it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from bot.rules.audit_chain import EntryKind
from bot.rules.inbound_message import message_key
from bot.rules.messages import JsonObject
from bot.rules.steer_policy import Overrides
from bot.rules.terms import Phase, Source, Verdict
from storage import audit_chain
from storage.engine import Transaction
from storage.oversight_tables import policy_overrides
from storage.tables import clock, inbox, ingress, people, threads
from storage.threads import Place


class Policies:
    """The overrides of channels, read again after `kept_s` seconds: most messages are talk, and none of theirs."""

    most_kept = 1_000

    def __init__(self, kept_s: float = 0.0) -> None:
        self._kept_s = kept_s
        self._kept: dict[tuple[str, str], tuple[float, Overrides]] = {}

    async def of_channel(self, tx: Transaction, place: Place) -> Overrides:
        """The overrides of a channel; the policy itself refuses what may not be overridden."""
        channel, now = (place.team_id, place.channel_id), asyncio.get_running_loop().time()
        at, overrides = self._kept.get(channel, (now - self._kept_s, None))
        if overrides is not None and now - at < self._kept_s:
            return overrides
        overrides = await _read(tx, place)
        if len(self._kept) >= self.most_kept:
            self._kept.clear()
        self._kept[channel] = (now, overrides)
        return overrides


@dataclass(frozen=True, slots=True)
class RowKey:
    """Which row of the table, of which channel."""

    team_id: str
    channel_id: str
    source: Source
    interject: bool
    phase: Phase


@dataclass(frozen=True, slots=True)
class OwnRow:
    """A row as it is stored; its words may be none of ours, written by somebody else's hand."""

    channel_id: str
    source: str
    interject: bool
    phase: str
    verdict: str
    set_by: str
    set_at: datetime


@dataclass(frozen=True, slots=True)
class Judged:
    """How a message was judged, and the run that took it, if one did."""

    verdict: str
    row: str
    received_at: datetime
    run_id: str | None


async def put(tx: Transaction, key: RowKey, verdict: Verdict, by: str) -> None:
    """Make a row a channel's own; whoever calls has asked the rules whether it may be."""
    values = {"verdict": verdict, "set_by": by}
    made = insert(policy_overrides).values(**_columns(key), **values)
    kept = made.on_conflict_do_update(
        index_elements=list(policy_overrides.primary_key), set_={**values, "set_at": clock()}
    )
    await tx.execute(kept)
    await audit_chain.note_of_workspace(tx, EntryKind.POLICY, {**_said(key, by), "verdict": verdict})


async def take_away(tx: Transaction, key: RowKey, by: str) -> bool:
    """Give a row back to the default; False where it was none of the channel's own."""
    gone = await tx.execute(sa.delete(policy_overrides).where(*_is(key)))
    if gone.rowcount:
        await audit_chain.note_of_workspace(tx, EntryKind.POLICY, {**_said(key, by), "verdict": None})
    return gone.rowcount > 0


async def own_rows(tx: Transaction, team_id: str, channel_id: str | None = None) -> list[OwnRow]:
    """The rows that a channel, or any channel, has made its own."""
    names = [policy_overrides.c[name] for name in OwnRow.__dataclass_fields__]
    found = sa.select(*names).where(policy_overrides.c.team_id == team_id).order_by(*names[:4])
    if channel_id is not None:
        found = found.where(policy_overrides.c.channel_id == channel_id)
    return [OwnRow(*row) for row in await tx.execute(found)]


async def teams(tx: Transaction) -> list[str]:
    """The workspaces that this database knows of."""
    seen = sa.union(
        sa.select(threads.c.team_id).where(threads.c.team_id.is_not(None)),
        sa.select(people.c.team_id),
        sa.select(policy_overrides.c.team_id),
    )
    return sorted((await tx.execute(seen)).scalars())


async def judged(tx: Transaction, team_ids: Sequence[str], channel_id: str, ts: str) -> Judged | None:
    """The stored verdict of a message; None where it was never seen."""
    keys = [message_key(team_id, channel_id, ts) for team_id in team_ids]
    found = sa.select(ingress.c.verdict, ingress.c.policy_row, ingress.c.received_at).where(
        ingress.c.dedupe_key.in_(keys)
    )
    row = (await tx.execute(found.limit(1))).one_or_none()
    if row is None:
        return None
    took = (
        sa
        .select(inbox.c.run_id)
        .join(threads, threads.c.id == inbox.c.thread_id)
        .where(threads.c.channel_id == channel_id, inbox.c.slack_ts == ts, inbox.c.run_id.is_not(None))
    )
    return Judged(row[0], row[1], row[2], (await tx.execute(took.limit(1))).scalar_one_or_none())


def as_overrides(rows: Sequence[OwnRow]) -> Overrides:
    """The rows as the policy takes them.

    One with a word that is none of ours is as if it were not there, or a slip would stop a channel.
    """
    return {
        (Source(row.source), row.interject, Phase(row.phase)): Verdict(row.verdict)
        for row in rows
        if row.source in set(Source) and row.phase in set(Phase) and row.verdict in set(Verdict)
    }


async def _read(tx: Transaction, place: Place) -> Overrides:
    return as_overrides(await own_rows(tx, place.team_id, place.channel_id))


def _columns(key: RowKey) -> dict[str, Any]:
    return {name: getattr(key, name) for name in RowKey.__dataclass_fields__}


def _is(key: RowKey) -> list[sa.ColumnElement[bool]]:
    return [policy_overrides.c[name] == value for name, value in _columns(key).items()]


def _said(key: RowKey, by: str) -> JsonObject:
    return {**_columns(key), "set_by": by}
