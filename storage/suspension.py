"""What has to be true of a run's open calls before it is paused: no question to people may outlive the pause."""

from bot.rules.interrupt_order import first
from bot.rules.terms import InterruptKind
from storage import closing, interrupts, runs, threads
from storage.engine import Transaction
from storage.threads import Claim


async def answer_before_a_pause(tx: Transaction, claim: Claim) -> None:
    """Answer the writes that had not started, if a pause is what a look would find; for the look's transaction."""
    thread = await threads.lock_owned(tx, claim)
    run = await runs.get(tx, claim.run_id) if thread else None
    if thread is None or run is None or run.cut is not None:
        return
    decisive = first(await interrupts.pending(tx, run))
    if decisive is not None and decisive.kind is InterruptKind.PAUSE:
        await closing.answer_unstarted_writes(tx, thread, run, decisive.kind)
