"""Taking a thread back to a checkpoint: what is offered, who may, and the one transaction that carries it out.

Like a stop it ends a live run at once. It starts nothing by itself: messages that wait start the next run, and
otherwise the thread waits for somebody to say where to go next. That a checkpoint still stands is looked at under the
lock, never believed of what a modal carries.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from bot.rules.access import Action, may, refusal, source_of
from bot.rules.checkpoints import Checkpoint
from bot.rules.command_words import WORDS, Result
from bot.rules.inbound_message import AuthorFacts, GoBack, Press
from bot.rules.interrupt_order import Pending
from bot.rules.terms import InterruptKind, InterruptSource, RunState
from bot.rules.turn_ends import Cut
from storage import checkpoints, commands, ingress, interrupts, runs, settlement, threads
from storage.commands import Commanded
from storage.engine import Transaction
from storage.inbox import Reception
from storage.ingress import Seen
from storage.interrupts import Order
from storage.people import Person
from storage.runs import Run
from storage.settlement import Means
from storage.tables import interrupts as interrupts_table
from storage.threads import Thread

DONE = frozenset({Result.TAKEN_BACK, Result.TAKING_BACK})


@dataclass(frozen=True, slots=True)
class Offer:
    """The checkpoints that somebody may choose from, oldest first; without any, `reply` says why not."""

    checkpoints: tuple[Checkpoint, ...] = ()
    title: str = ""
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """Where to go back to: a checkpoint of a run, by the number of its event in the thread."""

    run_id: str
    seq: int


async def take_back(tx: Transaction, thread: Thread, to: Point, order: Order, means: Means) -> Commanded:
    """Take a locked thread back to a checkpoint that stands, of a run that is settled or not."""
    newest = await runs.newest(tx, thread.id)
    is_live = newest is not None and newest.state is not RunState.SETTLED
    if not is_live or newest is None:
        await checkpoints.write(tx, thread, to.run_id, to.seq, order.requested_by)
        return Commanded(Result.TAKEN_BACK, to.run_id)
    if newest.state is RunState.CANCELLING:
        is_taken_back = await interrupts.is_taken_back(tx, newest)
        return Commanded(Result.ALREADY_TAKING_BACK if is_taken_back else Result.STOP_IS_AT_WORK, newest.id)
    await interrupts.record(tx, thread, newest, order)
    mine = interrupts_table.c.id == order.id
    await tx.execute(sa.update(interrupts_table).where(mine).values(checkpoint=to.seq))
    if thread.owner is None:
        by = Pending(order.kind, order.source, order.requested_by, order.id)
        await settlement.settle_locked(tx, thread, newest, Cut(by), means)
        return Commanded(Result.TAKEN_BACK, newest.id)
    await commands.cancel(tx, newest, order.kind)
    return Commanded(Result.TAKING_BACK, newest.id)


class Rollbacks:
    """Offers the checkpoints of a run, and goes back to the one that was chosen."""

    def __init__(self, reception: Reception, means: Means) -> None:
        self._reception, self._means = reception, means

    async def offer(self, tx: Transaction, press: Press, person: Person) -> Offer:
        """What the menu of a card offers to this person."""
        found = await self._find(tx, press.run_id, press.channel_id, press.message_ts)
        if found is None:
            return Offer(reply=WORDS[Result.NO_STEP_YET])
        _, run = found
        refused = await self._refusal(tx, run, press.author, person)
        if refused is not None:
            return Offer(reply=refused)
        stand = await checkpoints.of_run(tx, run)
        return Offer(stand, run.title, None if stand else WORDS[Result.NO_STEP_YET])

    async def go_back(self, tx: Transaction, chosen: GoBack, person: Person) -> str | None:
        """Carry a choice out; returns what is wrong with it, None where nothing is. A second copy changes nothing."""
        found = await self._find(tx, chosen.run_id, chosen.channel_id, chosen.message_ts)
        if found is None:
            return WORDS[Result.NO_SUCH_STEP]
        thread, run = found
        refused = await self._refusal(tx, run, chosen.author, person)
        if refused is not None:
            return refused
        if await ingress.first_copy(tx, chosen.dedupe_key) is not None:
            return None
        result = await _stale(tx, run, chosen.checkpoint) or await self._take_back(tx, thread, run, chosen)
        if result in DONE:
            # What was refused may be tried again from the same modal, so only what was done is seen.
            await ingress.see(tx, chosen.dedupe_key, Seen(ingress.PRESS, "", False))
        return WORDS[result]

    async def _take_back(self, tx: Transaction, thread: Thread, run: Run, chosen: GoBack) -> Result:
        order = Order(self._means.mint_id(), InterruptKind.ROLLBACK, InterruptSource.BUTTON, chosen.user_id)
        return (await take_back(tx, thread, Point(run.id, chosen.checkpoint), order, self._means)).result

    async def _find(self, tx: Transaction, run_id: str, channel_id: str, ts: str) -> tuple[Thread, Run] | None:
        """The locked thread and the run of a card; None where this message is not the card of that run."""
        thread_id = await runs.thread_of(tx, run_id)
        thread = await threads.lock(tx, thread_id) if thread_id else None
        run = await runs.get(tx, run_id) if thread else None
        if thread is None or run is None or not await runs.is_card_at(tx, run_id, channel_id, ts):
            return None
        return thread, run

    async def _refusal(self, tx: Transaction, run: Run, author: AuthorFacts, person: Person) -> str | None:
        is_requester = await runs.is_requester(tx, run, person.user_id)
        source = source_of(author, person.person_class, is_requester, self._reception.alert_apps, self._reception.our)
        if may(Action.ROLL_BACK, source, is_approver=person.user_id in self._reception.approvers):
            return None
        return refusal(Action.ROLL_BACK, source) or WORDS[Result.NO_SUCH_STEP]


async def _stale(tx: Transaction, run: Run, seq: int) -> Result | None:
    """Why this is no point to go back to any more; None where it is one."""
    if any(each.seq == seq for each in await checkpoints.of_run(tx, run)):
        return None
    return Result.SET_ASIDE if await checkpoints.is_set_aside(tx, run, seq) else Result.NO_SUCH_STEP
