"""The halt of everything: while one stands no run starts anywhere, and every run is stopped.

A halt is pending for every run exactly while it stands (`interrupts.pending`), so that none slips through; beside that
each run gets a stop of its own on record, by whoever comes first: the halting command or any reaper. Lifting it starts
nothing.
"""

from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from bot.rules.audit_chain import EntryKind
from bot.rules.halt_words import refusal
from bot.rules.steer_policy import Judgement
from bot.rules.terms import InterruptKind, InterruptSource, RunState, Verdict
from storage import audit_chain, commands, notify, threads
from storage.commands import Commanded
from storage.engine import Transaction
from storage.inbox_rows import STARTS_A_RUN
from storage.interrupts import Order
from storage.oversight_tables import halts
from storage.settlement import Means
from storage.tables import clock, runs

POLICY_ROW = "halt"
"""What the verdict of a message says that was refused because of a halt."""

_STANDS = halts.c.lifted_at.is_(None)
_STANDING = sa.select(halts.c.id, halts.c.set_by, halts.c.reason, halts.c.set_at).where(_STANDS)
_NOT_STOPPING = sa.and_(runs.c.state != RunState.SETTLED, runs.c.state != RunState.CANCELLING)


@dataclass(frozen=True, slots=True)
class Halt:
    """A halt, and who set it."""

    id: str
    set_by: str
    reason: str
    set_at: datetime


async def begin(tx: Transaction, halt_id: str, set_by: str, reason: str) -> Halt:
    """Halt everything; returns the halt that stands, which is an earlier one where there was one."""
    row = {"id": halt_id, "set_by": set_by, "reason": reason}
    made = await tx.execute(insert(halts).values(**row).on_conflict_do_nothing())
    if made.rowcount:
        await audit_chain.note_of_workspace(tx, EntryKind.HALT, {**row, "stands": True})
    await notify.notify(tx, notify.HALT, kind=InterruptKind.STOP)
    stands = await standing(tx)
    # Lifted between the two statements by somebody else: then this one is over as well.
    return stands or Halt(halt_id, set_by, reason, (await tx.execute(sa.select(clock()))).scalar_one())


async def standing(tx: Transaction) -> Halt | None:
    """The halt that stands; None where everything may go on."""
    row = (await tx.execute(_STANDING)).one_or_none()
    return Halt(*row) if row else None


async def lift(tx: Transaction, lifted_by: str) -> Halt | None:
    """Let things start again; None where no halt stood. Whoever lifts it stops first what still waits to be stopped."""
    lifting = sa.update(halts).where(_STANDS).values(lifted_by=lifted_by, lifted_at=clock())
    row = (
        await tx.execute(lifting.returning(halts.c.id, halts.c.set_by, halts.c.reason, halts.c.set_at))
    ).one_or_none()
    if row is not None:
        said = {"id": row.id, "lifted_by": lifted_by, "stands": False}
        await audit_chain.note_of_workspace(tx, EntryKind.HALT, said)
    return Halt(*row) if row else None


async def unstopped(tx: Transaction) -> list[str]:
    """The threads whose run is not being stopped although a halt stands."""
    found = sa.select(runs.c.thread_id).where(_NOT_STOPPING, sa.exists().where(_STANDS))
    return list((await tx.execute(found)).scalars())


async def stop_thread(tx: Transaction, thread_id: str, means: Means) -> Commanded | None:
    """Stop the run of one thread for the halt that stands; None where none does any more."""
    thread = await threads.lock(tx, thread_id)
    halt = await standing(tx)
    if thread is None or halt is None:
        return None
    order = Order(means.mint_id(), InterruptKind.STOP, InterruptSource.HALT, halt.set_by, reason=halt.reason)
    return await commands.stop(tx, thread, order, means)


async def judged(tx: Transaction, judgement: Judgement) -> Judgement:
    """What becomes of a message while a halt stands: nothing that asks for work is taken, and it is told why."""
    halt = await standing(tx) if judgement.verdict in STARTS_A_RUN else None
    if halt is None:
        return judgement
    return replace(judgement, verdict=Verdict.REFUSE, row=POLICY_ROW, reply=refusal(halt.set_by, halt.reason))
