"""The real console entry as a process of its own, with nothing of this machine's environment but what runs Python."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.gates import tree

COMMAND = (sys.executable, "-m", "bot")
LIMIT_S = 100.0
KEPT = ("PATH", "HOME", "TMPDIR", "LANG")
GOOD = {
    "SLACK_BOT_TOKEN": "xoxb-playground",
    "SLACK_APP_TOKEN": "xapp-playground",
    "STEERSMAN_MODEL": "openai:scripted",
    "OPENAI_API_KEY": "test-key",
    # Nobody listens there: a command that comes as far as this setting says so.
    "DATABASE_URL": "postgresql://ana:planted-password@127.0.0.1:1/steersman",
    "SLACK_API_URL": "http://127.0.0.1:1/api/",
}
"""An environment in which nothing is wrong but that nobody is at home."""


def environment(settings: Mapping[str, str | None]) -> dict[str, str]:
    """Our settings on top of what Python needs; None takes one away."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, **{name: value for name, value in settings.items() if value is not None}}


def steersman(*arguments: str, **settings: str | None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=tree.ROOT, env=environment(settings), text=True, capture_output=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip


@dataclass
class Running:
    """A command while it runs; `said` is what it has said so far, a line each."""

    process: asyncio.subprocess.Process
    said: list[str] = field(default_factory=list)

    async def until(self, text: str) -> str:
        """Wait until it has said a line with this text, on stdout or stderr; gives the line."""
        # Parts that start side by side speak in either order.
        if told := next((line for line in self.said if text in line), None):
            return told
        async with asyncio.timeout(LIMIT_S):
            while line := (await self.process.stdout.readline()).decode():
                self.said.append(line.rstrip())
                if text in line:
                    return line.rstrip()
        raise AssertionError(f"ended without {text!r}: {self.said}")

    async def ended(self, by: signal.Signals) -> int:
        """Send a signal to it and all its children, as a terminal does; gives its exit code."""
        os.killpg(self.process.pid, by)
        async with asyncio.timeout(LIMIT_S):
            rest, _ = await self.process.communicate()
        self.said += rest.decode().splitlines()
        return self.process.returncode


@asynccontextmanager
async def started(*arguments: str, **settings: str | None) -> AsyncIterator[Running]:
    """Start a command, and end it with the block where it has not ended."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *arguments, cwd=tree.ROOT, env=environment(settings), stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
