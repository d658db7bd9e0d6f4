"""What is not allowed to end a worker: a fault in one piece of its work, which every other run has no part in."""

from collections.abc import Awaitable
from typing import TypeVar

from bot.errors import DatabaseUnavailableError
from bot.telemetry import log

T = TypeVar("T")


async def contained(event: str, work: Awaitable[T], **facts: object) -> T | None:
    """Do work; None where it broke by a fault of ours, which is logged. An outage of the database is passed on."""
    try:
        return await work
    except DatabaseUnavailableError:
        raise
    # A row that cannot be worked on would end one worker after the other, with all the runs that they work on.
    except Exception:
        log.exception(event, **facts)
        return None
