"""The redirect loop against a real server: each hop is judged, and what may not go along stays behind."""

import pytest
from aiohttp import web

from bot.egress.client import AttemptOutcome, EgressRequest
from bot.egress.redirects import MAX_HOPS
from bot.egress.rules import EgressRules, RuleEntry, SecretUse
from bot.errors import ToolBlockedError
from bot.interrupts.brake import Brake
from bot.rules.terms import Grade
from tests.egress.site import Resolver, client_of, fetch, says, serving


def chain(length: int):
    """Answers by number, each redirecting to the next, the last one with a text."""
    answers = {f"n{number}": says(status=302, Location=f"/n{number + 1}") for number in range(length)}
    return {**answers, f"n{length}": says("the end")}


async def test_five_redirects_are_followed_and_the_sixth_is_not():
    async with serving(**chain(MAX_HOPS)) as site:
        reply = await fetch(client_of(site.rules()), site.url("/n0"))

    async with serving(**chain(12)) as longer:
        with pytest.raises(ToolBlockedError, match="more than 5 redirects") as caught:
            await fetch(client_of(longer.rules()), longer.url("/n0"))

    assert (reply.body, len(reply.hops)) == (b"the end", MAX_HOPS)
    assert caught.value.rule == "egress.redirect"
    assert len(longer.seen) == MAX_HOPS + 1


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        ("http://169.254.169.254/latest/meta-data/", "egress.allow"),
        ("http://[::1]:5432/", "egress.allow"),
        ("file:///etc/passwd", "egress.scheme"),
        ("https://other.example/", "egress.allow"),
        ("http://user:pass@127.0.0.1/", "egress.userinfo"),
        ("//127.0.0.1:1/", "egress.allow"),
        ("/%2e%2e/admin", "egress.path"),
        ("http://127.0.0.1 /", "egress.url"),
        ("http://127.0.0.1\\@evil.com/", "egress.url"),
    ],
)
async def test_a_hop_is_judged_like_a_first_url_and_nothing_of_it_is_called(location: str, rule: str):
    attempts = []

    async def record(attempt):
        attempts.append(attempt)

    async with serving(r=says(status=302, Location=location)) as site:
        with pytest.raises(ToolBlockedError, match=r"blocked by .*: redirect to ") as caught:
            await fetch(client_of(site.rules(), record=record), site.url("/r"))

    assert caught.value.rule == rule
    assert [request.path for request in site.seen] == ["/r"]
    assert (attempts[0].outcome, attempts[0].status) == (AttemptOutcome.ANSWERED, 302)


async def test_a_hop_whose_name_leads_inside_is_refused_before_anything_is_opened():
    resolver = Resolver(["127.0.0.1"], ["10.0.0.7"])
    async with serving(r=says(status=302, Location="http://b.example.com/")) as site:
        rules = EgressRules.parse(
            ["http://b.example.com", f"http://a.internal:{site.port}"], [f"a.internal:{site.port}"]
        )
        with pytest.raises(ToolBlockedError, match=r"leads to 10\.0\.0\.7, and that is a private address") as caught:
            await fetch(client_of(rules, resolve=resolver), f"http://a.internal:{site.port}/r")

    assert (caught.value.rule, len(site.seen)) == ("egress.address", 1)


@pytest.mark.parametrize("status", [307, 308])
async def test_a_write_that_is_sent_elsewhere_is_refused(status: int):
    async with serving(r=says(status=status, Location="/x"), x=says("done")) as site:
        with pytest.raises(ToolBlockedError, match="sent to another address") as caught:
            await write(site, "/r")

    assert (caught.value.rule, caught.value.sent) == ("egress.redirect", True)
    assert [request.path for request in site.seen] == ["/r"]


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_any_other_redirect_of_a_write_is_its_answer(status: int):
    async with serving(r=says(status=status, Location="/x"), x=says("done")) as site:
        reply = await write(site, "/r")

    assert (reply.status, reply.location) == (status, "/x")
    assert [request.path for request in site.seen] == ["/r"]


def writing(site) -> EgressRules:
    entry = RuleEntry(f"http://{site.pair}", methods=("POST",), grade=Grade.WRITE)
    return EgressRules.parse([entry], [site.pair])


async def write(site, path: str, **more):
    request = EgressRequest(site.url(path), "req000001", "POST", grade=Grade.WRITE, **more)
    return await client_of(writing(site)).fetch(request, Brake())


async def test_a_write_is_sent_once_with_its_body_its_headers_and_its_key():
    async def take(request: web.Request) -> web.StreamResponse:
        return web.Response(text=await request.text(), status=503)

    async with serving(take=take) as site:
        reply = await write(site, "/take", body=b'{"a": 1}', headers=(("Content-Type", "application/json"),))

    (seen,) = site.seen
    assert (seen.method, seen.headers["Content-Type"], seen.headers["Content-Length"]) == (
        "POST",
        "application/json",
        "8",
    )
    assert seen.headers["Idempotency-Key"] == "req000001"
    assert (reply.status, reply.body) == (503, b'{"a": 1}')


async def test_a_secret_goes_along_on_its_own_origin_and_stays_behind_at_any_other():
    async with serving(x=says("there")) as other, serving() as site:
        site.answers |= {
            "/stay": says(status=302, Location="/x"),
            "/leave": says(status=302, Location=other.url("/x")),
            "/x": says("here"),
        }
        entry = RuleEntry(f"http://{site.pair}", cidr=("10.0.0.0/8",), secret=SecretUse("key"))
        rules = EgressRules.parse([entry, f"http://{other.pair}"], [site.pair, other.pair])
        client = client_of(rules, secret_of=lambda name: f"value-of-{name}")
        await fetch(client, site.url("/stay"))
        await fetch(client, site.url("/leave"))

    assert [request.headers.get("Authorization") for request in site.seen] == ["Bearer value-of-key"] * 3
    assert "Authorization" not in other.seen[0].headers
