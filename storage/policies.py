"""The rows of the steer policy that a channel has made its own."""

import sqlalchemy as sa

from bot.rules.steer_policy import Overrides
from bot.rules.terms import Phase, Source, Verdict
from storage.engine import Transaction
from storage.tables import policy_overrides
from storage.threads import Place


async def of_channel(tx: Transaction, place: Place) -> Overrides:
    """The overrides of a channel; the policy itself refuses what may not be overridden.

    A row with a word that is none of ours is as if it were not there: one slip may not stop a channel's messages.
    """
    found = sa.select(policy_overrides).where(
        policy_overrides.c.team_id == place.team_id, policy_overrides.c.channel_id == place.channel_id
    )
    rows = [row for row in (await tx.execute(found)).mappings() if _is_readable(row)]
    return {
        (Source(row["source"]), bool(row["interject"]), Phase(row["phase"])): Verdict(row["verdict"]) for row in rows
    }


def _is_readable(row: sa.RowMapping) -> bool:
    return row["source"] in set(Source) and row["phase"] in set(Phase) and row["verdict"] in set(Verdict)
