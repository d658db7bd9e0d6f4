"""Approvals of writes: asked for, decided, used once.

Every function locks the thread first, or is given it locked, and judges by the database's clock. A yes is used in the
transaction that writes down that the call starts; whatever comes between them, the call does not start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.rules.audit_chain import Entry, EntryKind
from bot.rules.command_words import Decided
from bot.rules.interrupt_order import HOLDS_BACK, Pending, first
from bot.rules.terms import ApprovalState, ParkedFor, RunState, ThreadState
from bot.rules.tool_policy import ApprovalTerms, Vote
from storage import approval_rows, audit, audit_chain, cards, interrupts, runs, threads
from storage.approval_rows import Approval
from storage.engine import Transaction
from storage.oversight_tables import approvals
from storage.runs import Run
from storage.tables import clock
from storage.threads import Claim, Thread


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to people: may this call be made? `sha256` is the fingerprint of the call in full."""

    id: str
    request_id: str
    sha256: str
    shown: str
    terms: ApprovalTerms


class Use(StrEnum):
    """Whether a write may start; CHANGED: it is not what was approved; MISSING: nobody was asked."""

    GO = "go"
    WAITING = "waiting"
    ENDED = "ended"
    CHANGED = "changed"
    MISSING = "missing"
    HELD_BACK = "held_back"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class UseAnswer:
    """The answer to a write that wants to start; `by` is what holds it back, `state` how its approval ended."""

    use: Use
    by: Pending | None = None
    state: ApprovalState | None = None


class Park(StrEnum):
    """Whether a run that waits for people has let its worker go."""

    PARKED = "parked"
    DECIDED = "decided"
    HELD_BACK = "held_back"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ParkAnswer:
    """The answer to a run that wants to park; `by` is what holds it back."""

    park: Park
    by: Pending | None = None


async def ask(tx: Transaction, claim: Claim, asked: Sequence[Asked]) -> None:
    """Ask, in the transaction that stores the calls; the clock of each begins here."""
    if asked:
        await tx.execute(sa.insert(approvals).values([_row(claim, each) for each in asked]))
        entries = [_asked_entry(claim, each) for each in asked]
        await audit_chain.note(tx, claim.thread_id, entries)


async def use(tx: Transaction, claim: Claim, request_id: str, sha256: str, token: str) -> UseAnswer:
    """Use a yes and write down that its call starts, in this one transaction; at most once, whatever is repeated.

    `sha256` is computed from what is about to be sent. `token` names this attempt: its repetition after a lost reply
    gives the same answer, and no other attempt does.
    """
    run = await _own_run(tx, claim)
    if run is None:
        return UseAnswer(Use.LOST)
    approval = await approval_rows.of_request(tx, request_id)
    if approval is not None and approval.used_by == token:
        return UseAnswer(Use.GO)
    held_by = await held_back_by(tx, run)
    if held_by is not None:
        return UseAnswer(Use.HELD_BACK, by=held_by)
    if approval is None or approval.run_id != run.id:
        return UseAnswer(Use.MISSING)
    return await _use(tx, claim, approval, sha256, token)


async def park(tx: Transaction, claim: Claim, request_ids: list[str]) -> ParkAnswer:
    """Let the worker go until somebody decides one of these calls, if nothing else is asked and none is decided."""
    thread = await threads.lock_owned(tx, claim)
    run = await _live(tx, claim.run_id) if thread else None
    if thread is None or run is None:
        return ParkAnswer(Park.LOST)
    held_by = await held_back_by(tx, run)
    if held_by is not None:
        return ParkAnswer(Park.HELD_BACK, held_by)
    found = await approval_rows.of_requests(tx, request_ids)
    if not all(each.is_waiting for each in found) or len(found) < len(request_ids):
        return ParkAnswer(Park.DECIDED)
    await runs.change(tx, run.id, state=RunState.PARKED, parked_for=ParkedFor.APPROVAL)
    await threads.release(tx, thread, ThreadState.PARKED)
    await cards.bump(tx, run.id, at_once=True)
    return ParkAnswer(Park.PARKED)


async def decide(tx: Transaction, thread: Thread, run: Run, approval: Approval, ballot: tuple[str, Vote]) -> Decided:
    """Take in what an approver says, in a locked thread; whether this person may is the caller's to know."""
    user_id, says = ballot
    closed = _closed(approval, says)
    if closed is not None:
        return closed
    if run.state is RunState.SETTLED:
        return Decided.WAS_SUPERSEDED
    if run.parked_for is ParkedFor.PAUSED or await held_back_by(tx, run) is not None:
        return Decided.HELD_BACK
    if approval.is_over:
        await _end(tx, thread, run, approval, ApprovalState.EXPIRED)
        return Decided.WAS_EXPIRED
    if says is Vote.NO:
        await approval_rows.vote(tx, approval.id, user_id, says)
        await _end(tx, thread, run, approval, ApprovalState.DENIED, decided_by=user_id)
        return Decided.DENIED
    return await _say_yes(tx, thread, run, approval, user_id)


async def expire(tx: Transaction, thread_id: str, approval_id: str) -> bool:
    """End a question that nobody has answered in time; False when it no longer waits, or not yet."""
    thread = await threads.lock(tx, thread_id)
    approval = await approval_rows.get(tx, approval_id)
    run = await runs.get(tx, approval.run_id) if approval else None
    if thread is None or approval is None or run is None:
        return False
    if approval.state is not ApprovalState.WAITING or not approval.is_over:
        return False
    await _end(tx, thread, run, approval, ApprovalState.EXPIRED)
    return True


async def void(tx: Transaction, thread: Thread, run: Run) -> None:
    """Take back every open question of a run: what it rests on was withdrawn. A run that waits is woken."""
    if await approval_rows.supersede(tx, run.id):
        await _wake(tx, thread, run)


async def held_back_by(tx: Transaction, run: Run) -> Pending | None:
    """What keeps this run from starting anything: a cut, or a stop, rollback, pause or steer that is pending."""
    if run.cut is not None:
        return run.cut
    return first(each for each in await interrupts.pending(tx, run) if each.kind in HOLDS_BACK)


async def _use(tx: Transaction, claim: Claim, approval: Approval, sha256: str, token: str) -> UseAnswer:
    if approval.state in {ApprovalState.WAITING, ApprovalState.APPROVED} and approval.is_over:
        await approval_rows.change(tx, approval.id, ApprovalState.EXPIRED, decided_at=clock())
        return UseAnswer(Use.ENDED, state=ApprovalState.EXPIRED)
    if approval.state is ApprovalState.WAITING:
        return UseAnswer(Use.WAITING)
    if approval.state is not ApprovalState.APPROVED:
        return UseAnswer(Use.ENDED, state=approval.state)
    if approval.sha256 != sha256:
        await approval_rows.change(tx, approval.id, ApprovalState.SUPERSEDED)
        return UseAnswer(Use.CHANGED)
    await approval_rows.change(tx, approval.id, ApprovalState.USED, used_by=token)
    body = {"by": approval.decided_by or "", "sha256": sha256}
    entry = Entry(EntryKind.APPROVAL_USED, body, claim.run_id, approval.request_id)
    await audit_chain.note(tx, claim.thread_id, [entry])
    await audit.begin(tx, claim, approval.request_id, approved_by=approval.decided_by)
    await cards.bump(tx, claim.run_id, at_once=True)
    return UseAnswer(Use.GO)


async def _say_yes(tx: Transaction, thread: Thread, run: Run, approval: Approval, user_id: str) -> Decided:
    if not await approval_rows.vote(tx, approval.id, user_id, Vote.YES):
        return Decided.VOTED_ALREADY
    voters = await approval_rows.who_said(tx, approval.id, Vote.YES)
    if len(voters) < approval.needed:
        await cards.bump(tx, run.id, at_once=True)
        return Decided.YES_COUNTED
    await _end(tx, thread, run, approval, ApprovalState.APPROVED, decided_by=",".join(voters))
    return Decided.APPROVED


def _closed(approval: Approval, says: Vote) -> Decided | None:
    """What somebody is told who comes too late."""
    match approval.state:
        case ApprovalState.APPROVED | ApprovalState.USED:
            return Decided.WAS_APPROVED if says is Vote.YES else Decided.WAS_APPROVED_TOO_LATE_TO_DENY
        case ApprovalState.DENIED:
            return Decided.WAS_DENIED
        case ApprovalState.EXPIRED:
            return Decided.WAS_EXPIRED
        case ApprovalState.SUPERSEDED:
            return Decided.WAS_SUPERSEDED
        case ApprovalState.WAITING:
            return None


async def _end(
    tx: Transaction, thread: Thread, run: Run, approval: Approval, state: ApprovalState, **values: Any
) -> None:
    await approval_rows.change(tx, approval.id, state, decided_at=clock(), **values)
    body = {"state": state.value, "by": values.get("decided_by") or ""}
    entry = Entry(EntryKind.APPROVAL_DECIDED, body, run.id, approval.request_id)
    await audit_chain.note(tx, thread.id, [entry])
    await _wake(tx, thread, run)


async def _wake(tx: Transaction, thread: Thread, run: Run) -> None:
    """Make a run ready that waits for people; one that is at work looks by itself when it wants to park."""
    if run.state is RunState.PARKED and run.parked_for is ParkedFor.APPROVAL:
        await interrupts.unpark(tx, thread, run)
    else:
        await cards.bump(tx, run.id, at_once=True)


async def _own_run(tx: Transaction, claim: Claim) -> Run | None:
    return await _live(tx, claim.run_id) if await threads.lock_owned(tx, claim) else None


async def _live(tx: Transaction, run_id: str) -> Run | None:
    run = await runs.get(tx, run_id)
    return None if run is None or run.state is RunState.SETTLED else run


def _asked_entry(claim: Claim, asked: Asked) -> Entry:
    body = {"sha256": asked.sha256, "approvers": list(asked.terms.approvers), "needed": asked.terms.needed}
    return Entry(EntryKind.APPROVAL_ASKED, body, claim.run_id, asked.request_id)


def _row(claim: Claim, asked: Asked) -> dict[str, Any]:
    return {
        "id": asked.id,
        "thread_id": claim.thread_id,
        "run_id": claim.run_id,
        "request_id": asked.request_id,
        "sha256": asked.sha256,
        "shown": asked.shown,
        "state": ApprovalState.WAITING,
        "approvers": list(asked.terms.approvers),
        "needed": asked.terms.needed,
        "not_requester": asked.terms.not_requester,
        "expires_at": clock() + sa.func.make_interval(0, 0, 0, 0, 0, 0, asked.terms.expires_s),
    }
