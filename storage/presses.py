"""Buttons, and Slack's own stop: who may is looked up at the press, and the answer is never silence."""

from dataclasses import replace

from bot.rules.access import Action, may, refusal, source_of
from bot.rules.card_menu import MenuChoice
from bot.rules.command_words import WORDS, Result
from bot.rules.inbound_message import AuthorFacts, NativeStop, Press
from bot.rules.terms import Command, InterruptKind, InterruptScope, InterruptSource, Verdict
from storage import commands, ingress, runs, threads
from storage.approval_presses import ApprovalPresses
from storage.commands import Commanded
from storage.engine import Transaction
from storage.inbox import Receipt, Reception
from storage.ingress import Seen
from storage.interrupts import Order
from storage.people import Person
from storage.runs import Run
from storage.settlement import Means
from storage.threads import Place, Thread


class Presses:
    """Carries out what is pressed."""

    def __init__(self, reception: Reception, means: Means) -> None:
        self._reception, self._means = reception, means
        self.approvals = ApprovalPresses(reception)

    async def press(self, tx: Transaction, press: Press, person: Person, command: Command) -> Receipt:
        """Carry out a button of a card."""
        thread_id = await runs.thread_of(tx, press.run_id)
        thread = await threads.lock(tx, thread_id) if thread_id else None
        run = await runs.newest(tx, thread.id) if thread else None
        if not await _see(tx, press.dedupe_key):
            return Receipt(None, is_copy=True)
        if (
            thread is None
            or run is None
            or not await runs.is_card_at(tx, press.run_id, press.channel_id, press.message_ts)
        ):
            return Receipt(Verdict.COMMAND, WORDS[Result.ALREADY_ENDED])
        if run.id != press.run_id:
            return Receipt(Verdict.COMMAND, WORDS[Result.ALREADY_ENDED], press.run_id)
        refused = await self._refusal(tx, run, press.author, person, command)
        if refused is not None:
            return Receipt(Verdict.REFUSE, refused, run.id)
        order = self._order(command, InterruptSource.BUTTON, person, press.action_ts)
        if press.choice == MenuChoice.CLEAR:
            order = replace(order, scope=InterruptScope.THREAD)
        return _told(await self._command(tx, thread, order, (command, press.ref)))

    async def native_stop(self, tx: Transaction, stop: NativeStop, person: Person) -> Receipt:
        """Carry out Slack's own stop button, the same way as ours."""
        thread = await threads.lock_at(tx, Place(stop.team_id, stop.channel_id, stop.thread_ts))
        if not await _see(tx, stop.dedupe_key):
            return Receipt(None, is_copy=True)
        run = await runs.newest(tx, thread.id) if thread else None
        if thread is None or run is None:
            return Receipt(Verdict.COMMAND, WORDS[Result.NOTHING])
        refused = await self._refusal(tx, run, stop.author, person, Command.STOP)
        if refused is not None:
            return Receipt(Verdict.REFUSE, refused, run.id)
        order = self._order(Command.STOP, InterruptSource.NATIVE_STOP, person, stop.event_ts)
        return _told(await self._command(tx, thread, order, (Command.STOP, None)))

    async def _refusal(
        self, tx: Transaction, run: Run, author: AuthorFacts, person: Person, command: Command
    ) -> str | None:
        is_requester = await runs.is_requester(tx, run, person.user_id)
        source = source_of(author, person.person_class, is_requester, self._reception.alert_apps, self._reception.our)
        action = Action(command.value)
        if may(action, source, is_approver=person.user_id in self._reception.approvers):
            return None
        return refusal(action, source)

    def _order(self, command: Command, source: InterruptSource, person: Person, ts: str) -> Order:
        kind = InterruptKind.PAUSE if command is Command.PAUSE else InterruptKind.STOP
        return Order(self._means.mint_id(), kind, source, person.user_id, ts)

    async def _command(
        self, tx: Transaction, thread: Thread, order: Order, what: tuple[Command, str | None]
    ) -> Commanded:
        command, ref = what
        if command is Command.STOP:
            return await commands.stop(tx, thread, order, self._means)
        if command is Command.PAUSE:
            return await commands.pause(tx, thread, order, self._means)
        return await commands.resume(tx, thread, ref)


def _told(done: Commanded) -> Receipt:
    return Receipt(Verdict.COMMAND, WORDS[done.result], done.run_id)


async def _see(tx: Transaction, key: str) -> bool:
    return await ingress.see(tx, key, Seen(ingress.PRESS, "", False))
