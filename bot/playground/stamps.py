"""What makes time and names unique in the local Slack: both come from one clock that is handed in.

Names grow with the clock, so a playground that is started again on an old database repeats none of them.
Never reads the clock of the machine by itself.
"""

import uuid
from collections.abc import Callable

MICROS = 1_000_000
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Stamps:
    """Message times, ids and uuids, each handed out once."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._last = clock, 0

    def now(self) -> float:
        """Seconds since the epoch, as the clock says."""
        return self._clock()

    def ts(self) -> str:
        """The time of a message: seconds, a point and six digits; later than every earlier one."""
        micros = self._tick()
        return f"{micros // MICROS}.{micros % MICROS:06d}"

    def identifier(self, prefix: str) -> str:
        """An id that begins with the prefix, in the letters that Slack uses."""
        return prefix + _base36(self._tick())

    def unique(self) -> str:
        """A uuid, as Slack writes client_msg_id and envelope_id."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, str(self._tick())))

    def _tick(self) -> int:
        self._last = max(self._last + 1, int(self._clock() * MICROS))
        return self._last


def _base36(number: int) -> str:
    letters = []
    while number:
        number, rest = divmod(number, len(DIGITS))
        letters.append(DIGITS[rest])
    return "".join(reversed(letters)) or "0"
