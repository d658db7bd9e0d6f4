"""Work for races: it says when it began, and ends as the test wants it to."""

import asyncio


class Work:
    """Work that says when it began, and ends when it is let: whole, broken, or not even when it is cancelled."""

    def __init__(self, *, breaks=None, stubborn=False, breaks_when_cancelled=None, answers_when_cancelled=False):
        self.began, self.may_end, self.over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.cancelled = 0
        self._breaks, self._stubborn = breaks, stubborn
        self._breaks_when_cancelled, self._answers = breaks_when_cancelled, answers_when_cancelled

    async def run(self):
        self.began.set()
        try:
            return await self._wait()
        finally:
            self.over.set()

    async def _wait(self):
        while not self.may_end.is_set():
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                if self._breaks_when_cancelled:
                    raise self._breaks_when_cancelled from None
                if self._answers:
                    return "late"
                if not self._stubborn:
                    raise
        if self._breaks:
            raise self._breaks
        return "whole"


async def tick():
    """Let everything that is ready have its turn, a few times."""
    for _ in range(5):
        turn = asyncio.Event()
        asyncio.get_running_loop().call_soon(turn.set)
        await turn.wait()
