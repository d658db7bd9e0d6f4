"""One row an HTTP request that a call made: a redirect and a second try are requests of their own.

What left is no matter of who owns the run: a row is written whatever the fence says, and never judged. Nothing is
scrubbed here: texts come in as they may be shown.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from storage.engine import Transaction
from storage.oversight_tables import tool_attempts
from storage.tables import tool_calls


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One HTTP request, or one that was refused before it left: then `rule` says by what, and `address` may be None.

    `attempt` counts from 1 within the call; times in milliseconds, sizes in bytes as they came over the wire.
    """

    request_id: str
    attempt: int
    method: str
    url: str
    address: str | None = None
    status: int | None = None
    outcome: str | None = None
    rule: str | None = None
    elapsed_ms: int | None = None
    received_bytes: int | None = None


async def add(tx: Transaction, rows: Sequence[AttemptRow]) -> None:
    """Write attempts down; one that is written already stays as it is, so a lost reply repeats nothing.

    An attempt of a call that nobody planned is left out: it would take all the others with it.
    """
    if rows:
        await tx.execute(_ADD, [_bound(row) for row in rows])


async def of_calls(tx: Transaction, request_ids: Sequence[str]) -> dict[str, list[AttemptRow]]:
    """The attempts of these calls, in order; a call without any is left out."""
    names = [tool_attempts.c[name] for name in _NAMES]
    mine = sa.select(*names).where(tool_attempts.c.request_id.in_(request_ids)).order_by(tool_attempts.c.attempt)
    found: dict[str, list[AttemptRow]] = {}
    for row in await tx.execute(mine):
        found.setdefault(row.request_id, []).append(AttemptRow(**row._mapping))
    return found


_NAMES = [field.name for field in fields(AttemptRow)]

_IS_PLANNED = sa.exists().where(tool_calls.c.request_id == sa.bindparam("b_request_id"))
_ADD = (
    insert(tool_attempts)
    .from_select(
        _NAMES,
        sa.select(*(sa.bindparam(f"b_{name}", type_=tool_attempts.c[name].type) for name in _NAMES)).where(_IS_PLANNED),
    )
    .on_conflict_do_nothing()
)


def _bound(row: AttemptRow) -> dict[str, Any]:
    return {f"b_{name}": value for name, value in asdict(row).items()}
