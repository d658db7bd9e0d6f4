"""The log: one line an event, without secrets and without markup, whoever logs and whatever broke."""

import asyncio
import io
import logging
import subprocess
import sys
import threading

import pytest

from bot import telemetry
from bot.errors import SettingsError
from bot.rules.redaction import Scrubber
from bot.rules.terms import InterruptKind, SettleReason
from bot.telemetry import log
from tests.gates.tree import ROOT

SECRET = "correct-horse-battery"
TOKEN = "xoxb-1234567890-abcdef"


@pytest.fixture
def lines():
    """Gives the lines that were logged since; the log is as the test run had it afterwards."""
    root, sink = logging.getLogger(), io.StringIO()
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    handlers, level = root.handlers[:], root.level
    telemetry.configure(Scrubber([SECRET]).text, to=sink)
    yield lambda: sink.getvalue().splitlines()
    root.handlers[:] = handlers
    root.setLevel(level)
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
    telemetry.set_up_events(Scrubber().text)


def test_an_event_is_its_time_its_level_its_name_and_its_fields(lines):
    log.info("run.settled", run_id="r1", rounds=3, cost=None)

    (line,) = lines()
    stamp, rest = line.split(" ", 1)
    assert stamp.startswith("timestamp=2")
    assert rest == "level=info event=run.settled run_id=r1 rounds=3 cost=None"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (SettleReason.STEERED, "steered"),
        ([InterruptKind.STOP, InterruptKind.PAUSE], "stop,pause"),
        (frozenset({SettleReason.STEERED}), "steered"),
        ({"kind": SettleReason.STEERED}, "kind:steered"),
        ("two words", '"two words"'),
        ('a "quote"', '"a \\"quote\\""'),
        ("", '""'),
        (ValueError("no good"), '"no good"'),
        (b"x", "\"b'x'\""),
    ],
)
def test_a_value_is_shown_plainly(lines, value, shown):
    log.info("x", value=value)

    assert lines()[0].endswith(f"event=x value={shown}")


@pytest.mark.parametrize("text", ["a\nlevel=error event=forged", "a\r\nb", "\x1b[31mred\x1b[0m", "a\u2028b"])
def test_no_text_can_make_a_second_line_or_move_the_cursor(lines, text):
    log.warning("x", said=text)

    (line,) = lines()
    assert line.isprintable()
    assert " event=x said=" in line


@pytest.mark.parametrize(
    "fields",
    [
        {"said": f"it is {SECRET}"},
        {"said": [f"it is {SECRET}"]},
        {"said": {"deep": [f"it is {SECRET}", TOKEN]}},
        {"error": SettingsError("A", SECRET, TOKEN)},
        {"error": RuntimeError(TOKEN)},
    ],
)
def test_no_field_shows_a_secret(lines, fields):
    log.error("x", **fields)

    assert "[redacted]" in lines()[0]
    assert SECRET not in lines()[0]
    assert TOKEN not in lines()[0]


def fail():
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        raise RuntimeError(f"{TOKEN} failed") from error


def test_a_traceback_is_on_one_line_and_shows_no_secret(lines):
    try:
        fail()
    except RuntimeError:
        log.exception("card.broke")

    (line,) = lines()
    assert "event=card.broke" in line
    assert 'exception="Traceback (most recent call last):\\n' in line
    assert "RuntimeError: [redacted] failed" in line
    assert SECRET not in line


def test_what_a_library_logs_is_one_line_of_the_same_form(lines):
    logging.getLogger("slack_bolt.App").warning("lost %s of\n%d", SECRET, 7)

    (line,) = lines()
    assert line.endswith('level=warning event=slack_bolt.App said="lost [redacted] of\\n7"')


def test_the_traceback_of_a_library_shows_no_secret(lines):
    try:
        fail()
    except RuntimeError:
        logging.getLogger("asyncio").exception("Task exception was never retrieved")

    (line,) = lines()
    assert "RuntimeError: [redacted] failed" in line
    assert SECRET not in line


@pytest.mark.parametrize("name", ["slack_bolt", "slack_sdk", "httpx", "httpcore", "aiohttp.access", "anything"])
def test_libraries_are_heard_from_warnings_on(lines, name):
    logging.getLogger(name).info("the whole payload")

    assert lines() == []


def test_a_logger_below_a_quiet_library_is_quiet_whatever_level_it_gives_itself(lines):
    logger = logging.getLogger("slack_bolt.AsyncApp")
    logger.setLevel(logging.DEBUG)

    logger.debug("Received message: %s", SECRET)

    logger.setLevel(logging.NOTSET)
    assert lines() == []


def test_a_task_that_nobody_awaited_is_logged_without_its_secret(lines):
    async def scene():
        loop = asyncio.get_running_loop()
        loop.call_exception_handler({"message": "odd", "exception": RuntimeError(SECRET)})

    asyncio.run(scene())

    assert "[redacted]" in " ".join(lines())
    assert SECRET not in " ".join(lines())


def test_debug_is_silent_and_an_unknown_level_is_refused(lines):
    log.debug("x")

    with pytest.raises(KeyError):
        telemetry.configure(str, level="LOUD")
    assert lines() == []


CRASH = """
from bot import telemetry
from bot.rules.redaction import Scrubber
{set_up}
{crash}
"""
SET_UP = f"telemetry.configure(Scrubber(['{SECRET}']).text)"


def ended(set_up: str, crash: str) -> str:
    code = CRASH.format(set_up=set_up, crash=crash)
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=False)
    return run.stderr


def test_what_ends_the_process_keeps_its_traceback_and_shows_no_secret():
    said = ended(SET_UP, f"raise RuntimeError('{SECRET}')")

    assert said.startswith("Traceback (most recent call last):")
    assert said.endswith("RuntimeError: [redacted]\n")


def test_a_library_that_logs_wrongly_is_one_line_too_and_shows_no_secret():
    said = ended(SET_UP, f"import logging\nlogging.getLogger('x').warning('%d of %d', '{SECRET}')")

    (line,) = said.splitlines()
    assert line.endswith('event=x said="%d of %d"')


IN_A_THREAD = f"""
import threading
def f(): raise RuntimeError('{SECRET}')
worker = threading.Thread(target=f)
worker.start()
worker.join()
"""
AT_THE_END_OF_AN_OBJECT = f"""
class Broken:
    def __del__(self): raise RuntimeError('{SECRET}')
Broken()
"""


@pytest.mark.parametrize("crash", [IN_A_THREAD, AT_THE_END_OF_AN_OBJECT])
def test_what_ends_a_thread_or_cannot_be_raised_shows_no_secret(crash):
    said = ended(SET_UP, crash)

    assert "RuntimeError: [redacted]" in said
    assert SECRET not in said


def test_what_a_library_adds_to_its_records_is_not_shown_and_its_values_show_no_secret(lines):
    values = {"token": TOKEN, "deep": [SECRET]}

    logging.getLogger("x").warning("sent %s", values, extra={"payload": SECRET}, stack_info=True)

    (line,) = lines()
    assert "said=" in line
    assert SECRET not in line
    assert TOKEN not in line


LOGGED = f"""
try:
    raise RuntimeError("{TOKEN}")
except RuntimeError:
    telemetry.log.exception("x")
"""


def test_before_the_log_is_set_up_it_draws_no_boxes_and_shows_no_token():
    said = ended("", LOGGED)

    assert len(said.splitlines()) == 1
    assert "RuntimeError: [redacted]" in said
    assert TOKEN not in said
