"""The one decision whether a call may be made and where it connects to.

The client and `steersman egress explain` both ask here, so they cannot differ.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.egress.rules import Asked, EgressRules, Permit, Refusal

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host; raises OSError where there is none."""

LOOK_UP_SECONDS = 3.0


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Ask the resolver of this machine."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(row[4][0]) for row in found))


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call that may be made, at these addresses and no other."""

    permit: Permit
    addresses: tuple[str, ...]


async def decide(rules: EgressRules, asked: Asked, resolve: Resolver) -> Admitted | Refusal:
    """Judge a call: by its text, then by one look-up of its host. Raises OSError where the look-up fails."""
    permit = rules.judge_asked(asked)
    if isinstance(permit, Refusal):
        return permit
    found = (permit.target.host,) if permit.is_literal else await _looked_up(permit, resolve)
    addresses = permit.admit(found)
    return addresses if isinstance(addresses, Refusal) else Admitted(permit, addresses)


async def _looked_up(permit: Permit, resolve: Resolver) -> Sequence[str]:
    async with asyncio.timeout(LOOK_UP_SECONDS):
        return await resolve(permit.target.host, permit.target.port)
