"""Approve and Deny: who may is looked up at the press; whoever may not, or comes too late, is told so in private."""

from collections.abc import Mapping

from bot.rules.access import Action, may, refusal, source_of
from bot.rules.command_words import DECISION_WORDS, WORDS, Decided, Result
from bot.rules.inbound_message import Press
from bot.rules.terms import Verdict
from bot.rules.tool_policy import Vote, is_group, members
from bot.rules.wording import filled
from storage import approval_rows, approvals, ingress, runs, threads
from storage.approval_rows import Approval
from storage.engine import Transaction
from storage.inbox import Receipt, Reception
from storage.ingress import Seen
from storage.people import Person
from storage.runs import Run

Groups = Mapping[str, frozenset[str]]
"""The members of user groups, by the id of the group; one that is not there has none."""


async def groups_asked(tx: Transaction, press: Press) -> tuple[str, ...]:
    """The user groups that may decide what this press is about; read before their members are looked up."""
    approval = await approval_rows.get(tx, press.ref) if press.ref else None
    return tuple(filter(is_group, approval.approvers)) if approval else ()


class ApprovalPresses:
    """Carries out Approve and Deny."""

    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    async def press(self, tx: Transaction, press: Press, person: Person, vote: Vote, groups: Groups) -> Receipt:
        """Take in what somebody pressed; `groups` holds the members of the groups that may decide it."""
        thread_id = await runs.thread_of(tx, press.run_id)
        thread = await threads.lock(tx, thread_id) if thread_id else None
        run = await runs.get(tx, press.run_id) if thread else None
        if not await ingress.see(tx, press.dedupe_key, Seen(ingress.PRESS, "", False)):
            return Receipt(None, is_copy=True)
        if thread is None or run is None:
            return Receipt(Verdict.COMMAND, WORDS[Result.ALREADY_ENDED])
        if not await runs.is_card_at(tx, press.run_id, press.channel_id, press.message_ts):
            return _told(Decided.OTHER_MESSAGE, run)
        approval = await approval_rows.get(tx, press.ref) if press.ref else None
        if approval is None or approval.run_id != run.id:
            return _told(Decided.UNKNOWN, run)
        refused = await self._refusal(tx, run, approval, (press, person, vote, groups))
        if refused is not None:
            return Receipt(Verdict.REFUSE, refused, run.id)
        decided = await approvals.decide(tx, thread, run, approval, (person.user_id, vote))
        return _told(decided, run, approval.decided_by)

    async def _refusal(
        self, tx: Transaction, run: Run, approval: Approval, pressed: tuple[Press, Person, Vote, Groups]
    ) -> str | None:
        """Why this person may not decide it; the list that counts is the approval's own."""
        press, person, vote, groups = pressed
        is_requester = await runs.is_requester(tx, run, person.user_id)
        our, alert_apps = self._reception.our, self._reception.alert_apps
        source = source_of(press.author, person.person_class, is_requester, alert_apps, our)
        if not may(Action.APPROVE, source, is_approver=person.user_id in members(approval.approvers, groups)):
            return refusal(Action.APPROVE, source)
        if is_requester and approval.not_requester and vote is Vote.YES:
            return DECISION_WORDS[Decided.OWN_REQUEST]
        return None


def _told(decided: Decided, run: Run, decided_by: str | None = None) -> Receipt:
    words = DECISION_WORDS[decided]
    names = " and ".join(f"<@{each}>" for each in decided_by.split(",")) if decided_by else None
    reply = None if words is None else filled(words, {"who": names} if names else {})
    return Receipt(Verdict.COMMAND, reply, run.id)
