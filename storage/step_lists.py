"""What had become of every call of a run when it was ended: the lists that are kept with the interrupt that ended it.

Made from the audit's rows in the settling transaction, after the open calls were answered: it is what the card shows,
and no later result changes it.
"""

from typing import Any

import sqlalchemy as sa

from bot.rules.card_states import Listing
from bot.rules.interrupt_states import listing_of
from bot.rules.terms import CallOutcome
from storage.engine import Transaction
from storage.tables import interrupts, tool_calls

WITHDRAWN = "withdrawn"


def key_of(listing: Listing) -> str:
    """The name of a list in the record: `not_started`."""
    return listing.value.lower().replace(" ", "_")


async def of_run(tx: Transaction, run_id: str) -> dict[str, list[dict[str, str]]]:
    """The calls of a run by what became of them, each list in the order of the calls."""
    found = (
        sa
        .select(tool_calls.c.call_id, tool_calls.c.title, tool_calls.c.target, tool_calls.c.outcome)
        .where(tool_calls.c.run_id == run_id, tool_calls.c.outcome.is_not(None))
        .order_by(tool_calls.c.round, tool_calls.c.recorded_at, tool_calls.c.position)
    )
    lists: dict[str, list[dict[str, str]]] = {key_of(listing): [] for listing in Listing}
    for call_id, title, target, outcome in await tx.execute(found):
        listing = listing_of(CallOutcome(outcome))
        if listing is not None:
            lists[key_of(listing)].append({"call_id": call_id, "title": title, "target": target})
    return lists


async def withdrawn(tx: Transaction, run_id: str) -> int:
    """How many waiting messages the stops of a run have taken along."""
    counted = sa.select(interrupts.c.steps).where(interrupts.c.run_id == run_id, interrupts.c.steps.is_not(None))
    return sum(_number(steps.get(WITHDRAWN)) for steps in (await tx.execute(counted)).scalars())


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
