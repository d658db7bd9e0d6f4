"""Where the benchmarks run: a PostgreSQL of their own that tells more than it would in service.

It logs every statement with its process, keeps the time of each commit, and writes no full pages to its journal, so
that the bytes of a round do not depend on when the last checkpoint was. Nothing here is set in the product.
"""

import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from bot.playground.local_slack import LocalSlack
from bot.playground.model_server import MODEL
from storage.embedded import EmbeddedPostgres
from storage.migrations import migrate

KEY = "key-of-the-benchmarks"
FOR_MEASURING = """
track_commit_timestamp = on
full_page_writes = off
log_line_prefix = '%p|'
log_parameter_max_length = 200
autovacuum = off
"""
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Ground:
    """A running server: its addresses, and the file that it logs to."""

    server: EmbeddedPostgres
    log: Path

    async def fresh(self) -> str:
        """The address of a new database with the newest tables."""
        name = f"bench_{next(_NUMBERS)}"
        await self.tell(f"create database {name}")
        url = self.server.url(name)
        await migrate(url)
        return url

    async def log_statements(self, wanted: bool) -> None:
        """Begin or end to log every statement; connections that are open take it up at their next statement."""
        await self.tell(f"alter system set log_statement = '{'all' if wanted else 'none'}'")
        await self.tell("select pg_reload_conf()")

    async def tell(self, statement: str) -> None:
        """Carry one statement out, outside every database that is measured."""
        connection = await asyncpg.connect(self.server.url())
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


@asynccontextmanager
async def ground() -> AsyncIterator[Ground]:
    """A server of this block's own, in a folder that is removed with it."""
    # The path of a Unix socket may have about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="steersman-bench-", dir="/tmp"))
    try:
        first = EmbeddedPostgres(folder)
        with (folder / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write(FOR_MEASURING)
        # Commit times are kept only by a server that was started so.
        first.stop()
        server = EmbeddedPostgres(folder)
        try:
            yield Ground(server, folder / "log")
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(url: str, slack: LocalSlack, model_url: str = "http://127.0.0.1:9") -> Mapping[str, str]:
    """The environment of a contender."""
    return {
        "DATABASE_URL": url,
        "SLACK_BOT_TOKEN": slack.options.bot_token,
        "SLACK_APP_TOKEN": slack.options.app_token,
        "SLACK_API_URL": f"{slack.url}/api/",
        "STEERSMAN_MODEL": f"openai:{MODEL}",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{model_url}/v1",
    }
