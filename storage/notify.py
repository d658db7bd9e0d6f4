"""Hints between processes over NOTIFY. The rows are the truth: whoever waits for a hint also looks by itself."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import asyncpg
import sqlalchemy as sa

from storage.engine import Transaction, connect

READY = "steersman_ready"
INTERRUPT = "steersman_interrupt"
CARD = "steersman_card"
HALT = "steersman_halt"


async def notify(tx: Transaction, channel: str, **ids: str) -> None:
    """Send a hint when this transaction commits; ids only, since a payload of 8,000 bytes would be refused."""
    await tx.execute(sa.select(sa.func.pg_notify(channel, json.dumps(ids))))


class Listener:
    """A connection of its own that listens, and comes back by itself when it was lost."""

    def __init__(self, dsn: str, hear: Mapping[str, Callable[[Mapping[str, str]], None]]) -> None:
        self._dsn, self._hear = dsn, hear
        self.is_connected = asyncio.Event()

    async def run(self, *, retry_after: float = 0.5, check_every: float = 5.0) -> None:
        """Listen until cancelled. A connection that is dead without knowing it fails its check (measured)."""
        while True:
            try:
                await self._listen(check_every)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                self.is_connected.clear()
            await asyncio.sleep(retry_after)

    async def _listen(self, check_every: float) -> None:
        connection = await connect(self._dsn)
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        try:
            for channel in self._hear:
                await connection.add_listener(channel, self._heard)
            self.is_connected.set()
            while not lost.is_set():
                try:
                    async with asyncio.timeout(check_every):
                        await lost.wait()
                except TimeoutError:
                    await connection.execute("select 1", timeout=2.0)
        finally:
            self.is_connected.clear()
            # A close waits for the server's answer, which a dead connection never gives.
            connection.terminate()

    def _heard(self, _connection: Any, _pid: int, channel: str, payload: object) -> None:
        ids = json.loads(str(payload) or "{}")
        self._hear[channel](ids)
