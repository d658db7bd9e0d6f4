"""A contender seen from the benchmark: a process of its own, that is told what to be and asked how it is.

One JSON object a line, both ways. It is ended when the block is left, whatever happened.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
START_S = 30.0
ASK_S = 120.0


class ContenderFailedError(Exception):
    """A contender ended, or did not answer in time."""


class Contender:
    """A running contender."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, question: str, within: float = ASK_S) -> Any:
        """Ask, and get the answer."""
        writer = self._process.stdin
        if writer is None:
            raise ContenderFailedError("no way to ask")
        writer.write(f"{question}\n".encode())
        await writer.drain()
        return await self.answer(within)

    async def answer(self, within: float) -> Any:
        """The next answer."""
        reader = self._process.stdout
        async with asyncio.timeout(within):
            line = await reader.readline() if reader else b""
        if not line:
            raise ContenderFailedError(f"ended with {await self._process.wait()}")
        return json.loads(line)


@asynccontextmanager
async def contender(
    name: str, environment: Mapping[str, str], config: Mapping[str, object] | None = None
) -> AsyncIterator[Contender]:
    """Start a contender of benchmarks/contenders.py; it is ready when the block begins."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.contenders", name,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=16 * 1024 * 1024, cwd=ROOT,
        # Its log is of no interest; what a broken one says last is told by the error.
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        started = Contender(process)
        await started.ask(json.dumps({"environment": dict(environment), "config": config or {}}), START_S)
        yield started
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
