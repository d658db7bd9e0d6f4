"""Parts of a worker that run until a test is over."""

import asyncio
import contextlib

LIMIT = 20.0


@contextlib.asynccontextmanager
async def alive(*parts):
    """Run these beside the test, and end them with it; gives their tasks."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def soon(event: asyncio.Event) -> None:
    """Wait for an event that must come."""
    await asyncio.wait_for(event.wait(), LIMIT)


def stands_still(seconds: float) -> None:
    """Stop this whole thread of the program, as a signal would: no timer runs, no answer is read."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        pass
