"""The rows of approvals and votes: reading them, and the moves that need no decision. Never locks, never wakes."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from bot.rules.audit_chain import Entry, EntryKind
from bot.rules.terms import ApprovalState, RunState
from bot.rules.tool_policy import IS_OPEN, Vote
from storage import audit_chain
from storage.engine import Transaction
from storage.oversight_tables import approval_votes, approvals
from storage.runs import Run
from storage.tables import clock

LONGEST_WORD = 60
"""Characters of a text that may still be one word with a mention; longer ones are not worth a look."""


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval as its row says it is; `is_over`: its time is over, by the database's clock."""

    id: str
    thread_id: str
    run_id: str
    request_id: str
    sha256: str
    state: ApprovalState
    approvers: tuple[str, ...]
    needed: int
    not_requester: bool
    decided_by: str | None
    used_by: str | None
    is_over: bool

    @property
    def is_waiting(self) -> bool:
        """Whether people may still decide it."""
        return self.state is ApprovalState.WAITING and not self.is_over


async def get(tx: Transaction, approval_id: str) -> Approval | None:
    """An approval by its id."""
    found = await _read(tx, approvals.c.id == approval_id)
    return found[0] if found else None


async def of_request(tx: Transaction, request_id: str) -> Approval | None:
    """The approval of a call; None where none was asked for."""
    found = await _read(tx, approvals.c.request_id == request_id)
    return found[0] if found else None


async def of_requests(tx: Transaction, request_ids: list[str]) -> list[Approval]:
    """The approvals of these calls."""
    return await _read(tx, approvals.c.request_id.in_(request_ids))


async def of_run(tx: Transaction, run_id: str) -> dict[str, Approval]:
    """The approvals of a run, by the request id of their call."""
    return {each.request_id: each for each in await _read(tx, approvals.c.run_id == run_id)}


async def change(tx: Transaction, approval_id: str, state: ApprovalState, **values: Any) -> None:
    """Move an approval of a locked thread on."""
    await tx.execute(sa.update(approvals).where(approvals.c.id == approval_id).values(state=state, **values))


async def supersede(tx: Transaction, run_id: str, request_id: str | None = None) -> int:
    """Take back what is still open, of a run or of one of its calls: questions, and a yes that was not used.

    Gives how many there were.
    """
    still_open = sa.and_(approvals.c.run_id == run_id, approvals.c.state.in_(list(IS_OPEN)))
    if request_id is not None:
        still_open = sa.and_(still_open, approvals.c.request_id == request_id)
    taken = sa.update(approvals).where(still_open).values(state=ApprovalState.SUPERSEDED, decided_at=clock())
    found = (await tx.execute(taken.returning(approvals.c.thread_id, approvals.c.request_id))).all()
    body = {"state": ApprovalState.SUPERSEDED.value, "by": ""}
    for thread_id, request in found:
        await audit_chain.note(tx, thread_id, [Entry(EntryKind.APPROVAL_DECIDED, body, run_id, request)])
    return len(found)


async def awaits_a_word(tx: Transaction, run: Run, text: str) -> bool:
    """Whether this text could be meant as an answer to a question that the run has put to people."""
    if run.state is RunState.SETTLED or not text.strip() or len(text) > LONGEST_WORD:
        return False
    waiting = sa.and_(approvals.c.run_id == run.id, approvals.c.state == ApprovalState.WAITING)
    return (await tx.execute(sa.select(approvals.c.id).where(waiting).limit(1))).first() is not None


async def overdue(tx: Transaction) -> list[tuple[str, str]]:
    """Threads and approvals that nobody has decided in time."""
    late = sa.and_(approvals.c.state == ApprovalState.WAITING, approvals.c.expires_at <= clock())
    found = sa.select(approvals.c.thread_id, approvals.c.id).where(late).order_by(approvals.c.expires_at)
    return [(row[0], row[1]) for row in await tx.execute(found)]


async def vote(tx: Transaction, approval_id: str, user_id: str, says: Vote) -> bool:
    """Write a vote down; False where this person has voted before."""
    cast = insert(approval_votes).values(approval_id=approval_id, user_id=user_id, vote=says)
    return (await tx.execute(cast.on_conflict_do_nothing())).rowcount == 1


async def who_said(tx: Transaction, approval_id: str, says: Vote) -> list[str]:
    """Who has voted so, in the order of voting."""
    mine = sa.and_(approval_votes.c.approval_id == approval_id, approval_votes.c.vote == says)
    found = sa.select(approval_votes.c.user_id).where(mine).order_by(approval_votes.c.voted_at)
    return list((await tx.execute(found)).scalars())


async def _read(tx: Transaction, where: sa.ColumnElement[bool]) -> list[Approval]:
    found = sa.select(approvals, (approvals.c.expires_at <= clock()).label("is_over")).where(where)
    return [_approval(row) for row in (await tx.execute(found)).mappings()]


def _approval(row: Any) -> Approval:
    return Approval(
        id=row["id"],
        thread_id=row["thread_id"],
        run_id=row["run_id"],
        request_id=row["request_id"],
        sha256=row["sha256"],
        state=ApprovalState(row["state"]),
        approvers=tuple(row["approvers"]),
        needed=row["needed"],
        not_requester=row["not_requester"],
        decided_by=row["decided_by"],
        used_by=row["used_by"],
        is_over=row["is_over"],
    )
