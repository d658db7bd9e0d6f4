"""How a worker that is about to end lets go of its runs: asked one by one to suspend, and handed over at the last."""

import sqlalchemy as sa

from bot.rules.terms import InterruptKind, InterruptScope, InterruptSource, RunState, ThreadState
from storage import closing, interrupts, notify, runs, threads
from storage.engine import Transaction
from storage.interrupts import Order
from storage.tables import threads as threads_table
from storage.tables import workers
from storage.threads import Claim


async def begin(tx: Transaction, worker_id: str) -> list[str]:
    """Say that a worker drains, so that it can claim nothing more; returns the threads that it owns."""
    alive = sa.and_(workers.c.id == worker_id, workers.c.state == "alive")
    await tx.execute(sa.update(workers).where(alive).values(state="draining"))
    owned = sa.select(threads_table.c.id).where(threads_table.c.owner == worker_id)
    return list((await tx.execute(owned.order_by(threads_table.c.id))).scalars())


async def ask(tx: Transaction, thread_id: str, worker_id: str, interrupt_id: str) -> str | None:
    """Ask the run of a thread to suspend at its next cut point; its id, or None where there is nothing to ask."""
    thread = await threads.lock(tx, thread_id)
    run = await runs.newest(tx, thread_id) if thread and thread.owner == worker_id else None
    if thread is None or run is None or run.state is RunState.SETTLED:
        return None
    if not any(each.kind is InterruptKind.DRAIN for each in await interrupts.pending(tx, run)):
        order = Order(interrupt_id, InterruptKind.DRAIN, InterruptSource.SIGTERM, worker_id, scope=InterruptScope.RUN)
        await interrupts.record(tx, thread, run, order)
    return run.id


async def hand_over(tx: Transaction, claim: Claim) -> bool:
    """Let another worker go on with a run now: what is open is answered truly, since nobody waits for it any more."""
    thread = await threads.lock_owned(tx, claim)
    run = await runs.get(tx, claim.run_id) if thread else None
    if thread is None or run is None or run.state is RunState.SETTLED:
        return False
    if run.state is RunState.RUNNING:
        thread = await closing.answer_open_calls(tx, thread, run, InterruptKind.DRAIN)
    await interrupts.finish(tx, run.id, {InterruptKind.DRAIN})
    await threads.release(tx, thread, ThreadState.READY)
    await notify.notify(tx, notify.READY, thread=thread.id)
    return True
