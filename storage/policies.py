"""The rows of the steer policy that a channel has made its own."""

import asyncio

import sqlalchemy as sa

from bot.rules.steer_policy import Overrides
from bot.rules.terms import Phase, Source, Verdict
from storage.engine import Transaction
from storage.tables import policy_overrides
from storage.threads import Place


class Policies:
    """The overrides of channels, read again after `kept_s` seconds: most messages are talk, and none of theirs."""

    most_kept = 1_000

    def __init__(self, kept_s: float = 0.0) -> None:
        self._kept_s = kept_s
        self._kept: dict[tuple[str, str], tuple[float, Overrides]] = {}

    async def of_channel(self, tx: Transaction, place: Place) -> Overrides:
        """The overrides of a channel; the policy itself refuses what may not be overridden."""
        channel, now = (place.team_id, place.channel_id), asyncio.get_running_loop().time()
        at, overrides = self._kept.get(channel, (now - self._kept_s, None))
        if overrides is not None and now - at < self._kept_s:
            return overrides
        overrides = await _read(tx, place)
        if len(self._kept) >= self.most_kept:
            self._kept.clear()
        self._kept[channel] = (now, overrides)
        return overrides


async def _read(tx: Transaction, place: Place) -> Overrides:
    """Read them; a row with a word that is none of ours is as if it were not there, or a slip would stop a channel."""
    found = sa.select(policy_overrides).where(
        policy_overrides.c.team_id == place.team_id, policy_overrides.c.channel_id == place.channel_id
    )
    rows = [row for row in (await tx.execute(found)).mappings() if _is_readable(row)]
    return {
        (Source(row["source"]), bool(row["interject"]), Phase(row["phase"])): Verdict(row["verdict"]) for row in rows
    }


def _is_readable(row: sa.RowMapping) -> bool:
    return row["source"] in set(Source) and row["phase"] in set(Phase) and row["verdict"] in set(Verdict)
