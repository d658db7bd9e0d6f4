"""Where a run may be cut.

A history that holds a call without its response is refused by every provider with HTTP 400, for ever. So a run may
be cut only where no call is open and no finished message waits to be stored.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from bot.errors import DuplicateCallError, UnpairedResponseError


@dataclass(slots=True)
class ToolCallLedger:
    """The open calls of a run, by id: a number alone would let two answers to one call hide a missing one."""

    open_calls: set[str] = field(default_factory=set)

    @property
    def balance(self) -> int:
        """How many calls wait for their response; zero is a cut point."""
        return len(self.open_calls)

    def record_calls(self, call_ids: Iterable[str]) -> None:
        """Open the calls of one message; raises DuplicateCallError and opens none where an id is already open."""
        ids = list(call_ids)
        for position, call_id in enumerate(ids):
            if call_id in self.open_calls or call_id in ids[:position]:
                raise DuplicateCallError(call_id)
        self.open_calls.update(ids)

    def record_response(self, call_id: str) -> bool:
        """Close a call; True when it was the last one open: a cut point. Raises UnpairedResponseError."""
        if call_id not in self.open_calls:
            raise UnpairedResponseError(call_id)
        self.open_calls.remove(call_id)
        return not self.open_calls
