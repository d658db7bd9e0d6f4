"""The bot's own port, spoken to over HTTP."""

import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.rules.terms import Verdict
from tests.api.conftest import TOKEN
from tests.storage.desk import ts

STOP = {"kind": "stop"}


def numbers(text):
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_a_stop_reaches_the_worker_and_the_record_names_the_operator(desk, caller):
    claimed = await desk.is_asked()

    status, body, _ = await caller.send(claimed.claim.run_id, {**STOP, "reason": "too loud"})

    assert (status, body["result"], body["scope"]) == (200, "stopping", "family")
    (asked,) = await desk.rows("select id, kind, source, requested_by, scope, reason from interrupts")
    assert tuple(asked) == (body["interrupt_id"], "stop", "api", "operator", "family", "too loud")


async def test_a_stop_settles_a_run_with_every_worker_down(desk, caller):
    await desk.says("ana", "why?", mention=True)

    status, body, _ = await caller.send((await desk.run()).id, STOP)

    assert (status, body["result"]) == (200, "stopped")
    assert await desk.states() == ["stopped"]


async def test_a_pause_parks_a_run(desk, caller):
    await desk.says("ana", "why?", mention=True)

    _, body, _ = await caller.send((await desk.run()).id, {"kind": "pause", "scope": "run"})

    assert (body["result"], body["scope"]) == ("paused", "run")
    assert await desk.states() == ["parked"]


@pytest.mark.parametrize("named", [{"header": "deploy-17"}, {"body": "deploy-17"}])
async def test_a_named_request_counts_once_however_often_it_is_sent(desk, caller, named):
    claimed = await desk.is_asked()
    body = {**STOP, **({"id": named["body"]} if "body" in named else {})}
    headers = {"Idempotency_Key": named["header"]} if "header" in named else {}

    answers = [await caller.send(claimed.claim.run_id, body, **headers) for _ in range(3)]

    assert {(status, said["result"], said["interrupt_id"]) for status, said, _ in answers} == {
        (200, "stopping", answers[0][1]["interrupt_id"])
    }
    assert await desk.value("select count(*) from interrupts") == 1


async def test_a_repeat_does_not_stop_what_was_asked_for_afterwards(desk, caller):
    claimed = await desk.is_asked()
    await caller.send(claimed.claim.run_id, STOP, Idempotency_Key="deploy-17")
    await desk.ends_hung_stops(-1)
    await desk.is_asked("and now?", at=ts(9_999_999_999))

    _, body, _ = await caller.send(claimed.claim.run_id, STOP, Idempotency_Key="deploy-17")

    assert body["result"] == "stopped"
    assert await desk.states() == ["stopped", "running"]


async def test_one_name_for_two_different_requests_is_a_conflict(desk, caller):
    claimed = await desk.is_asked()
    await caller.send(claimed.claim.run_id, STOP, Idempotency_Key="deploy-17")

    status, body, _ = await caller.send(claimed.claim.run_id, {"kind": "pause"}, Idempotency_Key="deploy-17")

    assert (status, body["error"]["code"]) == (409, "key_used")


async def test_a_run_that_nobody_knows_is_not_found(caller):
    status, body, _ = await caller.send("no-such-run", STOP)

    assert (status, body["error"]["code"]) == (404, "no_such_run")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "not_json"),
        (b"stop", "not_json"),
        (b"\xff\xfe{", "not_json"),
        (b"[" * 5000, "not_json"),
        (b'"stop"', "not_an_object"),
        (b"[]", "not_an_object"),
        (b"{}", "kind_missing"),
        (b'{"kind": "explode"}', "bad_kind"),
        (b'{"kind": "steer"}', "bad_kind"),
        (b'{"kind": null}', "bad_kind"),
        (b'{"kind": ["stop"]}', "bad_kind"),
        (b'{"kind": "stop", "scope": "world"}', "bad_scope"),
        (b'{"kind": "stop", "force": true}', "unknown_field"),
        (b'{"kind": "stop", "reason": 7}', "bad_text"),
        (b'{"kind": "stop", "reason": "a\\u0000b"}', "bad_text"),
        (b'{"kind": "stop", "id": ""}', "empty_key"),
        (b'{"kind": "stop", "id": 7}', "bad_text"),
        (json.dumps({"kind": "stop", "id": "x" * 201}).encode(), "bad_text"),
    ],
)
async def test_a_body_that_asks_for_nothing_we_know_is_refused_with_a_clear_line(desk, caller, body, code):
    claimed = await desk.is_asked()

    status, said, _ = await caller.send(claimed.claim.run_id, raw_body=body)

    assert (status, said["error"]["code"]) == (400, code)
    assert said["error"]["message"].endswith(".")
    assert await desk.states() == ["running"]


async def test_two_names_for_one_request_are_refused(caller):
    status, body, _ = await caller.send("r1", {**STOP, "id": "one"}, Idempotency_Key="another")

    assert (status, body["error"]["code"]) == (400, "two_keys")


async def test_a_body_that_is_too_long_is_refused(caller):
    status, body, _ = await caller.send("r1", {**STOP, "reason": "x" * 100_000})

    assert (status, "too long" in body["error"]["message"]) == (413, True)


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "tökén"])
async def test_without_the_token_nothing_is_done_and_nothing_is_told(desk, caller, token):
    claimed = await desk.is_asked()

    status, body, headers = await caller.send(claimed.claim.run_id, STOP, token=token)

    assert (status, body["error"]["code"], headers["WWW-Authenticate"]) == (401, "not_allowed", "Bearer")
    assert TOKEN not in json.dumps(body)
    assert await desk.states() == ["running"]


async def test_another_way_to_say_who_one_is_is_not_the_token(caller):
    status, _, _ = await caller.send("r1", STOP, token=None, Authorization=f"Basic {TOKEN}")

    assert status == 401


async def test_where_no_token_is_set_no_order_is_taken_whatever_is_sent(desk, calls):
    claimed = await desk.is_asked()
    caller = await calls(desk.database, desk.means, token=None)

    status, body, _ = await caller.send(claimed.claim.run_id, STOP)

    assert (status, body["error"]["code"]) == (403, "orders_are_off")
    assert "STEERSMAN_API_TOKEN" in body["error"]["message"]
    assert await desk.states() == ["running"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 404), ("GET", "/v1/runs", 404), ("POST", "/metrics", 405), ("GET", "/v1/runs/r1/interrupts", 405)],
)
async def test_what_is_not_there_is_refused_in_the_same_form(caller, method, path, status):
    answered, text, _ = await caller.get(path, method)

    assert answered == status
    assert json.loads(text)["error"]["message"].endswith(".")


async def test_it_is_alive_and_ready(caller):
    health, ready = await caller.get("/healthz"), await caller.get("/readyz")

    assert (health[0], json.loads(health[1])) == (200, {"status": "ok"})
    assert (ready[0], json.loads(ready[1])["database"]) == (200, "ok")


async def test_while_the_database_is_away_it_is_alive_and_not_ready(nobody_home):
    health, ready = await nobody_home.get("/healthz"), await nobody_home.get("/readyz")

    assert (health[0], ready[0]) == (200, 503)
    assert json.loads(ready[1])["database"] == "away"


async def test_while_the_database_is_away_an_order_may_be_sent_again(nobody_home):
    status, body, headers = await nobody_home.send("r1", {**STOP, "id": "deploy-17"})

    assert (status, body["error"]["code"], headers["Retry-After"]) == (503, "database_away", "5")


async def test_the_metrics_say_what_stands_in_the_rows(desk, caller, counted):
    claimed = await desk.is_asked()
    await caller.send(claimed.claim.run_id, STOP)

    _, text, headers = await caller.get("/metrics")

    found = numbers(text)
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert found["steersman_stops_total", "api"] == 1
    assert found["steersman_stops_total", "button"] == 0
    assert found["steersman_runs_live", "cancelling"] == 1
    assert (found["steersman_halted",], found["steersman_database_up",]) == (0, 1)


async def test_the_metrics_say_what_the_process_counted_even_while_the_database_is_away(nobody_home, counted):
    counted.late_results.inc()

    status, text, _ = await nobody_home.get("/metrics")

    found = numbers(text)
    assert (status, found["steersman_late_results_total",], found["steersman_database_up",]) == (200, 1, 0)


async def test_no_text_of_a_person_stands_in_the_metrics(desk, caller, counted):
    receipt = await desk.says("ana", "planted-words-of-ana", mention=True)

    _, text, _ = await caller.get("/metrics")

    assert receipt.verdict is Verdict.START
    assert "planted" not in text
    assert "ana" not in text
