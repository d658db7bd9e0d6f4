"""A wire to PostgreSQL that can be cut and mended."""

import asyncio
import contextlib
from urllib.parse import parse_qs, urlsplit


class CutWire:
    """Hands bytes on between a port of this machine and a server's socket, until it is cut."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._database, self._user = parts.path, parts.username
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._port = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def to(cls, url: str):
        """A wire that is whole, to the server of an address that names a socket."""
        wire = cls(url)
        await wire.mend()
        try:
            yield wire
        finally:
            await wire.cut()

    @property
    def url(self) -> str:
        """The address at this end."""
        return f"postgresql://{self._user}@127.0.0.1:{self._port}{self._database}"

    async def mend(self) -> None:
        """Let connections through, on the same port as before."""
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Drop every connection, and refuse new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in tuple(self._open):
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(self._socket)
        self._open |= {writer, far_writer}
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            self._open -= {writer, far_writer}


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65_536):
            writer.write(chunk)
            await writer.drain()
    writer.close()
