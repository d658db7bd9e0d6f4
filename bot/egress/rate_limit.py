"""How fast one host is asked, by all runs of this process together.

It must never wait without listening to the brake, and never hand out a place in time that nobody may use.
"""

import asyncio

from bot.interrupts.brake import Brake
from bot.interrupts.retries import unless_held_back

MOST_HOSTS = 1_000


class Pace:
    """When each host may be asked next, on the event loop's clock."""

    def __init__(self) -> None:
        self._free_at: dict[str, float] = {}

    async def turn(self, host: str, per_second: float, brake: Brake) -> bool:
        """Wait for a turn with this host; False when the brake holds the run back before it comes."""
        clock = asyncio.get_running_loop().time
        # Whoever wakes may find that another was quicker; a turn is taken only in the moment it is used.
        while (wait := self._free_at.get(host, 0.0) - clock()) > 0:
            if not await unless_held_back(brake, wait):
                return False
        self._forget_old(clock())
        self._free_at[host] = clock() + 1.0 / per_second
        return True

    def _forget_old(self, now: float) -> None:
        if len(self._free_at) >= MOST_HOSTS:
            self._free_at = {host: at for host, at in self._free_at.items() if at > now}
