"""What a run did, for somebody who asks for it on its card; whether they may is looked up at the press."""

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from bot.rules.access import Action, may, refusal, source_of
from bot.rules.card_facts import StepState
from bot.rules.deeds import Deed, Deeds
from bot.rules.inbound_message import Press
from bot.rules.terms import Grade
from storage import runs
from storage.engine import Transaction
from storage.inbox import Reception
from storage.oversight_tables import tool_attempts
from storage.people import Person
from storage.tables import tool_calls

if TYPE_CHECKING:
    from datetime import datetime

NOT_HERE = "That analysis is not known here."
MOST = 200
"""Calls that are read; a modal shows fewer."""


async def for_press(tx: Transaction, reception: Reception, press: Press, person: Person) -> Deeds | str:
    """What the run of a card did; else what to tell who asked."""
    run = await runs.get(tx, press.run_id)
    if run is None or not await runs.is_card_at(tx, press.run_id, press.channel_id, press.message_ts):
        return NOT_HERE
    is_requester = await runs.is_requester(tx, run, person.user_id)
    source = source_of(press.author, person.person_class, is_requester, reception.alert_apps, reception.our)
    if not may(Action.VIEW_AUDIT, source, is_approver=person.user_id in reception.approvers):
        return refusal(Action.VIEW_AUDIT, source) or NOT_HERE
    return await of_run(tx, run)


async def of_run(tx: Transaction, run: runs.Run) -> Deeds:
    """The newest calls of a run, oldest of them first."""
    made = (
        sa
        .select(sa.func.count())
        .where(tool_attempts.c.request_id == tool_calls.c.request_id)
        .correlate(tool_calls)
        .scalar_subquery()
    )
    newest = (
        sa
        .select(tool_calls, made.label("requests"), sa.func.count().over().label("calls"))
        .where(tool_calls.c.run_id == run.id)
        .order_by(tool_calls.c.recorded_at.desc(), tool_calls.c.position.desc())
        .limit(MOST)
    )
    rows = (await tx.execute(newest)).mappings().all()
    calls = rows[0]["calls"] if rows else 0
    return Deeds(run.id, run.title, run.requested_by, calls, tuple(map(_deed, reversed(rows))))


def _deed(row: Any) -> Deed:
    at: datetime = row["started_at"] or row["recorded_at"]
    begun = StepState.RUNNING if row["started_at"] is not None else StepState.WAITING
    same = ("title", "target", "method", "status", "elapsed_ms", "interrupted", "blocked_by", "approved_by", "requests")
    return Deed(
        at=at.timestamp(),
        step=row["round"],
        state=StepState(row["outcome"]) if row["outcome"] else begun,
        grade=Grade(row["grade"]),
        **{name: row[name] for name in same},
    )
