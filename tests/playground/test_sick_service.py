"""The sick service over real HTTP: what it shows, what it logs, and how it gets well."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.playground.sick_service import SickService, Visit
from bot.playground.sick_state import CUT_FROM, Sickness, facts, log_lines, metrics_text

LIMIT_SECONDS = 5.0
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
async def service() -> AsyncIterator[SickService]:
    async with asyncio.timeout(4 * LIMIT_SECONDS), SickService.running(seed=5, slow_seconds=0.02) as service:
        yield service


@pytest.fixture
async def client(service: SickService) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=service.url, trust_env=False, timeout=LIMIT_SECONDS) as client:
        yield client


def figure(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else float("nan")


async def test_the_metrics_show_a_full_pool_and_slow_checkouts(client: httpx.AsyncClient) -> None:
    text = (await client.get("/metrics")).text

    assert figure(text, "gateway_pool_in_use") == figure(text, "gateway_pool_size") == 64
    assert figure(text, "gateway_pool_waiting") > 0
    p95 = figure(text, 'checkout_request_duration_seconds{quantile="0.95"}')
    assert p95 > figure(text, 'gateway_pool_wait_seconds{quantile="0.95"}') > 3
    assert figure(text, 'checkout_db_query_duration_seconds{quantile="0.95"}') < 0.1
    assert figure(text, "checkout_error_rate") > 0.02


async def test_the_log_warns_of_an_exhausted_pool_and_is_as_long_as_asked(client: httpx.AsyncClient) -> None:
    lines = (await client.get("/logs", params={"limit": 8})).text.splitlines()

    assert len(lines) == 8
    assert sum("pool exhausted" in line for line in lines) == 6
    assert lines == sorted(lines)


@pytest.mark.parametrize("limit", ["x", "-1", "501"])
async def test_a_wrong_limit_is_refused(client: httpx.AsyncClient, limit: str) -> None:
    response = await client.get("/logs", params={"limit": limit})

    assert response.status_code == 400


async def test_the_newest_deploy_cut_the_pool(client: httpx.AsyncClient) -> None:
    newest, *older = (await client.get("/deploys")).json()
    settings = (await client.get("/gateway/config")).json()

    assert newest["change"] == "gateway client: pool_size 256 -> 64"
    assert newest["id"] == settings["set_by_deploy"]
    assert 19 <= newest["minutes_ago"] <= 36
    assert all(deploy["minutes_ago"] > newest["minutes_ago"] for deploy in older)


async def test_the_provider_behind_the_gateway_is_well(client: httpx.AsyncClient) -> None:
    text = (await client.get("/gateway/metrics")).text
    health = (await client.get("/health")).json()

    assert figure(text, 'gateway_upstream_duration_seconds{quantile="0.95"}') < 0.3
    assert health == {"status": "degraded", "checkout": "slow", "database": "ok", "payment_provider": "ok"}


async def test_the_slow_report_says_where_the_time_went(client: httpx.AsyncClient) -> None:
    text = (await client.get("/slow")).text

    total, wait = (float(figure_) for figure_ in re.findall(r"trace 1: total=(\S+)s pool_wait=(\S+)s", text)[0])
    assert total > wait > 0.8 * total


async def test_with_its_pool_back_the_service_is_well_again(client: httpx.AsyncClient) -> None:
    before = (await client.get("/metrics")).text

    changed = await client.post("/gateway/config", json={"pool_size": CUT_FROM})

    after = (await client.get("/metrics")).text
    p95 = 'checkout_request_duration_seconds{quantile="0.95"}'
    assert changed.json()["pool_size"] == CUT_FROM
    assert figure(after, "gateway_pool_waiting") == 0
    assert figure(after, p95) < 0.5 < figure(before, p95)
    assert (await client.get("/health")).json()["status"] == "ok"
    assert "pool exhausted" not in (await client.get("/logs")).text


@pytest.mark.parametrize("body", [{}, {"pool_size": 0}, {"pool_size": True}, [1]])
async def test_a_wrong_setting_changes_nothing(client: httpx.AsyncClient, service: SickService, body: object) -> None:
    before = service.state

    response = await client.post("/gateway/config", json=body)

    assert response.status_code == 400
    assert service.state == before


async def test_every_request_is_logged_with_the_ids_that_it_carried(
    client: httpx.AsyncClient, service: SickService
) -> None:
    ids = {"X-Request-Id": "req-1", "Idempotency-Key": "key-1"}

    await client.get("/logs?limit=3", headers=ids)
    await client.post("/gateway/config", json={"pool_size": 65})
    await client.get("/nowhere")

    seen = [(visit.method, visit.path, visit.query, visit.status) for visit in service.visits]
    assert seen == [
        ("GET", "/logs", "limit=3", 200),
        ("POST", "/gateway/config", "", 200),
        ("GET", "/nowhere", "", 404),
    ]
    assert [(visit.request_id, visit.idempotency_key) for visit in service.visits] == [
        ("req-1", "key-1"),
        (None, None),
        (None, None),
    ]
    assert [visit.at for visit in service.visits] == sorted(visit.at for visit in service.visits)
    assert len(service.visits_of("/logs")) == 1


@pytest.fixture
async def stuck() -> AsyncIterator[SickService]:
    async with asyncio.timeout(LIMIT_SECONDS), SickService.running(slow_seconds=3600) as service:
        yield service


async def test_a_client_that_leaves_a_slow_request_is_noticed(stuck: SickService) -> None:
    async with httpx.AsyncClient(base_url=stuck.url, trust_env=False) as client:
        asking = asyncio.create_task(client.get("/slow"))
        await stuck.until(lambda visits: len(visits) == 1)
        left_before = stuck.visits[0].left

        asking.cancel()
        await stuck.until(any_left)

    assert not left_before
    assert stuck.visits[0].status is None


def any_left(visits: list[Visit]) -> bool:
    return any(visit.left for visit in visits)


async def test_slow_requests_do_not_hold_up_others(stuck: SickService) -> None:
    async with httpx.AsyncClient(base_url=stuck.url, trust_env=False) as client:
        asking = asyncio.create_task(client.post("/slow"))
        await stuck.until(lambda visits: len(visits) == 1)

        health = await client.get("/health")
        asking.cancel()

    assert health.status_code == 200


@pytest.mark.parametrize("size", [0, 1, 65_536, 3_000_000])
async def test_a_big_body_has_exactly_the_asked_size(client: httpx.AsyncClient, size: int) -> None:
    response = await client.get("/big", params={"bytes": size})

    assert len(response.content) == size


async def test_a_client_may_leave_in_the_middle_of_a_big_body(client: httpx.AsyncClient, service: SickService) -> None:
    async with client.stream("GET", "/big", params={"bytes": 200_000_000}) as response:
        first = await anext(response.aiter_bytes())

    await service.until(any_left)

    assert first


async def test_the_bodies_that_are_hard_on_a_client_are_hard(client: httpx.AsyncClient) -> None:
    nothing = await client.get("/nothing")
    raw = await client.get("/bytes")
    away = await client.get("/redirect")
    further = await client.get("/redirect", params={"to": "http://127.0.0.1:9/x"})

    assert (nothing.status_code, nothing.content) == (200, b"")
    assert b"\x00" in raw.content
    with pytest.raises(UnicodeDecodeError):
        raw.content.decode("utf-8")
    assert (away.status_code, away.headers["Location"]) == (302, "/health")
    assert further.headers["Location"] == "http://127.0.0.1:9/x"


async def test_the_facts_beside_the_demo_are_those_that_the_service_shows(
    client: httpx.AsyncClient, service: SickService
) -> None:
    told = dict(service.facts())

    text = (await client.get("/metrics")).text
    newest = (await client.get("/deploys")).json()[0]
    p95 = figure(text, 'checkout_request_duration_seconds{quantile="0.95"}')
    assert told["p95 of checkout"] == f"{p95:.3f} s"
    assert told["gateway pool"] == "64 of 64 in use"
    assert told["waiting for a connection"] == f"{figure(text, 'gateway_pool_waiting'):.0f}"
    assert told["last deploy"] == f"{newest['id']}, {newest['minutes_ago']} min ago: {newest['change']}"


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 300))
def test_whatever_the_seed_and_the_pool_the_figures_fit_together(seed: int, pool: int) -> None:
    state = Sickness(NOON, seed, pool)

    text = metrics_text(state)

    in_use, size = figure(text, "gateway_pool_in_use"), figure(text, "gateway_pool_size")
    assert in_use <= size == pool
    assert (figure(text, "gateway_pool_waiting") > 0) == (state.demand > pool)
    assert json.dumps(facts(state, NOON))


def test_before_the_deploy_the_log_knows_no_exhausted_pool() -> None:
    state = Sickness(NOON)

    lines = log_lines(state, NOON + timedelta(seconds=60), 40)

    warned = [line for line in lines if "exhausted" in line]
    assert warned
    assert min(warned) >= "2026-11-30T12:00:00Z"
    assert lines[0].startswith("2026-11-30T11:56:27Z INFO")


async def test_a_restart_heals_it_and_is_counted(service: SickService, client: httpx.AsyncClient) -> None:
    response = await client.post("/admin/restart", params={"service": "checkout"}, json={"reason": "slow"})

    assert (response.status_code, response.json()["restarted"]) == (200, "checkout")
    assert (service.restarts, service.state.pool_size, service.state.waiting) == (1, CUT_FROM, 0)
    assert (await client.get("/health")).json()["status"] == "ok"


async def test_a_restart_with_the_same_key_is_done_once_and_answered_alike(
    service: SickService, client: httpx.AsyncClient
) -> None:
    keyed = {"params": {"service": "checkout"}, "headers": {"Idempotency-Key": "req1"}}

    first, second = await client.post("/admin/restart", **keyed), await client.post("/admin/restart", **keyed)

    assert (service.restarts, first.json()) == (1, second.json())
    assert [visit.idempotency_key for visit in service.visits_of("/admin/restart")] == ["req1", "req1"]


async def test_two_keys_are_two_restarts(service: SickService, client: httpx.AsyncClient) -> None:
    for key in ("req1", "req2"):
        await client.post("/admin/restart", params={"service": "checkout"}, headers={"Idempotency-Key": key})

    assert service.restarts == 2


@pytest.mark.parametrize("service_name", ["", "database", "../checkout"])
async def test_a_service_that_does_not_run_here_is_not_restarted(
    service: SickService, client: httpx.AsyncClient, service_name: str
) -> None:
    response = await client.post("/admin/restart", params={"service": service_name})

    assert (response.status_code, service.restarts) == (404, 0)
