"""Edits and deletions of messages that were taken in.

An edit of a waiting message replaces its text and may only lower its verdict. From the stamp of the cut on, a steer
is used, and taking it back only tells the next round.
"""

from dataclasses import replace

import sqlalchemy as sa

from bot.rules.inbound_message import Deletion, Edit, message_key
from bot.rules.interrupt_order import Pending
from bot.rules.steer_policy import EDIT_TOO_LATE, Arrival, judge_edit, phase_in
from bot.rules.terms import (
    InboxState,
    InterruptKind,
    InterruptSource,
    Phase,
    RunState,
    Source,
    Verdict,
)
from bot.rules.turn_ends import Cut
from storage import approvals, cards, commands, inbox_rows, ingress, runs, settlement, threads
from storage.engine import Transaction
from storage.inbox import Receipt, Reception
from storage.inbox_rows import STARTS_A_RUN, Waiting
from storage.ingress import Seen
from storage.interrupts import Order
from storage.runs import Run
from storage.settlement import Means
from storage.tables import inbox
from storage.tables import runs as runs_table
from storage.tables import threads as threads_table
from storage.threads import Thread


class Changes:
    """Takes edits and deletions in."""

    def __init__(self, reception: Reception, means: Means) -> None:
        self._reception, self._means = reception, means

    async def edit(self, tx: Transaction, edit: Edit) -> Receipt:
        """Take an edit in."""
        found = await _find(tx, edit.team_id, edit.channel_id, edit.message_ts)
        if not await _see(tx, edit.dedupe_key, ingress.EDIT) or found is None:
            return Receipt(None)
        thread, row = found
        if row.state is InboxState.UNJUDGED:
            await _edit_unjudged(tx, thread, row, edit)
            return Receipt(None)
        if row.state is InboxState.CONSUMED or await _is_used(tx, thread, row):
            return Receipt(None, EDIT_TOO_LATE)
        if row.state is not InboxState.WAITING:
            return Receipt(None)
        return await self._edit_waiting(tx, thread, row, edit)

    async def delete(self, tx: Transaction, deletion: Deletion) -> Receipt:
        """Take a deletion in: withdraw what waits, tell the run what it has seen, stop what was asked by it."""
        found = await _find(tx, deletion.team_id, deletion.channel_id, deletion.deleted_ts)
        if not await _see(tx, deletion.dedupe_key, ingress.DELETION):
            return Receipt(None)
        # What was never seen may still be on its way, and is not wanted any more.
        await _see(tx, message_key(deletion.team_id, deletion.channel_id, deletion.deleted_ts), ingress.DELETION)
        if found is None:
            return Receipt(None)
        thread, row = found
        if row.state in {InboxState.WAITING, InboxState.UNJUDGED} and not await _is_used(tx, thread, row):
            await inbox_rows.change(tx, thread.id, row.seq, state=InboxState.WITHDRAWN)
            return Receipt(None, run_id=await self._settle_if_nothing_asks(tx, thread, row.author))
        return Receipt(None, run_id=await self._take_back(tx, thread, row))

    async def _edit_waiting(self, tx: Transaction, thread: Thread, row: Waiting, edit: Edit) -> Receipt:
        overrides = await self._reception.policies.of_channel(tx, thread.place)
        judged = judge_edit(await self._arrival(tx, thread, edit, row), row.verdict, overrides)
        state = InboxState.WITHDRAWN if judged.verdict in {Verdict.IGNORE, Verdict.REFUSE} else InboxState.WAITING
        verdict = row.verdict if state is InboxState.WITHDRAWN else judged.verdict
        await inbox_rows.change(
            tx, thread.id, row.seq, state=state, verdict=verdict, text=edit.text, policy_row=judged.row
        )
        await _retitle(tx, thread, row, edit)
        run_id = await self._settle_if_nothing_asks(tx, thread, row.author)
        return Receipt(judged.verdict, judged.reply, run_id)

    async def _take_back(self, tx: Transaction, thread: Thread, row: Waiting) -> str | None:
        """Take back what a run has seen, or will see: end the run that it alone asked for, or tell the next round."""
        run = await runs.newest(tx, thread.id)
        if row.state is InboxState.WITHDRAWN or run is None:
            return None
        if await _is_the_only_request(tx, run, row):
            sent = str(row.slack_ts) if row.slack_ts is not None else None
            order = Order(self._means.mint_id(), InterruptKind.STOP, InterruptSource.MESSAGE, row.author, sent)
            return (await commands.stop(tx, thread, order, self._means)).run_id
        await _tell(tx, thread, row)
        await approvals.void(tx, thread, run)
        return run.id

    async def _arrival(self, tx: Transaction, thread: Thread, edit: Edit, row: Waiting) -> Arrival:
        stored = sa.select(inbox.c.policy_row).where(inbox.c.thread_id == thread.id, inbox.c.seq == row.seq)
        policy_row = (await tx.execute(stored)).scalar_one()
        return Arrival(
            source=row.source,
            phase=phase_in(policy_row) or Phase.RUNNING,
            text=edit.raw_text,
            slack_ts=edit.message_ts,
            bot_user_id=self._reception.our.bot_user_id,
            mentions_bot=edit.mentions_bot,
            is_direct=edit.channel_type == "im",
        )

    async def _settle_if_nothing_asks(self, tx: Transaction, thread: Thread, author: str) -> str | None:
        """A run that has not started and whose last message was withdrawn is settled here: nobody asks for it."""
        run = await runs.newest(tx, thread.id)
        if run is None or run.state is RunState.SETTLED:
            return run.id if run else None
        await cards.bump(tx, run.id, at_once=True)
        if run.started_at is None and not await inbox_rows.waiting(tx, thread.id, STARTS_A_RUN):
            by = Pending(InterruptKind.STOP, InterruptSource.MESSAGE, author)
            await settlement.settle_locked(tx, thread, run, Cut(by), self._means)
        return run.id


async def _find(tx: Transaction, team_id: str, channel_id: str, ts: str) -> tuple[Thread, Waiting] | None:
    """Lock the thread that took this message in, and read the message."""
    at = sa.select(inbox.c.thread_id).join(threads_table, threads_table.c.id == inbox.c.thread_id)
    here = at.where(
        threads_table.c.team_id == team_id,
        threads_table.c.channel_id == channel_id,
        inbox.c.slack_ts == ts,
        inbox.c.source != Source.SYSTEM,
    )
    thread_id = (await tx.execute(here.limit(1))).scalar_one_or_none()
    thread = await threads.lock(tx, thread_id) if thread_id else None
    row = await inbox_rows.at(tx, thread.id, ts) if thread else None
    return (thread, row) if thread and row else None


async def _edit_unjudged(tx: Transaction, thread: Thread, row: Waiting, edit: Edit) -> None:
    """Change what is still to be judged; like every edit it may take a mention away, and not add one."""
    was = await inbox_rows.unjudged_at(tx, thread.id, row.seq)
    mentions_bot = was.mentions_bot and edit.mentions_bot
    new = replace(was, text=edit.text, raw_text=edit.raw_text, mentions_bot=mentions_bot)
    await inbox_rows.change_unjudged(tx, thread.id, row.seq, new)


async def _is_used(tx: Transaction, thread: Thread, row: Waiting) -> bool:
    """Whether a waiting steer has already cut a run: then it can no longer be taken back."""
    if row.state is not InboxState.WAITING or row.verdict is not Verdict.STEER:
        return False
    stored_at = sa.select(inbox.c.stored_at).where(inbox.c.thread_id == thread.id, inbox.c.seq == row.seq)
    cut = sa.select(runs_table.c.id).where(
        runs_table.c.thread_id == thread.id,
        runs_table.c.cut_by == InterruptKind.STEER,
        runs_table.c.cut_at >= stored_at.scalar_subquery(),
    )
    return (await tx.execute(cut.limit(1))).first() is not None


async def _retitle(tx: Transaction, thread: Thread, row: Waiting, edit: Edit) -> None:
    """A run that waits for its start is called by what its request says by now."""
    run = await runs.newest(tx, thread.id)
    if run is not None and run.started_at is None and run.title == settlement.title_of(row.text):
        await runs.change(tx, run.id, title=settlement.title_of(edit.text))


async def _is_the_only_request(tx: Transaction, run: Run, row: Waiting) -> bool:
    """Whether the live run was asked for by this message alone."""
    if run.state is RunState.SETTLED or row.verdict not in STARTS_A_RUN or row.run_id is None:
        return False
    asked_by = await runs.get(tx, row.run_id)
    if asked_by is None or asked_by.chain_id != run.chain_id:
        return False
    others = sa.select(inbox.c.seq).where(
        inbox.c.thread_id == run.thread_id,
        inbox.c.seq != row.seq,
        inbox.c.verdict.in_(STARTS_A_RUN),
        inbox.c.state.in_([InboxState.CONSUMED, InboxState.WAITING]),
        sa.or_(inbox.c.run_id.is_(None), inbox.c.run_id.in_(runs.of_chain(run.chain_id))),
    )
    return (await tx.execute(others.limit(1))).first() is None


async def _tell(tx: Transaction, thread: Thread, row: Waiting) -> None:
    """Tell the next round that a message it has seen, or will see, was withdrawn."""
    fresh = await threads.lock_again(tx, thread)
    name = row.author_name or row.author
    await tx.execute(
        sa.insert(inbox).values(
            thread_id=thread.id,
            seq=fresh.inbox_seq + 1,
            source=Source.SYSTEM,
            author="system",
            author_name="system",
            text=f"@{name} has deleted this message; do not act on it: {row.text[:500]}",
            verdict=Verdict.NOTE,
            state=InboxState.WAITING,
            slack_ts=row.slack_ts,
        )
    )
    await threads.change(tx, thread.id, inbox_seq=fresh.inbox_seq + 1)


async def _see(tx: Transaction, key: str, what: str) -> bool:
    return await ingress.see(tx, key, Seen(what, "", False))
