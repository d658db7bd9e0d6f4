"""Says in short what people and workers do with approvals, over the desk of the storage tests."""

from bot.rules.inbound_message import Press
from bot.rules.terms import EventKind, Grade, PersonClass
from bot.rules.tool_policy import ApprovalTerms, BoundCall, Vote, fingerprint
from storage import approval_rows, approvals, audit
from storage.approval_presses import ApprovalPresses
from storage.approvals import Asked
from storage.audit import PlannedCall
from storage.history import Appended, NewEvent
from storage.inbox import Receipt, Reception
from storage.people import Person
from tests.storage.desk import OUR, ROOT, Desk

BOSS, CHIEF = "boss", "chief"
TERMS = ApprovalTerms((BOSS, CHIEF))
ARGUMENTS = {"service": "checkout", "count": 1}


def wanting(*call_ids: str) -> NewEvent:
    """A model message that asks for writes."""
    calls = [{"id": each, "name": "restart", "arguments": ARGUMENTS, "broken_arguments": None} for each in call_ids]
    return NewEvent(EventKind.ASSISTANT, {"text": "", "calls": calls})


def sha256(claimed, call_id: str, **changes) -> str:
    """The fingerprint of a call; `changes` replaces any part of what is bound."""
    parts = {
        "run_id": claimed.run.id,
        "call_id": call_id,
        "tool": "restart",
        "target": "POST site",
        "shown": "restart checkout",
        "arguments": ARGUMENTS,
    }
    return fingerprint(BoundCall(**{**parts, **changes}))


class Approving:
    """Approvals of one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._presses = ApprovalPresses(Reception(OUR))

    async def asks(self, claimed, *call_ids: str, terms: ApprovalTerms = TERMS) -> Appended:
        """A worker stores a model message with writes, and the questions to people with it."""
        stored = await self.desk.stores(claimed, wanting(*call_ids))
        planned = [
            PlannedCall(f"req-{each}", each, "restart", Grade.WRITE, "Restart", "site", ARGUMENTS) for each in call_ids
        ]
        asked = [
            Asked(f"a-{each}", f"req-{each}", sha256(claimed, each), "restart checkout", terms) for each in call_ids
        ]
        if stored is Appended.STORED:
            async with self.desk.database.transaction() as tx:
                await audit.plan(tx, claimed.claim, 1, planned)
                await approvals.ask(tx, claimed.claim, asked)
        return stored

    async def is_asked(self, *call_ids: str, terms: ApprovalTerms = TERMS):
        """Somebody mentions the bot, and the run wants these writes."""
        claimed = await self.desk.is_asked()
        await self.asks(claimed, *call_ids, terms=terms)
        return claimed

    async def waits(self, *call_ids: str, terms: ApprovalTerms = TERMS):
        """The same, and the run has let its worker go."""
        claimed = await self.is_asked(*call_ids, terms=terms)
        await self.parks(claimed, *call_ids)
        return claimed

    async def presses(self, who: str, run_id: str, call_id: str, vote: Vote = Vote.YES, **other) -> Receipt:
        """Somebody presses Approve or Deny; `person`, `groups` and any part of the press may be given."""
        at = self.desk.now()
        person, groups = other.pop("person", PersonClass.MEMBER), other.pop("groups", {})
        parts = {
            "team_id": "T1",
            "action_id": "steersman_approve",
            "run_id": run_id,
            "ref": f"a-{call_id}",
            "channel_id": "C1",
            "message_ts": "1.1",
            "thread_ts": ROOT,
            "user_id": who,
            "user_team_id": "T1",
            "action_ts": at,
            "response_url": None,
            "dedupe_key": f"a:{at}",
        }
        press = Press(**{**parts, **other})
        async with self.desk.database.transaction() as tx:
            return await self._presses.press(tx, press, Person("T1", press.user_id, person), vote, groups)

    async def uses(self, claimed, call_id: str, token: str = "t1", **changes) -> approvals.UseAnswer:
        """A worker wants to start a write, with these changes to what was approved."""
        async with self.desk.database.transaction() as tx:
            sha = sha256(claimed, call_id, **changes)
            return await approvals.use(tx, claimed.claim, f"req-{call_id}", sha, token)

    async def parks(self, claimed, *call_ids: str) -> approvals.ParkAnswer:
        """A worker wants to let go of a run that waits for people."""
        async with self.desk.database.transaction() as tx:
            return await approvals.park(tx, claimed.claim, [f"req-{each}" for each in call_ids])

    async def expires(self) -> list[bool]:
        """The reaper ends what nobody has decided in time."""
        async with self.desk.database.transaction() as tx:
            overdue = await approval_rows.overdue(tx)
        ended = []
        for each in overdue:
            async with self.desk.database.transaction() as tx:
                ended.append(await approvals.expire(tx, *each))
        return ended

    async def time_is_over(self, call_id: str) -> None:
        """The time of an approval has passed."""
        await self.desk.passes("approvals set expires_at = expires_at", "id", f"a-{call_id}", minutes=31)

    async def states(self) -> list[str]:
        """How the approvals stand, in the order of their calls."""
        return [row[0] for row in await self.desk.rows("select state from approvals order by id")]

    async def started(self) -> int:
        """How many writes have been written down as started."""
        return await self.desk.value("select count(*) from tool_calls where started_at is not null")
