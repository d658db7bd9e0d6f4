"""A network of its own for the cases that need one: it owns their addresses, and has a certificate authority.

Run inside a network namespace as `python -m tests.egress.live.world FOLDER`: makes the addresses, serves, plays every
live case through the real client, and writes one JSON line for each.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bot.egress.client import Attempt, EgressClient, EgressMeans, EgressRequest
from bot.egress.rate_limit import Pace
from bot.egress.rules import EgressRules
from bot.errors import SettingsError, ToolBlockedError, ToolTimeoutError
from bot.interrupts.brake import Brake
from bot.interrupts.retries import ONCE

LIVE = ("redirect", "rebind", "method", "header", "proxy", "response")
NAMES = ("api.example.com", "a.example.com", "b.example.com")
GOOD, METADATA, HERE = "93.184.216.34", "169.254.169.254", "127.0.0.1"
PROXY_PORT = 3128
WRONG_ADDRESS = "93.184.216.99"
"""Where a name leads at its second look-up, besides this machine: nobody may come there."""
CASES = Path("tests/cases/egress.jsonl").read_text("utf-8")
SIOCSIFADDR, SIOCSIFFLAGS, UP_AND_RUNNING = 0x8916, 0x8914, 0x41
SECONDS = 3.0


def own(address: str, alias: str) -> None:
    """Give this network's loopback device an IPv4 address, without any program of the system."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        named = struct.pack("16sH2s4s8s", alias.encode(), socket.AF_INET, b"", socket.inet_aton(address), b"")
        fcntl.ioctl(asked, SIOCSIFADDR, named)
        fcntl.ioctl(asked, SIOCSIFFLAGS, struct.pack("16sh14s", alias.encode(), UP_AND_RUNNING, b""))


def authority(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a certificate authority and one server certificate with openssl; for a client and for a server."""
    names = ",".join(f"DNS:{name}" for name in NAMES)
    (folder / "names").write_text(f"subjectAltName={names}\n", "utf-8")
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    for command in (
        f"req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=live",
        f"req {key} -keyout site.key -out site.csr -subj /CN=site",
        "x509 -req -in site.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out site.pem -days 2 -extfile names",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "site.pem", folder / "site.key")
    return ssl.create_default_context(cafile=str(folder / "ca.pem")), server


@dataclass
class Server:
    """One address and port: how often it was connected to, and the heads of the requests it read."""

    case: dict = field(default_factory=dict)
    connections: int = 0
    heads: list[str] = field(default_factory=list)
    sent: int = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            await self._answer(head, writer)
        writer.close()

    async def _answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        path, host = head.split()[1], next(line for line in head.splitlines() if line.lower().startswith("host:"))
        redirects = self.case.get("redirects") if path != "/robots.txt" else None
        if path == "/robots.txt":
            await self._say(writer, "404 Not Found\r\nContent-Length: 0")
        elif redirects and self.case["url"].split("/")[2] in host:
            status, location, _ = redirects[0]
            await self._say(writer, f"{status} Found\r\nLocation: {location}\r\nContent-Length: 0")
        else:
            await self._body(writer, self.case.get("response") or {})

    async def _body(self, writer: asyncio.StreamWriter, told: dict) -> None:
        kind = told.get("content_type", "text/plain")
        length = told.get("content_length", 2 if not {"endless", "drip_s"} & set(told) else None)
        encoding = f"\r\nContent-Encoding: {told['content_encoding']}" if "content_encoding" in told else ""
        framing = f"\r\nContent-Length: {length}" if length is not None else ""
        await self._say(writer, f"200 OK\r\nContent-Type: {kind}{encoding}{framing}")
        if "endless" in told or length not in {None, 2}:
            while True:
                await self._write(writer, b"x" * 65_536)
        if "drip_s" in told:
            while True:
                await self._write(writer, b".")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.Event().wait(), told["drip_s"])
        await self._write(writer, b"ok")

    async def _say(self, writer: asyncio.StreamWriter, head: str) -> None:
        await self._write(writer, f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n".encode())

    async def _write(self, writer: asyncio.StreamWriter, text: bytes) -> None:
        writer.write(text)
        await writer.drain()
        self.sent += len(text)


@contextlib.asynccontextmanager
async def serving(tls: ssl.SSLContext) -> AsyncIterator[dict[str, Server]]:
    """Serve at every address that a case names, the forbidden ones too."""
    places = [
        (GOOD, 443),
        (GOOD, 80),
        (METADATA, 80),
        (HERE, 80),
        (HERE, 443),
        (HERE, PROXY_PORT),
        (WRONG_ADDRESS, 443),
    ]
    servers = {f"{address}:{port}": Server() for address, port in places}
    async with contextlib.AsyncExitStack() as stack:
        for address, port in places:
            talk = servers[f"{address}:{port}"].talk
            await stack.enter_async_context(
                await asyncio.start_server(talk, address, port, ssl=tls if port == 443 else None)
            )
        yield servers


class Names:
    """The names of one case: what each leads to at its first look-up, and from the second one on."""

    def __init__(self, case: dict) -> None:
        self.first = {case["url"].split("/")[2]: case["resolves_to"]}
        self.first |= {location.split("/")[2]: found for _, location, found in case.get("redirects", ())}
        self.later = case.get("resolves_later")
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.later if self.later and self.asked.count(host) > 1 else self.first[host]


async def play(case: dict, tls: ssl.SSLContext, servers: dict[str, Server]) -> dict:
    """Make the call of a case, and tell what came of it on both sides."""
    for server in servers.values():
        server.case, server.connections, server.heads, server.sent = case, 0, [], 0
    names, attempts = Names(case), []

    async def record(attempt: Attempt) -> None:
        attempts.append({**asdict(attempt), "elapsed_ms": attempt.elapsed_ms})

    os.environ.update(case.get("env", {}))
    told = await _called(case, EgressMeans(resolve=names, tls=tls, pace=Pace()), record)
    return {
        **told,
        "id": case["id"],
        "look_ups": names.asked,
        "attempts": attempts,
        "connections": {place: server.connections for place, server in servers.items()},
        "heads": [head for server in servers.values() for head in server.heads],
        "sent": sum(server.sent for server in servers.values()),
    }


async def _called(case: dict, means: EgressMeans, record) -> dict:
    client = EgressClient(EgressRules.parse(case["allowlist"], []), means, retry=ONCE, record=record)
    headers = tuple(case.get("headers", {}).items())
    if case["cls"] == "redirect":
        # What a caller has set for the first host: another host may not see it.
        headers = (("X-Api-Key", "planted-key"),)
    request = EgressRequest(case["url"], "live0001", case.get("method", "GET"), seconds=SECONDS, headers=headers)
    clock = asyncio.get_running_loop().time
    began = clock()
    told: dict = {"verdict": "deny", "rule": None, "peer": None, "size": 0, "is_cut": False}
    try:
        reply = await client.fetch(request, Brake())
        told |= {"verdict": "allow", "peer": reply.peer, "size": len(reply.body), "is_cut": reply.is_cut}
    except ToolBlockedError as blocked:
        told |= {"rule": blocked.rule, "message": str(blocked)}
    except ToolTimeoutError:
        told |= {"rule": "deadline"}
    except SettingsError as error:
        told |= {"rule": error.name}
    return {**told, "seconds": clock() - began}


async def main(folder: Path) -> None:
    """Play every live case."""
    own(HERE, "lo")
    for number, address in enumerate((GOOD, METADATA, WRONG_ADDRESS)):
        own(address, f"lo:{number}")
    client_tls, server_tls = authority(folder)
    cases = map(json.loads, CASES.splitlines())
    async with serving(server_tls) as servers:
        for case in cases:
            if case["cls"] in LIVE:
                sys.stdout.write(json.dumps(await play(case, client_tls, servers)) + "\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
