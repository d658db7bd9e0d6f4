"""Which tools a run has: the operator's rules, and what asked for it."""

from collections.abc import Sequence

from bot.rules.tool_access import ToolRule, tools_for
from storage import people
from storage.engine import Transaction
from storage.queue import Claimed


class ToolAccess:
    """Answers for each claim; without rules it costs no statement."""

    def __init__(self, rules: Sequence[ToolRule]) -> None:
        self._rules = rules

    async def permitted(self, tx: Transaction, claimed: Claimed) -> frozenset[str] | None:
        """The tools of this run; None for all."""
        if not self._rules:
            return None
        requester = await people.class_of_requester(tx, claimed.place.team_id, claimed.run.id)
        return tools_for(self._rules, claimed.place.channel_id, requester)
