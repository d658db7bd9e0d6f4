"""What the model is told, how the card names a call, and what the audit gets; against real servers."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.egress.client import EgressClient
from bot.egress.rules import EgressRules
from bot.errors import ToolArgumentsError, ToolBlockedError, ToolTimeoutError
from bot.interrupts.brake import Brake
from bot.rules.messages import JsonObject
from bot.rules.terms import CallOutcome, Grade, InterruptKind
from bot.tools.http_get import HttpGet
from bot.tools.tool import CallLabel, ToolAnswer, ToolContext
from tests.egress.site import LIMIT, Site, drips, hangs, in_pieces, pours, says, serving

# Two cores are shared by many: how long an example takes says nothing.
ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

CASES = [json.loads(line) for line in Path("tests/cases/egress.jsonl").read_text(encoding="utf-8").splitlines()]
NOWHERE = HttpGet(EgressClient(EgressRules()))


def context(brake: Brake | None = None) -> ToolContext:
    return ToolContext("req000001", "run1", brake or Brake())


async def read(site: Site, path: str, **limits: Any) -> ToolAnswer:
    """Call the tool as the model would."""
    tool = HttpGet(EgressClient(site.rules()), **limits)
    async with asyncio.timeout(LIMIT):
        return await tool.run({"url": site.url(path)}, context())


async def test_the_model_is_told_the_status_the_type_and_the_text():
    async with serving(metrics=says("up 1\n", Content_Type="text/plain; version=0.0.4")) as site:
        answer = await read(site, "/metrics?key=hunter2hunter2")

    assert answer.text == "HTTP 200 OK\ncontent-type: text/plain; version=0.0.4\n\nup 1\n"
    assert answer.outcome is CallOutcome.OK
    assert (answer.url, answer.method, answer.status) == (site.url("/metrics"), "GET", 200)


async def test_an_error_status_is_an_answer():
    async with serving(health=says("database is down", 500)) as site:
        answer = await read(site, "/health")

    assert answer.text.startswith("HTTP 500 Internal Server Error\n")
    assert answer.text.endswith("\n\ndatabase is down")
    assert (answer.outcome, answer.status) == (CallOutcome.OK, 500)


async def test_a_status_without_a_name_is_told_as_its_number():
    async with serving(odd=says("what", 299)) as site:
        answer = await read(site, "/odd")

    assert answer.text.startswith("HTTP 299\n")


async def test_an_empty_body_is_called_empty():
    async with serving(gone=says("", 204)) as site:
        answer = await read(site, "/gone")

    assert answer.text.endswith("\n\n(empty body)")


async def test_a_head_call_asks_for_no_body():
    async with serving(metrics=says("up 1\n")) as site:
        answer = await HttpGet(EgressClient(site.rules())).run(
            {"url": site.url("/metrics"), "method": "HEAD"}, context()
        )

    assert [request.method for request in site.seen] == ["HEAD"]
    assert (answer.text.splitlines()[0], answer.method) == ("HTTP 200 OK", "HEAD")
    assert answer.text.endswith("(empty body)")


async def test_a_redirect_is_followed_and_the_model_is_told_who_answered():
    async with serving(old=says("moved", 302, Location="/new?page=2"), new=says("here")) as site:
        answer = await read(site, "/old")

    assert answer.text.splitlines()[2] == f"redirected, the answer is from {site.url('/new')}"
    assert answer.text.endswith("here")
    assert (answer.url, answer.status) == (site.url("/new"), 200)


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        ("http://user:hunter2hunter2@169.254.169.254/x", "egress.userinfo"),
        ("//me:hunter2hunter2@evil.com/", "egress.userinfo"),
        ("http://[::1", "egress.url"),
        ("http://127.0.0.1:1/?key=hunter2hunter2", "egress.allow"),
        ("file:///etc/passwd", "egress.scheme"),
    ],
)
async def test_a_redirect_that_may_not_be_followed_is_blocked_and_told_without_credentials(location: str, rule: str):
    async with serving(old=says("moved", 302, Location=location)) as site:
        with pytest.raises(ToolBlockedError, match="redirect to ") as caught:
            await read(site, "/old")

    assert caught.value.rule == rule
    assert "hunter2" not in str(caught.value)
    assert len(site.seen) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("größe 日本".encode(), "größe 日本"),
        (b"a\xff\xfeb", "a\ufffd\ufffdb"),
        (b"a\x00b\x00", "ab"),
        ("é".encode("latin-1"), "\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
    ],
)
async def test_the_text_can_always_be_stored_and_sent(body: bytes, told: str):
    async with serving(page=says(body)) as site:
        answer = await read(site, "/page")

    assert answer.text.partition("\n\n")[2] == told
    assert "\x00" not in answer.text
    assert answer.text.encode()


async def test_a_long_text_is_cut_at_the_end_of_a_line_and_says_how_much_is_left_out():
    lines = "".join(f"line {number:04}\n" for number in range(5_000))
    async with serving(log=says(lines)) as site:
        answer = await read(site, "/log")

    body = answer.text.partition("\n\n")[2]
    kept, _, marker = body.rpartition("\n")
    assert len(kept) <= 16_000
    assert lines.startswith(kept + "\n")
    assert marker == f"[{len(lines) - len(kept):,} more characters left out]"


async def test_a_long_line_is_cut_where_the_limit_is():
    async with serving(page=says("x" * 50)) as site:
        answer = await read(site, "/page", max_chars=20)

    assert answer.text.partition("\n\n")[2] == "x" * 20 + "\n[30 more characters left out]"


async def test_a_text_of_exactly_the_limit_is_whole():
    async with serving(page=says("x" * 20)) as site:
        answer = await read(site, "/page", max_chars=20)

    assert answer.text.partition("\n\n")[2] == "x" * 20


async def test_ten_megabytes_that_are_announced_are_not_read_and_the_model_is_told():
    async with serving(big=says("x" * 10_000_000)) as site:
        with pytest.raises(ToolBlockedError, match=r"10,000,000 bytes, and 1,000,000 are read at most; ask for less"):
            await read(site, "/big")


async def test_ten_megabytes_in_pieces_are_cut_at_the_cap_and_the_model_is_told():
    async with serving(big=in_pieces(b"x" * 1_000_000, 10)) as site:
        answer = await read(site, "/big")

    assert len(answer.text) < 17_000
    assert "[984,000 more characters left out]" in answer.text
    assert "[only the first 1,000,000 bytes were read, the whole length is not known]" in answer.text


async def test_a_body_without_an_end_is_cut_and_its_length_not_guessed():
    async with serving(big=pours) as site, asyncio.timeout(LIMIT):
        answer = await read(site, "/big", max_bytes=1_000)
        await site.left.wait()

    assert answer.text.endswith("\n[only the first 1,000 bytes were read, the whole length is not known]")


async def test_a_character_that_the_cap_cuts_in_two_is_left_out():
    async with serving(page=in_pieces("ab日".encode(), 1)) as site:
        answer = await read(site, "/page", max_bytes=4)

    assert answer.text.partition("\n\n")[2].startswith("ab\n[only the first 4 bytes were read, the whole length")


@pytest.mark.parametrize("kind", ["image/png", "application/octet-stream", "application/pdf", "video/mp4"])
async def test_what_is_no_text_is_named_and_not_shown(kind: str):
    body = b"\x89PNG\r\n" + bytes(1_200)
    async with serving(image=says(body, Content_Type=kind)) as site:
        answer = await read(site, "/image")

    digest = hashlib.sha256(body).hexdigest()
    assert answer.text == (
        f"HTTP 200 OK\ncontent-type: {kind}\n\n(not text, so not shown: 1,206 bytes, sha256 of what was read {digest})"
    )


@pytest.mark.parametrize(
    "kind",
    ["application/json", "APPLICATION/JSON; charset=utf-8", "application/problem+json", "text/html", "image/svg+xml"],
)
async def test_what_is_text_under_another_name_is_shown(kind: str):
    async with serving(page=says("{}", Content_Type=kind)) as site:
        answer = await read(site, "/page")

    assert answer.text.endswith("\n\n{}")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "'url' is missing"),
        ({"url": 7}, "'url' must be a string"),
        ({"url": None}, "'url' must be a string"),
        ({"url": "https://a.example", "method": "POST"}, "'method' must be GET or HEAD"),
        ({"url": "https://a.example", "method": "get"}, "'method' must be GET or HEAD"),
        ({"url": "https://a.example", "timeout": 900}, "'timeout' is not an argument of http_get"),
        ({"address": "https://a.example"}, "'url' is missing; 'address' is not an argument of http_get"),
    ],
)
async def test_wrong_arguments_are_answered_with_what_to_send(arguments: JsonObject, problem: str):
    with pytest.raises(ToolArgumentsError) as caught:
        await NOWHERE.run(arguments, context())

    assert str(caught.value) == (
        f'{problem}. Send {{"url": "https://..."}}, with "method": "HEAD" if only the headers matter.'
    )


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case["cls"] == "header"])
async def test_the_model_cannot_give_headers(case: dict[str, Any]):
    tool = HttpGet(EgressClient(EgressRules.parse(case["allowlist"], [])))

    with pytest.raises(ToolArgumentsError, match="'headers' is not an argument"):
        await tool.run({"url": case["url"], "headers": case["headers"]}, context())


async def test_a_refused_call_names_the_rule_and_reaches_nobody():
    async with serving(admin=says("secret")) as site:
        rules = EgressRules.parse([f"{site.url('/metrics')}"], [site.pair])

        with pytest.raises(ToolBlockedError, match=r"blocked by egress\.allow: .*/admin is not under any") as caught:
            await HttpGet(EgressClient(rules)).run({"url": site.url("/admin?token=hunter2hunter2")}, context())

    assert caught.value.rule == "egress.allow"
    assert "hunter2" not in str(caught.value)
    assert site.seen == []


async def test_a_call_that_takes_longer_than_its_deadline_is_ended():
    async with serving(slow=drips) as site:
        with pytest.raises(ToolTimeoutError):
            await read(site, "/slow", seconds=0.1)


async def test_a_braked_call_is_not_started():
    brake = Brake()
    brake.pull(InterruptKind.STOP)
    async with serving(metrics=says("up 1\n")) as site:
        answer = await HttpGet(EgressClient(site.rules())).run({"url": site.url("/metrics")}, context(brake))

    assert (answer.outcome, answer.status, site.seen) == (CallOutcome.NOT_STARTED, None, [])
    assert answer.text == "not started: the run was interrupted"


async def test_a_cancelled_call_is_seen_by_the_server():
    async with serving(hang=hangs) as site, asyncio.timeout(LIMIT):
        call = asyncio.create_task(read(site, "/hang"))
        await site.asked.wait()
        call.cancel()
        await asyncio.wait([call])
        await site.left.wait()

    assert call.cancelled()


async def test_every_request_carries_the_id_of_the_call():
    async def echo(request: web.Request) -> web.StreamResponse:
        return web.Response(text=request.headers["X-Request-Id"])

    async with serving(echo=echo) as site:
        answer = await read(site, "/echo")

    assert answer.text.endswith("req000001")


@pytest.mark.parametrize(
    ("arguments", "title", "target"),
    [
        (
            {"url": "http://checkout.internal/metrics?token=hunter2"},
            "Read /metrics of checkout.internal",
            "checkout.internal/metrics",
        ),
        ({"url": "https://api.example.com"}, "Read api.example.com", "api.example.com"),
        ({"url": "https://a.example:8443/x#y", "method": "HEAD"}, "Check /x of a.example:8443", "a.example:8443/x"),
        (
            {"url": "https://a.example/bot/xoxb-12345678-abcdefgh"},
            "Read /bot/[redacted] of a.example",
            "a.example/bot/[redacted]",
        ),
        ({"url": "https://me:hunter2@a.example/x"}, "Read a URL", "a URL that is not valid"),
        ({"url": 7}, "Read a URL", "a URL that is not valid"),
        ({}, "Read a URL", "a URL that is not valid"),
    ],
)
def test_the_card_names_a_call_in_words_and_shows_no_secret(arguments: JsonObject, title: str, target: str):
    assert NOWHERE.label(arguments) == CallLabel(title, target)


def test_a_long_path_is_shortened_on_the_card():
    label = NOWHERE.label({"url": f"https://a.example/{'x' * 500}"})

    assert label.title == f"Read /{'x' * 78}… of a.example"


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=3)


@ANY_SPEED
@given(
    st.dictionaries(st.sampled_from(["url", "method", "x"]), JSON | st.text("htps:/.@[]%0 é\x00\ud800", max_size=20))
)
def test_any_call_has_a_name(arguments: JsonObject):
    label = NOWHERE.label(arguments)

    assert label.title
    assert label.target


def test_the_model_is_told_which_urls_are_allowed():
    rules = EgressRules.parse(["https://api.example.com/v1", "http://prometheus.internal:9090@10.0.0.0/8"], [])
    schema = HttpGet(EgressClient(rules)).schema

    assert (schema.name, schema.grade) == ("http_get", Grade.READ)
    assert "allowed: https://api.example.com/v1, http://prometheus.internal:9090/." in schema.description
    assert schema.parameters["required"] == ["url"]


def test_a_long_list_of_prefixes_does_not_fill_the_prompt():
    rules = EgressRules.parse([f"https://a{number}.example.com" for number in range(500)], [])

    description = HttpGet(EgressClient(rules)).schema.description

    assert len(description) < 1_000
    assert "and 480 more" in description
