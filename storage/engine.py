"""The connection to PostgreSQL, and the one way to a transaction.

Every connection carries its own time limits, so that a stopped process or a lost network can hold no lock for longer
than ten seconds. No transaction may stay open across a wait for anything but the database.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from bot.errors import DatabaseBusyError, DatabaseUnavailableError, SettingsError
from storage.faults import READ_ONLY, code_of, named_faults

T = TypeVar("T")

Transaction = AsyncConnection
"""An open transaction. Functions of this package are given one, never end it, and lock a thread's row first."""

LIMITS: Mapping[str, str] = MappingProxyType({
    "application_name": "steersman",
    # A worker that is stopped inside a transaction would hold its locks for ever (measured: default is no limit).
    "idle_in_transaction_session_timeout": "10000",
    "lock_timeout": "5000",
    "statement_timeout": "10000",
})
BUSY_TRIES = 5
"""How often work is tried that another transaction was in the way of; then it is a fault, and not bad luck."""

SCHEMES = ("postgres", "postgresql", "postgresql+asyncpg")
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
NOT_UNDERSTOOD = frozenset({
    "channel_binding", "connect_timeout", "fallback_application_name", "gssencmode", "hostaddr", "keepalives",
    "keepalives_idle", "keepalives_interval", "keepalives_count", "load_balance_hosts", "require_auth", "requirepeer",
    "sslcompression", "sslcrldir", "sslsni", "tcp_user_timeout",
})  # fmt: skip
"""Parameters of libpq that asyncpg would hand to the server, which then refuses every connection."""
FORM = "Write postgresql://USER:PASSWORD@HOST:5432/NAME"


def dsn_of(url: str) -> str:
    """The address in the form that asyncpg takes; raises SettingsError for what is no PostgreSQL address.

    Takes addresses as people have them: postgres://, postgresql://, with sslmode= or with the folder of a socket as
    host=. No error repeats any of it: a part of the password could be taken for something else.
    """
    scheme, found, rest = url.strip().partition("://")
    if not found or scheme.lower() not in SCHEMES:
        raise SettingsError("DATABASE_URL", f"{scheme if found else '(no scheme)'} is not PostgreSQL", FORM)
    parameters = _parameters(f"postgresql://{rest}")
    strange = sorted(NOT_UNDERSTOOD & parameters.keys())
    if strange:
        raise SettingsError("DATABASE_URL", f"{strange[0]} is not understood", "Leave this parameter out")
    if parameters.get("sslmode", "prefer") not in SSL_MODES:
        raise SettingsError("DATABASE_URL", "sslmode has no such value", f"Take one of {', '.join(SSL_MODES)}")
    return f"postgresql://{rest}"


async def connect(
    dsn: str, limits: Mapping[str, str] = LIMITS, *, command_timeout: float | None = 15
) -> "asyncpg.Connection[Any]":
    """A connection of its own, outside the pool; for LISTEN, for migrations and for the pool itself."""
    return await asyncpg.connect(dsn, server_settings=dict(limits), timeout=5, command_timeout=command_timeout)


class Database:
    """A pool of connections to one database."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.dsn = dsn_of(url)
        self._engine: AsyncEngine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=lambda: connect(self.dsn),
            pool_size=pool_size,
            max_overflow=5,
            pool_timeout=5,
            # The values of a statement are what people, models and tools said; an error would print them.
            hide_parameters=True,
        )
        sa.event.listen(self._engine.sync_engine, "checkout", _only_open)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Begin, and commit at the end; raises the errors of storage.faults when the database is away or busy.

        After DatabaseUnavailableError the commit may or may not have happened: whoever repeats the work does so by
        its key. After DatabaseBusyError nothing was written.
        """
        try:
            with named_faults():
                async with self._engine.begin() as connection:
                    yield connection
        except DatabaseUnavailableError as away:
            if code_of(away.__cause__) == READ_ONLY:
                # The other pooled connections lead to the old primary too, and every ping of them would succeed.
                await self._engine.dispose()
            raise

    async def persist(
        self, work: Callable[[Transaction], Awaitable[T]], *, give_up: Callable[[], bool], pause_s: float = 0.5
    ) -> T:
        """Do work in a transaction, again and again while the database is away, until `give_up` says so.

        For work that repeats by its key only: after a lost reply it may have been done already.
        """
        was_busy = 0
        while True:
            try:
                async with self.transaction() as tx:
                    return await work(tx)
            except DatabaseUnavailableError as away:
                was_busy += isinstance(away, DatabaseBusyError)
                if give_up() or was_busy >= BUSY_TRIES:
                    raise
                await asyncio.sleep(pause_s)

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()


def _only_open(connection: Any, _record: object, _proxy: object) -> None:
    """Refuse a pooled connection that was cut while it lay idle; the pool then opens another one.

    Asking the server instead would cost each transaction three round trips (measured), as many as the transaction.
    """
    if connection.driver_connection.is_closed():
        raise sa.exc.DisconnectionError


def _parameters(address: str) -> dict[str, str]:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        remedy = f"{FORM}, with special characters of the password as %XX (# is %23, / is %2F, @ is %40)"
        raise SettingsError("DATABASE_URL", "its host or port cannot be read", remedy) from None
    return dict(parse_qsl(parts.query, keep_blank_values=True))
