"""The model's own way out: its configured host and port, at the address that was looked up, and nothing else."""

import ssl

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.egress.model_door import ModelTransport, model_permit
from bot.egress.permits import ModelPermit
from bot.egress.rules import Refusal
from tests.egress.site import Resolver, in_pieces, listening, says, serving

TLS = ssl.create_default_context()


def client(url: str, resolver: Resolver, **means) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=ModelTransport(model_permit(url), TLS, resolver, **means), trust_env=False)


async def test_the_configured_service_is_reached_on_this_machine_under_any_name():
    resolver = Resolver(["127.0.0.1"])
    async with serving(v1=says("hello")) as site, client(f"http://model.internal:{site.port}", resolver) as http:
        answer = await http.post(f"http://model.internal:{site.port}/v1", content=b"{}")

    assert (answer.status_code, answer.text) == (200, "hello")
    assert resolver.questions == [("model.internal", site.port)]
    assert site.seen[0].headers["Host"] == f"model.internal:{site.port}"


@pytest.mark.parametrize("url", ["http://other.internal:{}/v1", "http://model.internal:1/v1", "http://127.0.0.1:{}/v1"])
async def test_another_host_or_port_is_not_connected_to(url: str):
    async with serving(v1=says("hello")) as site:
        configured = f"http://model.internal:{site.port}"
        async with client(configured, Resolver(["127.0.0.1"])) as http:
            with pytest.raises(httpx.ConnectError, match=r"egress\.model"):
                await http.get(url.format(site.port))

    assert site.seen == []


@pytest.mark.parametrize("address", ["169.254.169.254", "168.63.129.16", "0.0.0.0", "224.0.0.1", "::ffff:127.0.0.1"])
async def test_what_nothing_unlocks_is_not_unlocked_for_the_model(address: str):
    async with client("http://model.internal:80", Resolver([address])) as http:
        with pytest.raises(httpx.ConnectError, match=r"egress\.address"):
            await http.get("http://model.internal/v1")


async def test_a_name_without_an_address_is_an_error_of_connecting():
    async def unknown(_host: str, _port: int):
        raise OSError("unknown name")

    async with client("http://model.internal:80", unknown) as http:
        with pytest.raises(httpx.ConnectError, match="look-up of model"):
            await http.get("http://model.internal/v1")


async def test_a_redirect_of_the_service_is_not_followed():
    moved, resolver = says(status=307, Location="http://127.0.0.1:1/"), Resolver(["127.0.0.1"])
    async with serving(v1=moved) as site, client(site.url("/"), resolver) as http:
        answer = await http.post(site.url("/v1"), content=b"{}")

    assert (answer.status_code, len(site.seen)) == (307, 1)


async def test_a_body_comes_in_pieces_and_a_break_is_an_error_of_httpx():
    async def half(reader, writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()
        writer.close()

    async with serving(v1=in_pieces(b"x" * 1000, 3)) as site, client(site.url("/"), Resolver(["127.0.0.1"])) as http:
        whole = await http.get(site.url("/v1"))
    async with listening(half) as port, client(f"http://127.0.0.1:{port}", Resolver(["127.0.0.1"])) as http:
        with pytest.raises(httpx.RemoteProtocolError):
            await http.get(f"http://127.0.0.1:{port}/")

    assert len(whole.content) == 3000


@pytest.mark.parametrize(
    ("url", "permit"),
    [
        ("https://api.openai.com/v1", ModelPermit("api.openai.com", 443)),
        ("http://LOCALHOST:8080/v1", ModelPermit("localhost", 8080)),
        ("http://[::1]:8080", ModelPermit("::1", 8080)),
    ],
)
def test_the_permit_is_the_host_and_port_of_the_setting(url: str, permit: ModelPermit):
    assert model_permit(url) == permit


@given(st.ip_addresses().map(str))
def test_every_address_has_a_verdict(address: str):
    verdict = ModelPermit("m", 80).admit("m", 80, [address])

    assert isinstance(verdict, Refusal) or verdict == (address,)
