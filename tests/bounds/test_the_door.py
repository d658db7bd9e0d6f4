"""What a hostile answer may cost: memory and time, each measured alone on the machine (`make bounds`)."""

import asyncio
import gzip
import tracemalloc

import pytest
from aiohttp import web

from bot.egress.client import EgressClient, EgressRequest
from bot.errors import ToolBlockedError, ToolError, ToolTimeoutError
from bot.interrupts.brake import Brake
from tests.egress.site import client_of, drips, serving

pytestmark = [pytest.mark.bounds]

SECONDS, LATE_S, MORE_BYTES = 2.0, 0.5, 8 * 1024 * 1024
TEN_GB = 10_000_000_000
BOMB = gzip.compress(gzip.compress(bytes(50_000_000)))


async def bomb(_request: web.Request) -> web.StreamResponse:
    return web.Response(body=BOMB, headers={"Content-Encoding": "gzip, gzip", "Content-Type": "text/plain"})


async def announced(request: web.Request) -> web.StreamResponse:
    return await poured(request, {"Content-Length": str(TEN_GB)})


async def in_chunks(request: web.Request) -> web.StreamResponse:
    return await poured(request, {})


async def poured(request: web.Request, headers: dict[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    chunk = b"x" * 65_536
    for _ in range(TEN_GB // len(chunk)):
        await response.write(chunk)
    return response


async def called(client: EgressClient, url: str) -> tuple[str, float, int]:
    """Make a call; how it ended, after how many seconds, and how many bytes more there were at the most."""
    clock = asyncio.get_running_loop().time
    tracemalloc.start()
    before, began = tracemalloc.get_traced_memory()[0], clock()
    try:
        reply = await client.fetch(EgressRequest(url, "bounds01", seconds=SECONDS), Brake())
        ended = "cut" if reply is not None and reply.is_cut else "whole"
    except ToolBlockedError as blocked:
        ended = blocked.rule
    except ToolTimeoutError:
        ended = "deadline"
    except ToolError as error:
        ended = str(error)
    took, peak = clock() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return ended, took, peak - before


@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        (bomb, "egress.encoding"),
        (announced, "egress.size"),
        (in_chunks, "cut"),
        (drips, "deadline"),
    ],
    ids=["gzip bomb", "10 GB announced", "10 GB in chunks", "drip"],
)
async def test_a_hostile_answer_costs_eight_megabytes_at_most_and_keeps_the_deadline(answer, ends):
    async with serving(hostile=answer) as site:
        ended, took, more = await called(client_of(site.rules()), site.url("/hostile"))

    assert ended == ends
    assert more <= MORE_BYTES
    assert took <= SECONDS + LATE_S
