"""Says whether a database can be used as it is: it is reached, and it has the newest tables. It changes nothing."""

from enum import StrEnum
from types import MappingProxyType

import asyncpg
from alembic.config import Config
from alembic.script import ScriptDirectory

from bot.errors import DatabaseUnavailableError, SettingsError
from storage.engine import connect, dsn_of
from storage.migrations import FOLDER


class Readiness(StrEnum):
    """How the tables of a database stand to this code."""

    CURRENT = "current"
    BEHIND = "behind"
    AHEAD = "ahead"


WRONG = MappingProxyType({
    Readiness.BEHIND: ("its tables are not current", "To bring them up to date, run steersman migrate"),
    Readiness.AHEAD: ("its tables are newer than this Steersman", "Start the version that migrated it, or a newer one"),
})
"""What is wrong with a database that is not current, and what to do."""


async def require(url: str, *also: Readiness) -> Readiness:
    """How a database stands; raises SettingsError unless it is current or also allowed, and as `readiness` does."""
    found = await readiness(url)
    if found not in {Readiness.CURRENT, *also}:
        raise SettingsError("DATABASE_URL", *WRONG[found])
    return found


async def readiness(url: str) -> Readiness:
    """Look at a database; raises SettingsError for no PostgreSQL address, DatabaseUnavailableError where none answers.

    A database at a revision that this code has never heard of was migrated by a newer Steersman.
    """
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    scripts = ScriptDirectory.from_config(config)
    found = await _revision(dsn_of(url))
    if found == scripts.get_current_head():
        return Readiness.CURRENT
    known = {script.revision for script in scripts.walk_revisions()}
    return Readiness.BEHIND if found is None or found in known else Readiness.AHEAD


async def _revision(dsn: str) -> str | None:
    try:
        connection = await connect(dsn)
        try:
            found: str | None = await connection.fetchval("select version_num from alembic_version")
        except asyncpg.UndefinedTableError:
            return None
        finally:
            await connection.close()
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = " ".join(f"{type(error).__name__} {error}".split())
        raise DatabaseUnavailableError(
            f"DATABASE_URL: the database cannot be used ({reason}). Start PostgreSQL there, or mend the address"
        ) from error
    return found
