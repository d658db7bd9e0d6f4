"""Connections to checked addresses, and to nothing else.

It must never look a name up: the name stays in Host and SNI, so TLS still checks it, and the socket goes to the
address that was checked. Whoever answers there is compared with that address once more.
"""

import functools
import ssl
from collections.abc import Iterable, Sequence
from ipaddress import ip_address

import httpcore

from bot.errors import ToolBlockedError


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Connects to the checked addresses only, the first that answers, whatever host it is asked for."""

    def __init__(self, network: httpcore.AsyncNetworkBackend, addresses: Sequence[str]) -> None:
        self._network, self._addresses = network, addresses
        self._opened: list[httpcore.AsyncNetworkStream] = []
        self.peer = ""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first checked address that answers."""
        failure: Exception = httpcore.ConnectError("no address")
        for address in self._addresses:
            try:
                stream = await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                self._opened.append(stream)
                self.peer = await verified_peer(stream, address)
                return stream
        raise failure

    async def close_all(self) -> None:
        """Close every connection that was opened; closing twice does nothing."""
        for stream in self._opened:
            await stream.aclose()


async def verified_peer(stream: httpcore.AsyncNetworkStream, address: str) -> str:
    """Give the address at the other end; closes and raises ToolBlockedError where it is not the one checked."""
    connected = stream.get_extra_info("socket")
    peer = str(connected.getpeername()[0]) if connected is not None else "nobody knows whom"
    if connected is None or ip_address(peer.partition("%")[0]) != ip_address(address):
        await stream.aclose()
        raise ToolBlockedError("egress.peer", f"the connection is with {peer} and not with {address}")
    return peer


@functools.cache
def public_tls() -> ssl.SSLContext:
    """The certificate authorities of certifi; reading them takes tens of milliseconds, so once per process."""
    return httpcore.default_ssl_context()
