"""People who approve what a run at work wants: they press the buttons of its card, by the ids that stand there."""

from bot.rules.inbound_message import Press
from bot.rules.terms import PersonClass
from bot.rules.tool_policy import Vote
from storage.approval_presses import ApprovalPresses
from storage.inbox import Receipt, Reception
from storage.people import Person
from tests.agent.writing import BOSS
from tests.storage.desk import OUR, ROOT, Desk
from tests.storage.waits import until

APPROVALS = "select a.* from approvals a join tool_calls c on c.request_id = a.request_id order by c.round, c.position"


class Approvers:
    """Approvers of one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._presses = ApprovalPresses(Reception(OUR))

    async def asked(self, number: int = 1):
        """Wait until so many questions are put to people; the approvals, in the order of their calls."""

        async def enough():
            rows = await self.desk.rows(APPROVALS)
            return rows if len(rows) >= number else None

        return await until(enough)

    async def parked(self) -> None:
        """Wait until the run has let its worker go."""
        await until(lambda: self.desk.value("select count(*) = 1 from runs where parked_for = 'approval'"))

    async def press(self, nth: int, vote: Vote = Vote.YES, who: str = BOSS, **other) -> Receipt:
        """Somebody decides the nth approval; any part of the press may be given."""
        row = {"run_id": "", "id": ""} if "ref" in other else (await self.asked(nth + 1))[nth]
        at = self.desk.now()
        parts = {"run_id": row["run_id"], "ref": row["id"], "message_ts": "1.1", "dedupe_key": f"a:{at}"} | other
        press = Press(
            "T1", "steersman_approve", channel_id="C1", thread_ts=ROOT, user_id=who, user_team_id="T1",
            action_ts=at, response_url=None, **parts,
        )  # fmt: skip
        async with self.desk.database.transaction() as tx:
            return await self._presses.press(tx, press, Person("T1", who, PersonClass.MEMBER), vote, {})

    async def states(self) -> list[str]:
        """How the approvals stand, in the order of their calls."""
        return [row["state"] for row in await self.desk.rows(APPROVALS)]
