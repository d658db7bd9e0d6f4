"""Steersman as processes of their own, which can be killed as an operating system kills."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from pathlib import Path

from tests.stories.stage import WITHIN_S, Stage

ROOT = Path(__file__).parents[2]
STARTS_WITHIN_S = 60.0
"""A process loads for seconds, and on a busy machine for many."""


class Outside:
    """One process of a stage. What it logs is kept for a person to read, and to learn which worker it is."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process, self._log = process, log

    @property
    def log(self) -> str:
        """What it has said so far."""
        return self._log.read_text("utf-8", "replace")

    @property
    def worker_id(self) -> str | None:
        """The id under which it works; None while it does not."""
        found = re.findall(r"worker_id='?([\w-]+)", self.log)
        return found[-1] if found else None

    async def works(self, stage: Stage) -> str:
        """Wait until it is a worker that the database knows; gives its id."""

        async def known():
            row = "select id from workers where id = $1"
            return self.worker_id and await stage.reader.fetchval(row, self.worker_id)

        return await stage.until(known, STARTS_WITHIN_S)

    async def kill(self) -> None:
        """End it as `kill -9` does: it does nothing more."""
        self._process.kill()
        await self._process.wait()

    def freeze(self) -> None:
        """Stop it in the middle of whatever it does, as a machine that is suspended."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on as if no time had passed."""
        self._process.send_signal(signal.SIGCONT)

    async def over(self) -> int:
        """Wait until it has ended by itself; gives its exit code."""
        async with asyncio.timeout(STARTS_WITHIN_S):
            return await self._process.wait()

    async def ends(self) -> int:
        """Ask it to end, as a deploy does, and wait; gives its exit code."""
        self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(WITHIN_S):
            return await self._process.wait()


@contextlib.asynccontextmanager
async def processes(stage: Stage, folder: Path):
    """A way to start processes on a stage: `await start("work")`; those that still live at the end are killed."""
    started: list[Outside] = []
    settings = stage.settings()
    config = folder / "steersman.toml"
    config.write_text(_toml(settings.config.model_dump(mode="json")), "utf-8")
    environment = {**os.environ, **settings.environment, "STEERSMAN_CONFIG": str(config)}

    async def start(command: str) -> Outside:
        log = folder / f"{command}-{len(started)}.log"
        with log.open("wb") as sink:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", command, cwd=ROOT, env=environment, stdout=sink, stderr=sink
            )
        started.append(Outside(process, log))
        return started[-1]

    try:
        yield start
    finally:
        for each in started:
            with contextlib.suppress(ProcessLookupError):
                await each.kill()


def _toml(config) -> str:
    """Settings as TOML; JSON writes strings, numbers and lists of them in the same way."""
    lines = []
    for section, values in config.items():
        tables = {key: rows for key, rows in values.items() if _is_tables(rows)}
        lines.append(f"[{section}]")
        plain = {key: value for key, value in values.items() if key not in tables and value is not None}
        lines += [f"{key} = {json.dumps(value)}" for key, value in plain.items()]
        for key, rows in tables.items():
            for row in rows:
                lines += [f"[[{section}.{key}]]", *(f"{name} = {json.dumps(value)}" for name, value in row.items())]
    return "\n".join(lines)


def _is_tables(value) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
