"""The door against real servers: what leaves, what is refused, and that every end closes the connection."""

import asyncio

import pytest
from aiohttp import web

from bot.egress.rules import EgressRules
from bot.errors import ToolBlockedError, ToolError, ToolTimeoutError
from bot.interrupts.retries import RetryPolicy
from tests.egress.site import LIMIT, Dial, Resolver, client_of, drips, fetch, listening, pours, says, serving


async def test_what_an_allowed_url_says_comes_back():
    async with serving(metrics=says("up 1\n")) as site:
        reply = await fetch(client_of(site.rules()), site.url("/metrics?key=abc"))

    assert (reply.status, reply.body, reply.content_type) == (200, b"up 1\n", "text/plain")
    assert reply.url == site.url("/metrics")
    assert site.seen[0].query_string == "key=abc"


async def test_a_request_says_who_asks_and_carries_the_id_of_its_call():
    async with serving(metrics=says("up 1\n")) as site:
        await fetch(client_of(site.rules()), site.url("/metrics"))

    headers = site.seen[0].headers
    assert headers["User-Agent"] == "steersman"
    assert headers["Accept-Encoding"] == "identity"
    assert headers["X-Request-Id"] == headers["Idempotency-Key"] == "req000001"
    assert headers["Host"] == site.pair
    assert not {"Authorization", "Cookie"} & set(headers)


async def test_a_refused_url_makes_no_look_up_and_no_request():
    resolver, dial = Resolver(["127.0.0.1"]), Dial()
    async with serving(metrics=says("up 1\n")) as site:
        client = client_of(site.rules(), resolve=resolver, network=dial)

        for url in (f"http://localhost:{site.port}/metrics", f"http://127.0.0.1:{site.port + 1}/", "ftp://a/"):
            with pytest.raises(ToolBlockedError):
                await fetch(client, url)
        with pytest.raises(ToolBlockedError):
            await fetch(client, site.url("/metrics"), "POST")

    assert (resolver.questions, dial.dialled, site.seen) == ([], [], [])


async def test_a_name_is_looked_up_once_and_called_at_the_checked_address():
    resolver = Resolver(["127.0.0.1"], ["192.0.2.1"])
    async with serving(metrics=says("up 1\n")) as site:
        client = client_of(site.named("checkout.internal"), resolve=resolver)

        reply = await fetch(client, f"http://checkout.internal:{site.port}/metrics")

    assert reply.body == b"up 1\n"
    assert resolver.questions == [("checkout.internal", site.port)]
    assert site.seen[0].headers["Host"] == f"checkout.internal:{site.port}"


async def test_the_next_checked_address_is_tried_where_the_first_one_is_dead():
    resolver = Resolver(["127.0.0.2", "127.0.0.1"])
    async with serving(metrics=says("up 1\n")) as site:
        client = client_of(site.named("checkout.internal"), resolve=resolver)

        reply = await fetch(client, f"http://checkout.internal:{site.port}/metrics")

    assert reply.status == 200
    assert len(resolver.questions) == 1


async def test_tls_asks_for_the_name_and_not_for_the_address():
    hello = asyncio.get_running_loop().create_future()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.set_result(await reader.read(4096))
        writer.close()

    async with listening(talk) as port:
        pair = f"checkout.internal:{port}"
        rules = EgressRules.parse([f"https://{pair}"], [pair])
        client = client_of(rules, resolve=Resolver(["127.0.0.1"]), retry=RetryPolicy(1))
        with pytest.raises(ToolError, match="cannot be reached"):
            await fetch(client, f"https://{pair}/")

    assert b"checkout.internal" in hello.result()


@pytest.mark.parametrize("name", ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"])
async def test_a_proxy_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name, "http://127.0.0.1:1")

    async with serving(metrics=says("up 1\n")) as site:
        reply = await fetch(client_of(site.rules()), site.url("/metrics"))

    assert reply.status == 200


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_of_a_read_is_followed_and_says_where_it_came_from(status: int):
    async with serving(old=says(status=status, Location="/new?a=b"), new=says("here")) as site:
        reply = await fetch(client_of(site.rules()), site.url("/old"))

    assert (reply.status, reply.body, reply.url, reply.hops) == (200, b"here", site.url("/new"), (site.url("/old"),))
    assert [request.path for request in site.seen] == ["/old", "/new"]


async def test_no_cookie_is_kept_from_one_call_to_the_next():
    async with serving(login=says("ok", Set_Cookie="session=1")) as site:
        client = client_of(site.rules())
        await fetch(client, site.url("/login"))
        await fetch(client, site.url("/login"))

    assert "Cookie" not in site.seen[1].headers


async def test_a_head_request_has_no_body():
    async with serving(metrics=says("up 1\n")) as site:
        reply = await fetch(client_of(site.rules()), site.url("/metrics"), "HEAD")

    assert (site.seen[0].method, reply.body, reply.announced_bytes) == ("HEAD", b"", 5)


async def test_a_body_that_drips_ends_at_the_deadline_and_its_connection_is_closed():
    async with serving(slow=drips) as site, asyncio.timeout(LIMIT):
        with pytest.raises(ToolTimeoutError, match=r"no complete answer within 0\.2 s"):
            await fetch(client_of(site.rules()), site.url("/slow"), seconds=0.2)
        await site.left.wait()

    assert len(site.seen) == 1


async def test_a_look_up_without_an_answer_ends_at_the_deadline():
    async def never(_host: str, _port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    rules = EgressRules.parse(["http://checkout.internal@10.0.0.0/8"], [])
    dial = Dial()
    with pytest.raises(ToolTimeoutError):
        await fetch(client_of(rules, resolve=never, network=dial), "http://checkout.internal/", seconds=0.1)

    assert dial.dialled == []


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "gzip, gzip, gzip", "br", "identity, gzip", "zstd", "x-unknown"])
async def test_a_compressed_answer_is_refused_unread(encoding: str):
    async def bomb(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Encoding": encoding})
        await response.prepare(request)
        while True:
            await response.write(b"\x1f\x8b" * 32_768)

    async with serving(bomb=bomb) as site, asyncio.timeout(LIMIT):
        with pytest.raises(ToolBlockedError) as caught:
            await fetch(client_of(site.rules()), site.url("/bomb"))
        await site.left.wait()

    assert caught.value.rule == "egress.encoding"
    assert len(site.seen) == 1


async def test_the_word_identity_is_no_compression():
    async with serving(metrics=says("up 1\n", Content_Encoding="identity")) as site:
        reply = await fetch(client_of(site.rules()), site.url("/metrics"))

    assert reply.body == b"up 1\n"


async def test_a_body_without_an_end_is_cut_at_the_cap_and_its_connection_is_closed():
    async with serving(big=pours) as site, asyncio.timeout(LIMIT):
        reply = await fetch(client_of(site.rules()), site.url("/big"))
        await site.left.wait()

    assert (len(reply.body), reply.is_cut, reply.announced_bytes) == (1_000_000, True, None)


async def test_a_body_that_is_announced_too_long_is_refused_before_it_is_read():
    async def big(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000000000"})
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65_536)

    async with serving(big=big) as site, asyncio.timeout(LIMIT):
        with pytest.raises(ToolBlockedError, match=r"1,000,000,000 bytes, and 1,000 are read at most") as caught:
            await fetch(client_of(site.rules()), site.url("/big"), max_bytes=1000)
        await site.left.wait()

    assert (caught.value.rule, caught.value.sent) == ("egress.size", True)


async def test_a_body_of_exactly_the_cap_is_whole():
    async with serving(page=says("x" * 1000)) as site:
        reply = await fetch(client_of(site.rules()), site.url("/page"), max_bytes=1000)

    assert (len(reply.body), reply.is_cut) == (1000, False)


async def test_headers_without_an_end_are_an_error():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for _ in range(50):
            writer.write(b"X-Pad: " + b"x" * 8000 + b"\r\n")
        writer.close()

    async with listening(talk) as port:
        rules = EgressRules.parse([f"http://127.0.0.1:{port}"], [f"127.0.0.1:{port}"])
        with pytest.raises(ToolError, match="broke off"):
            await fetch(client_of(rules), f"http://127.0.0.1:{port}/")
