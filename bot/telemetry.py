"""The log: one line an event, fields instead of prose, and a scrubber before every sink.

Also what libraries log and what ends the process goes through here: a traceback may hold a secret like any text.
"""

import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from enum import Enum
from types import TracebackType
from typing import Any, TextIO

import structlog

from bot.rules.redaction import scrub as scrub_shapes

log: structlog.stdlib.BoundLogger = structlog.get_logger("steersman")

Scrub = Callable[[str], str]

_QUIET = ("slack_bolt", "slack_sdk", "aiohttp.access", "httpx", "httpcore", "asyncio")
"""Libraries whose lower levels print whole payloads (slack_bolt at DEBUG) or every request with its address."""
_FIRST = ("timestamp", "level", "event")
_BARE = re.compile(r"[\w.:/@+,-]+")


def configure(scrub: Scrub, *, level: str = "INFO", to: TextIO | None = None) -> None:
    """Set the log up once, at the start of a command; `scrub` removes secrets from every text."""
    set_up_events(scrub, level, to)
    sink = logging.StreamHandler(to or sys.stderr)
    sink.setFormatter(_OneLine(scrub))
    sink.addFilter(_is_loud_enough)
    logging.basicConfig(handlers=[sink], level=logging.WARNING, force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)

    def ended(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        # Without the values of variables: this writes what traceback writes, and that knows none.
        sys.stderr.write(scrub("".join(traceback.format_exception(kind, error, trace))))

    sys.excepthook = ended
    threading.excepthook = lambda gone: ended(gone.exc_type, gone.exc_value, gone.exc_traceback)
    sys.unraisablehook = lambda odd: ended(odd.exc_type, odd.exc_value, odd.exc_traceback)


def _is_loud_enough(record: logging.LogRecord) -> bool:
    """Whether a record may be written: some libraries give loggers below their own a level of their own."""
    return record.levelno >= logging.WARNING or not record.name.startswith(_QUIET)


def set_up_events(scrub: Scrub, level: str = "INFO", to: TextIO | None = None) -> None:
    """Set up our own events alone, and leave alone what libraries log."""

    def rendered(_: object, __: str, event: MutableMapping[str, Any]) -> str:
        return _line(event, scrub)

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(),
            rendered,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=lambda *_: structlog.PrintLogger(to or sys.stderr),
        cache_logger_on_first_use=False,
    )


def _line(event: Mapping[str, Any], scrub: Scrub) -> str:
    names = [*(name for name in _FIRST if name in event), *(name for name in event if name not in _FIRST)]
    return " ".join(f"{name}={_shown(scrub(_plain(event[name])))}" for name in names)


def _plain(value: object) -> str:
    """A value as words: of an enum what it stands for, of an error what it says."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Mapping):
        return ",".join(f"{_plain(name)}:{_plain(each)}" for name, each in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(_plain, value))
    return str(value)


def _shown(text: str) -> str:
    """The text as it is where it is one word, else in quotes, with every line break and control spelt out."""
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=not text.isprintable())


class _OneLine(logging.Formatter):
    """What libraries log, in the same form as our own events."""

    def __init__(self, scrub: Scrub) -> None:
        super().__init__()
        self._scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        """One line, with the traceback in it, and without secrets."""
        try:
            said = record.getMessage()
        except (TypeError, ValueError):
            said = str(record.msg)
        event: dict[str, object] = {"level": record.levelname.lower(), "event": record.name, "said": said}
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return _line({"timestamp": _when(record), **event}, self._scrub)


def _when(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")


# Until a command sets the log up it would draw boxes around tracebacks, with the values of variables in them.
set_up_events(scrub_shapes)
