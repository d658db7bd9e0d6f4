"""The log: one event a change of state, fields instead of prose, and a scrubber before every sink."""

import logging
import sys
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import structlog

log: structlog.stdlib.BoundLogger = structlog.get_logger("steersman")

_QUIET = ("slack_bolt", "slack_sdk", "aiohttp.access", "httpx", "httpcore", "asyncio")
"""Libraries whose lower levels print whole payloads (slack_bolt at DEBUG) or every request with its address."""


def configure(scrub: Callable[[str], str], *, level: str = "INFO", to: TextIO | None = None) -> None:
    """Set the log up once, at the start of a command; `scrub` removes secrets from every text."""
    sink = to or sys.stderr

    def scrubbed(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {key: scrub(value) if isinstance(value, str) else value for key, value in event.items()}

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(),
            scrubbed,
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(sink),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(stream=sink, level=logging.WARNING, format="%(name)s %(levelname)s %(message)s", force=True)
    logging.getLogger().handlers[0].addFilter(_Scrubber(scrub))
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Scrubber(logging.Filter):
    """Scrubs what libraries log."""

    def __init__(self, scrub: Callable[[str], str]) -> None:
        super().__init__()
        self._scrub = scrub

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the text of a record by its scrubbed form."""
        record.msg, record.args = self._scrub(record.getMessage()), ()
        return True
