"""How calls end and begin: cancelled, braked, tried again, waiting for a place. Every end closes the connection."""

import asyncio

import pytest
from aiohttp import web

from bot.egress.client import PER_RUN, EgressClient, EgressRequest
from bot.egress.rules import EgressRules
from bot.errors import ToolBlockedError, ToolError, ToolTimeoutError
from bot.interrupts.brake import Brake
from bot.interrupts.retries import RetryPolicy
from bot.rules.terms import InterruptKind
from tests.egress.site import LIMIT, Dial, Resolver, Site, client_of, fetch, hangs, in_turn, listening, says, serving

QUICK = RetryPolicy(tries=2, wait_seconds=0.0)
SLOW = RetryPolicy(tries=2, wait_seconds=3600.0)


async def test_a_cancelled_call_closes_its_connection_and_gives_its_place_back():
    async with serving(hang=hangs, metrics=says("up 1\n")) as site, asyncio.timeout(LIMIT):
        client = client_of(site.rules())
        calls = [asyncio.create_task(fetch(client, site.url("/hang"))) for _ in range(PER_RUN)]
        await site.asked.wait()
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        await site.left.wait()

        reply = await fetch(client, site.url("/metrics"))

    assert all(call.cancelled() for call in calls)
    assert reply.status == 200


async def test_a_call_cancelled_while_its_tls_is_half_made_closes_its_connection():
    greeted, closed = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        greeted.set()
        await reader.read()
        closed.set()
        writer.close()

    async with listening(talk) as port, asyncio.timeout(LIMIT):
        rules = EgressRules.parse([f"https://127.0.0.1:{port}"], [f"127.0.0.1:{port}"])
        call = asyncio.create_task(fetch(client_of(rules), f"https://127.0.0.1:{port}/"))
        await greeted.wait()
        call.cancel()
        await asyncio.wait([call])
        await closed.wait()

    assert call.cancelled()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_read_is_repeated_once_with_the_same_id_where_the_service_was_away(status: int):
    async with serving(metrics=in_turn(says("away", status), says("up 1\n"))) as site:
        reply = await fetch(client_of(site.rules(), retry=QUICK), site.url("/metrics"))

    assert (reply.status, len(site.seen)) == (200, 2)
    assert {request.headers["X-Request-Id"] for request in site.seen} == {"req000001"}


async def test_a_service_that_stays_away_is_reported_after_the_second_try():
    async with serving(metrics=says("away", 503)) as site:
        reply = await fetch(client_of(site.rules(), retry=QUICK), site.url("/metrics"))

    assert (reply.status, reply.body, len(site.seen)) == (503, b"away", 2)


@pytest.mark.parametrize("status", [200, 302, 400, 404, 500])
async def test_any_other_answer_is_taken_as_it_is(status: int):
    async with serving(metrics=says("that", status)) as site:
        reply = await fetch(client_of(site.rules(), retry=QUICK), site.url("/metrics"))

    assert (reply.status, len(site.seen)) == (status, 1)


async def test_a_refused_connection_is_tried_twice_with_a_look_up_each():
    dial, resolver = Dial(), Resolver(["10.1.2.3"])
    rules = EgressRules.parse(["http://checkout.internal@10.0.0.0/8"], [])

    with pytest.raises(ToolError, match=r"http://checkout\.internal/ cannot be reached: nobody is there"):
        await fetch(client_of(rules, resolve=resolver, network=dial, retry=QUICK), "http://checkout.internal/?a=b")

    assert (len(dial.dialled), len(resolver.questions)) == (2, 2)


async def test_a_name_that_turns_private_between_two_tries_is_refused_at_the_second():
    dial, resolver = Dial(), Resolver(["93.184.216.34"], ["10.0.0.5"])
    client = client_of(EgressRules.parse(["http://api.example.com"], []), resolve=resolver, network=dial, retry=QUICK)

    with pytest.raises(ToolBlockedError, match=r"leads to 10\.0\.0\.5, and that is a private address"):
        await fetch(client, "http://api.example.com/")

    assert dial.dialled == [("93.184.216.34", 80)]


async def test_a_name_that_does_not_exist_cannot_be_reached():
    async def unknown(_host: str, _port: int) -> list[str]:
        raise OSError("unknown name")

    rules = EgressRules.parse(["http://api.example.com"], [])
    with pytest.raises(ToolError, match="look-up of its name failed: unknown name"):
        await fetch(client_of(rules, resolve=unknown, retry=QUICK), "http://api.example.com/")


async def test_an_answer_that_breaks_off_is_an_error_and_not_repeated():
    seen = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()
        writer.close()

    async with listening(talk) as port:
        rules = EgressRules.parse([f"http://127.0.0.1:{port}"], [f"127.0.0.1:{port}"])
        with pytest.raises(ToolError, match="broke off"):
            await fetch(client_of(rules, retry=QUICK), f"http://127.0.0.1:{port}/")

    assert len(seen) == 1


@pytest.mark.parametrize("kind", [InterruptKind.STOP, InterruptKind.STEER, InterruptKind.PAUSE])
async def test_nothing_leaves_once_the_brake_is_pulled(kind: InterruptKind):
    brake, resolver = Brake(), Resolver(["127.0.0.1"])
    brake.pull(kind)
    async with serving(metrics=says("up 1\n")) as site:
        client = client_of(site.named("checkout.internal"), resolve=resolver)

        reply = await client.fetch(EgressRequest(f"http://checkout.internal:{site.port}/metrics", "r1"), brake)

    assert (reply, site.seen, resolver.questions) == (None, [], [])


async def test_a_steer_during_the_wait_for_the_second_try_gives_the_first_answer_at_once():
    brake = Brake()

    async def away(_request: web.Request) -> web.StreamResponse:
        brake.pull(InterruptKind.STEER)
        return web.Response(status=503)

    async with serving(metrics=away) as site, asyncio.timeout(LIMIT):
        client = client_of(site.rules(), retry=SLOW)

        reply = await client.fetch(EgressRequest(site.url("/metrics"), "r1", seconds=30), brake)

    assert reply is not None
    assert (reply.status, len(site.seen)) == (503, 1)


async def ask_thrice(client: EgressClient, site: Site) -> None:
    for _ in range(3):
        await fetch(client, site.url("/metrics"))


async def test_three_calls_of_a_run_are_under_way_at_a_time_and_another_run_has_its_own_places():
    under_way, peak, full, release = 0, 0, asyncio.Event(), asyncio.Event()

    async def slow(_request: web.Request) -> web.StreamResponse:
        nonlocal under_way, peak
        under_way += 1
        peak = max(peak, under_way)
        if under_way == PER_RUN:
            full.set()
        await release.wait()
        under_way -= 1
        return web.Response(text="done")

    async with serving(slow=slow, metrics=says("up 1\n")) as site, asyncio.timeout(LIMIT):
        client = client_of(site.rules())
        calls = [asyncio.create_task(fetch(client, site.url("/slow"))) for _ in range(8)]
        await full.wait()
        # Three round trips of another run: time enough for a fourth call of the first run to arrive.
        await ask_thrice(client_of(site.rules()), site)
        waiting = peak
        release.set()
        replies = await asyncio.gather(*calls)

    assert (waiting, len(replies)) == (PER_RUN, 8)


async def test_waiting_for_a_place_does_not_count_against_the_deadline():
    release = asyncio.Event()

    async def slow(_request: web.Request) -> web.StreamResponse:
        await release.wait()
        return web.Response(text="done")

    async with serving(slow=slow, quick=says("up 1\n")) as site, asyncio.timeout(LIMIT):
        client = client_of(site.rules())
        first = [asyncio.create_task(fetch(client, site.url("/slow"))) for _ in range(PER_RUN)]
        await site.asked.wait()
        late = asyncio.create_task(fetch(client, site.url("/quick"), seconds=1.0))
        with pytest.raises(ToolTimeoutError):
            await fetch(client_of(site.rules()), site.url("/slow"), seconds=1.2)
        release.set()
        replies = await asyncio.gather(*first, late)

    assert [reply.status for reply in replies] == [200] * 4
