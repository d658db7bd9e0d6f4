"""How a command runs and ends: its settings, its log, its signals, its exit code.

What a person must mend is one line on stderr and exit code 2, never a traceback. A fault of ours keeps its traceback.
"""

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

import typer

from bot import telemetry
from bot.errors import DatabaseUnavailableError, SettingsError
from bot.rules.redaction import Scrubber
from bot.settings.environment import Settings, read

Result = TypeVar("Result")

MUST_BE_MENDED = 2
TO_MEND = (SettingsError, DatabaseUnavailableError)
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def settings_of_environment() -> Settings:
    """The settings, and the log set up so that it shows none of their secrets; raises SettingsError."""
    settings = read(os.environ)
    telemetry.configure(Scrubber(settings.secrets()).text)
    return settings


def run(command: Callable[[], Awaitable[Result]]) -> Result | None:
    """Run a command to its end; None where a signal ended it. Exits with 2 where a person must mend something."""
    return _run(lambda: _until_signal(command, {}))


def drain(command: Callable[[asyncio.Event], Awaitable[Result]]) -> Result | None:
    """Run a command that SIGTERM asks to end by itself, through the event; a second one changes nothing."""

    async def until_drained() -> Result | None:
        asked = asyncio.Event()
        return await _until_signal(lambda: command(asked), {signal.SIGTERM: asked.set})

    return _run(until_drained)


def _run(command: Callable[[], Coroutine[Any, Any, Result | None]]) -> Result | None:
    wrong: BaseExceptionGroup[SettingsError | DatabaseUnavailableError] | None = None
    try:
        return asyncio.run(command())
    except* (SettingsError, DatabaseUnavailableError) as group:
        wrong = group
    finally:
        # Else the interpreter, with everything closed, takes up to a second to look at every module a last time.
        gc.freeze()
    typer.echo(_one_line(wrong, _scrubber_of_environment().text), err=True)
    raise typer.Exit(MUST_BE_MENDED)


def _scrubber_of_environment() -> Scrubber:
    """What hides the secrets of the settings, and where those cannot be read what has the shape of one."""
    try:
        return Scrubber(read(os.environ).secrets())
    except SettingsError:
        return Scrubber()


async def _until_signal(
    command: Callable[[], Awaitable[Result]], instead: Mapping[signal.Signals, Callable[[], None]]
) -> Result | None:
    """Cancel the command at a signal: what it has begun hands itself back or closes itself on the way out.

    `instead`: what is done at a signal in place of that.
    """
    task = asyncio.ensure_future(command())
    loop = asyncio.get_running_loop()
    asked_to_end = asyncio.Event()

    def end() -> None:
        asked_to_end.set()
        task.cancel()

    for each in SIGNALS:
        loop.add_signal_handler(each, instead.get(each, end))
    await asyncio.wait([task])
    # On the way out things fail that were fine before; whoever asked for the end is told nothing of it.
    if asked_to_end.is_set() and (task.cancelled() or not _is_fault_of_ours(task.exception())):
        return None
    return task.result()


def _is_fault_of_ours(error: BaseException | None) -> bool:
    if error is None:
        return False
    return BaseExceptionGroup("", [error]).split(TO_MEND)[1] is not None


def _one_line(wrong: BaseException | None, scrub: Callable[[str], str]) -> str:
    while isinstance(wrong, BaseExceptionGroup):
        wrong = wrong.exceptions[0]
    if isinstance(wrong, SettingsError):
        # What stands behind the name of a secret reads like its value, and would be blacked out.
        said = f"{scrub(wrong.name)}: {scrub(f'{wrong.problem}. {wrong.remedy}')}"
    else:
        said = scrub(str(wrong))
    return " ".join(said.split())
