"""The connection to PostgreSQL, and the one way to a transaction.

Every connection carries its own time limits, so that a stopped process or a lost network can hold no lock for longer
than ten seconds. No transaction may stay open across a wait for anything but the database.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from bot.errors import DatabaseUnavailableError, SettingsError

T = TypeVar("T")

Transaction = AsyncConnection
"""An open transaction. Functions of this package are given one, never end it, and lock a thread's row first."""

LIMITS = {
    "application_name": "steersman",
    # A worker that is stopped inside a transaction would hold its locks for ever (measured: default is no limit).
    "idle_in_transaction_session_timeout": "10000",
    "lock_timeout": "5000",
    "statement_timeout": "10000",
}
SCHEMES = ("postgres", "postgresql", "postgresql+asyncpg")


def dsn_of(url: str) -> str:
    """The address in the form that asyncpg takes; raises SettingsError for what is no PostgreSQL address.

    Takes addresses as people have them: postgres://, postgresql://, with sslmode= or with the folder of a socket as
    host=.
    """
    scheme, found, rest = url.strip().partition("://")
    if not found or scheme not in SCHEMES:
        shown = scheme if found else "(no scheme)"
        raise SettingsError(
            "DATABASE_URL", f"{shown} is not PostgreSQL", "Write postgresql://USER:PASSWORD@HOST:5432/NAME"
        )
    try:
        _ = urlsplit(f"postgresql://{rest}").port
    except ValueError as wrong:
        raise SettingsError("DATABASE_URL", str(wrong), "Write postgresql://USER:PASSWORD@HOST:5432/NAME") from wrong
    return f"postgresql://{rest}"


async def connect(dsn: str) -> "asyncpg.Connection[Any]":
    """A connection of its own, outside the pool; for LISTEN and for the pool itself."""
    return await asyncpg.connect(dsn, server_settings=LIMITS, timeout=5, command_timeout=15)


def is_unavailable(error: BaseException) -> bool:
    """Whether the database is away, rather than the statement wrong.

    SQLAlchemy reports a connection that was cut in mid-query as a bare DBAPIError, and a server that is down comes
    through as the socket's own error (both measured), so the classes alone do not tell.
    """
    if isinstance(error, OSError | TimeoutError | asyncpg.PostgresConnectionError | asyncpg.InterfaceError):
        return True
    if isinstance(error, sa.exc.DBAPIError):
        cause = error.orig.__cause__ if error.orig is not None else None
        code = str(getattr(error.orig, "sqlstate", None) or getattr(cause, "sqlstate", None) or "")
        gone = error.connection_invalidated or code[:2] in {"08", "57", "53"} or code == "25006"
        return gone or (cause is not None and is_unavailable(cause))
    code = str(getattr(error, "sqlstate", "") or "")
    return code[:2] in {"08", "57", "53"}


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
            pool_pre_ping=True,
        )

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Begin, and commit at the end; raises DatabaseUnavailableError when the database is away.

        After that error the commit may or may not have happened: whoever repeats the work does so by its key.
        """
        try:
            async with self._engine.begin() as connection:
                yield connection
        except (sa.exc.SQLAlchemyError, OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            if is_unavailable(error) or isinstance(error, sa.exc.TimeoutError):
                raise DatabaseUnavailableError(f"the database is away: {type(error).__name__}") from error
            raise

    async def persist(
        self, work: Callable[[Transaction], Awaitable[T]], *, give_up: Callable[[], bool], pause_s: float = 0.5
    ) -> T:
        """Do work in a transaction, again and again while the database is away, until `give_up` says so.

        For work that repeats by its key only: after a lost reply it may have been done already.
        """
        while True:
            try:
                async with self.transaction() as tx:
                    return await work(tx)
            except DatabaseUnavailableError:
                if give_up():
                    raise
                await asyncio.sleep(pause_s)

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()
