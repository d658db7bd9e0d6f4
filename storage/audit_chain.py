"""The chain of the audit in the database: one statement an entry, in the transaction of the fact that it tells of.

Whoever writes an entry has locked the thread's row before, like for everything else about a thread, so the entry before
it is the newest there is. The database hashes: reading the last hash first would cost another statement each time.
"""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from bot.rules.audit_chain import GENESIS, WORKSPACE, Entry, EntryKind, Link, content
from bot.rules.messages import JsonObject
from storage import threads
from storage.columns import storable, storable_json
from storage.engine import Transaction
from storage.oversight_tables import audit_entries
from storage.tables import threads as threads_table

_APPEND = sa.text("""
with last as materialized (
    select coalesce(max(seq), 0) as seq from audit_entries where thread_id = :thread_id
), following as materialized (
    select last.seq + 1 as seq, coalesce(before.hash, :genesis) as prev_hash, clock_timestamp() as recorded_at
    from last left join audit_entries before on before.thread_id = :thread_id and before.seq = last.seq
)
insert into audit_entries (thread_id, seq, run_id, request_id, kind, body, prev_hash, hash, recorded_at)
select :thread_id, seq, :run_id, :request_id, :kind, cast(:body as jsonb), prev_hash,
       encode(sha256(convert_to(
           prev_hash || '[' || seq || ',"'
           || to_char(recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '",' || :content, 'UTF8'
       )), 'hex'),
       recorded_at
from following
""").bindparams(*(sa.bindparam(name, type_=sa.Text) for name in (
    "thread_id", "genesis", "run_id", "request_id", "kind", "body", "content",
)))  # fmt: skip


async def note(tx: Transaction, thread_id: str, entries: Sequence[Entry]) -> None:
    """Append entries to the chain of a locked thread."""
    if entries:
        await tx.execute(_APPEND, [_row(thread_id, each) for each in entries])


async def note_of_workspace(tx: Transaction, kind: EntryKind, body: JsonObject) -> None:
    """Append to the chain of what belongs to no thread; its row, to be locked, stands among the threads.

    It is locked after every thread: whoever holds it takes no other.
    """
    await tx.execute(insert(threads_table).values(id=WORKSPACE, kind=WORKSPACE).on_conflict_do_nothing())
    await threads.lock(tx, WORKSPACE)
    await note(tx, WORKSPACE, [Entry(kind, body)])


async def chains(tx: Transaction) -> AsyncIterator[list[Link]]:
    """The stored entries, a thread at a time."""
    names = sa.select(audit_entries.c.thread_id).distinct().order_by(audit_entries.c.thread_id)
    for thread_id in list((await tx.execute(names)).scalars()):
        mine = sa.select(audit_entries).where(audit_entries.c.thread_id == thread_id).order_by(audit_entries.c.seq)
        yield [_link(row) for row in (await tx.execute(mine)).mappings()]


async def heads(tx: Transaction) -> list[tuple[str, int, str]]:
    """The newest entry of every chain: thread, number, hash."""
    newest = sa.select(audit_entries.c.thread_id, sa.func.max(audit_entries.c.seq)).group_by(audit_entries.c.thread_id)
    found = sa.select(audit_entries.c.thread_id, audit_entries.c.seq, audit_entries.c.hash).where(
        sa.tuple_(audit_entries.c.thread_id, audit_entries.c.seq).in_(newest)
    )
    return [(row[0], row[1], row[2]) for row in await tx.execute(found.order_by(audit_entries.c.thread_id))]


def _row(thread_id: str, entry: Entry) -> dict[str, Any]:
    # Made storable here, and not on the way in, because what is hashed must be what is stored.
    thread_id, body = storable(thread_id), storable_json(entry.body)
    run_id, request_id = (storable(each) if each is not None else None for each in (entry.run_id, entry.request_id))
    return {
        "thread_id": thread_id,
        "genesis": GENESIS,
        "run_id": run_id,
        "request_id": request_id,
        "kind": entry.kind.value,
        "body": json.dumps(body, ensure_ascii=False),
        "content": content(thread_id, run_id, request_id, entry.kind.value, body),
    }


def _link(row: Any) -> Link:
    return Link(**{name: row[name] for name in Link.__dataclass_fields__})
