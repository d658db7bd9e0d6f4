"""What an error of the database means for whoever waits: is it away, was another in the way, or is it our own fault?

The table goes by the server's own codes. The classes of the drivers do not tell: SQLAlchemy reports a connection that
was cut in mid-query as a bare DBAPIError, and a server that is down comes through as the socket's own error.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from types import MappingProxyType

import asyncpg
import sqlalchemy as sa

from bot.errors import DatabaseBusyError, DatabaseUnavailableError, SettingsError


class Fault(StrEnum):
    """What went wrong between us and the database."""

    AWAY = "away"
    BUSY = "busy"
    REFUSED = "refused"
    OURS = "ours"


FAULTS: Mapping[str, Fault] = MappingProxyType({
    # The connection is gone, or the server has no room for us: come again.
    "08": Fault.AWAY,
    "53": Fault.AWAY,
    "57P": Fault.AWAY,
    "58": Fault.AWAY,
    # The session was ended because we were silent in a transaction for too long.
    "25P03": Fault.AWAY,
    "25P04": Fault.AWAY,
    # After a failover the old primary only reads: we are connected to the wrong server.
    "25006": Fault.AWAY,
    # Another transaction was in the way, or the statement took too long: it was undone whole, and may be repeated.
    "40": Fault.BUSY,
    "55P03": Fault.BUSY,
    "57014": Fault.BUSY,
    # The server is there and does not want us: the setting is wrong.
    "28": Fault.REFUSED,
    "3D": Fault.REFUSED,
})
"""By the code's beginning (PostgreSQL manual, appendix A); the longest that fits counts, and what fits none is OURS."""

READ_ONLY = "25006"

RAISED = (sa.exc.SQLAlchemyError, OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""Everything that a database may raise through SQLAlchemy and asyncpg."""


def fault_of(error: BaseException) -> Fault:
    """What an error means; total."""
    code = code_of(error)
    if code is not None:
        fitting = [start for start in FAULTS if code.startswith(start)]
        return FAULTS[max(fitting, key=len)] if fitting else Fault.OURS
    if isinstance(error, asyncpg.exceptions.ClientConfigurationError):
        return Fault.REFUSED
    if isinstance(error, sa.exc.DBAPIError):
        cause = error.orig.__cause__ if error.orig is not None else None
        return Fault.AWAY if error.connection_invalidated or isinstance(cause, OSError | TimeoutError) else Fault.OURS
    is_gone = isinstance(error, OSError | TimeoutError | asyncpg.InterfaceError | sa.exc.TimeoutError)
    return Fault.AWAY if is_gone else Fault.OURS


def code_of(error: BaseException | None) -> str | None:
    """The server's code for an error; None where it did not come from the server."""
    inner = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    for each in (inner, inner.__cause__ if inner is not None else None):
        code = getattr(each, "sqlstate", None)
        if code:
            return str(code)
    return None


@contextmanager
def named_faults() -> Iterator[None]:
    """Give the database's errors our names; raises DatabaseUnavailableError, DatabaseBusyError or SettingsError.

    An error that is our own fault stays what it is.
    """
    try:
        yield
    except RAISED as error:
        match fault_of(error):
            case Fault.AWAY:
                raise DatabaseUnavailableError(f"the database is away: {type(error).__name__}") from error
            case Fault.BUSY:
                raise DatabaseBusyError(f"the database is busy: {type(error).__name__}") from error
            case Fault.REFUSED:
                remedy = "Check the user, the password, the name of the database and the parameters"
                raise SettingsError("DATABASE_URL", f"it was refused ({_name(error)})", remedy) from error
            case _:
                raise


def _name(error: BaseException) -> str:
    """The innermost class: its text may repeat the password."""
    return type(error.orig.__cause__ if isinstance(error, sa.exc.DBAPIError) and error.orig else error).__name__
