"""The local model server over real HTTP: both dialects, its refusals, faults, gates and log."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import httpx
import pytest
from httpx_sse import ServerSentEvent, aconnect_sse

from bot.llm.script import Call, Fault, FaultKind, Gate, Play, Round, Script
from bot.playground.model_server import ModelServer

KEY = "key-of-the-demo"
LIMIT_SECONDS = 5.0
DIALECTS = ("openai", "anthropic")
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
HEADERS = {
    "openai": {"Authorization": f"Bearer {KEY}"},
    "anthropic": {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
}
TOOLS: dict[str, dict[str, object]] = {
    "openai": {"type": "function", "function": {"name": "http_get", "parameters": {"type": "object"}}},
    "anthropic": {"name": "http_get", "input_schema": {"type": "object"}},
}
READ = Call("http_get", {"url": "{{var URL}}/metrics"})


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=LIMIT_SECONDS) as client:
        yield client


@pytest.fixture(autouse=True)
async def _limit() -> AsyncIterator[None]:
    async with asyncio.timeout(4 * LIMIT_SECONDS):
        yield


def server_of(*rounds: Round) -> AbstractAsyncContextManager[ModelServer]:
    return ModelServer.running(Script((Play("", rounds),)), KEY, variables={"URL": "http://sick"})


def body_of(dialect: str, messages: list[dict[str, object]] | None = None, **fields: object) -> dict[str, object]:
    own: dict[str, object] = {"stream_options": {"include_usage": True}} if dialect == "openai" else {"max_tokens": 99}
    asked = messages or [{"role": "user", "content": "why?"}]
    return {"model": "scripted", "stream": True, "messages": asked, "tools": [TOOLS[dialect]], **own, **fields}


async def ask(
    client: httpx.AsyncClient, server: ModelServer, dialect: str, body: dict[str, object] | None = None
) -> list[ServerSentEvent]:
    url, whole = server.url + PATHS[dialect], body or body_of(dialect)
    async with aconnect_sse(client, "POST", url, headers=HEADERS[dialect], json=whole) as source:
        return [event async for event in source.aiter_sse()]


async def refused(
    client: httpx.AsyncClient, server: ModelServer, dialect: str, body: dict[str, object] | None = None, **headers: str
) -> httpx.Response:
    sent = {**HEADERS[dialect], **headers}
    return await client.post(server.url + PATHS[dialect], headers=sent, json=body or body_of(dialect))


def chunks_of(events: list[ServerSentEvent]) -> list[dict[str, object]]:
    return [json.loads(event.data) for event in events if event.data != "[DONE]"]


async def test_a_chat_completion_is_streamed_as_openai_streams_it(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="Reading it.", calls=(READ, READ), chunks=2)) as server:
        events = await ask(client, server, "openai")

    choices = [chunk["choices"][0] for chunk in chunks_of(events) if chunk["choices"]]  # type: ignore[index]
    deltas = [choice["delta"] for choice in choices]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    arguments = ["".join(call["function"]["arguments"] for call in calls if call["index"] == at) for at in (0, 1)]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Reading it."
    assert [(call["index"], call["id"], call["function"]["name"]) for call in calls if "id" in call] == [
        (0, "call_1_0", "http_get"),
        (1, "call_1_1", "http_get"),
    ]
    assert list(map(json.loads, arguments)) == [{"url": "http://sick/metrics"}] * 2
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["tool_calls"]
    assert events[-1].data == "[DONE]"


async def test_a_message_is_streamed_as_anthropic_streams_it(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="Reading it.", calls=(READ,), chunks=2)) as server:
        events = await ask(client, server, "anthropic")

    text, call = ["content_block_delta"] * 2, ["content_block_delta"] * 3
    assert [event.event for event in events] == [
        *("message_start", "ping"),
        *("content_block_start", *text, "content_block_stop"),
        *("content_block_start", *call, "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    assert [chunk["type"] for chunk in chunks_of(events)] == [event.event for event in events]
    said = [chunk["delta"] for chunk in chunks_of(events) if chunk["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in said) == "Reading it."  # type: ignore[attr-defined]
    joined = "".join(delta.get("partial_json", "") for delta in said)  # type: ignore[attr-defined]
    assert json.loads(joined) == {"url": "http://sick/metrics"}
    assert chunks_of(events)[-2]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}


async def test_both_dialects_count_the_same_tokens(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="y" * 80)) as server:
        openai = chunks_of(await ask(client, server, "openai", body_of("openai", tools=None)))
        anthropic = chunks_of(await ask(client, server, "anthropic", body_of("anthropic", tools=None)))

    asked = openai[-1]["usage"]["prompt_tokens"]  # type: ignore[index]
    assert openai[-1]["usage"] == {"prompt_tokens": asked, "completion_tokens": 20, "total_tokens": asked + 20}
    assert asked > 0
    assert anthropic[0]["message"]["usage"]["input_tokens"] == asked  # type: ignore[index]
    assert anthropic[-2]["usage"] == {"output_tokens": 20}


async def test_openai_usage_is_sent_only_to_those_who_ask(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="x")) as server:
        events = await ask(client, server, "openai", body_of("openai", stream_options=None))

    assert all("usage" not in chunk for chunk in chunks_of(events))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_results_that_are_sent_back_bring_the_next_round(client: httpx.AsyncClient, dialect: str) -> None:
    results: dict[str, list[dict[str, object]]] = {
        "openai": [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "http_get", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "p95 4.8 s"},
        ],
        "anthropic": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "http_get", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [
                {"type": "text", "text": "p95 4.8 s"}]}]},
        ],
    }  # fmt: skip
    messages: list[dict[str, object]] = [{"role": "user", "content": "why?"}, *results[dialect]]

    async with server_of(Round(calls=(READ,)), Round(say="{{user}} {{find p95 (.*)}}")) as server:
        events = await ask(client, server, dialect, body_of(dialect, messages))
        place = server.requests[0].place

    assert "why? 4.8 s" in "".join(event.data for event in events)
    assert place == "play 1, round 2"


async def test_a_steer_beside_the_results_of_an_anthropic_message_is_the_newest_user_message(
    client: httpx.AsyncClient,
) -> None:
    script = Script((Play("gateway", (Round(say="on it"),)), Play("", (Round(say="old"), Round(say="older")))))
    result = {"type": "tool_result", "tool_use_id": "a", "content": "r"}
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "http_get", "input": {}}]},
        {"role": "user", "content": [result, {"type": "text", "text": "@ben: look at the gateway"}]},
    ]

    async with ModelServer.running(script, KEY) as server:
        await ask(client, server, "anthropic", body_of("anthropic", messages))
        place = server.requests[0].place

    assert place == "play 1, round 1"


UNPAIRED: dict[str, list[dict[str, object]]] = {
    "openai": [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "a", "content": "r"}],
    "anthropic": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]}],
}
KINDS = {
    "openai": {400: "invalid_request_error", 401: "invalid_request_error", 404: "invalid_request_error"},
    "anthropic": {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"},
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("status", "rule", "fields"),
    [
        (400, None, {"messages": UNPAIRED}),
        (400, "stream", {"stream": False}),
        (404, "model", {"model": "other"}),
        (401, "key", {}),
    ],
)
async def test_a_wrong_request_is_refused_in_the_words_of_its_dialect(
    client: httpx.AsyncClient, dialect: str, status: int, rule: str | None, fields: dict[str, object]
) -> None:
    body = {**body_of(dialect), **fields, **({"messages": UNPAIRED[dialect]} if "messages" in fields else {})}
    wrong_key = {"Authorization": "Bearer no", "x-api-key": "no"} if status == 401 else {}

    async with server_of(Round(say="x")) as server:
        response = await refused(client, server, dialect, body, **wrong_key)
        logged = server.requests[0]

    assert (response.status_code, logged.status) == (status, status)
    assert logged.broken_rule == (rule or {"openai": "C03", "anthropic": "A03"}[dialect])
    assert response.json()["error"]["type"] == KINDS[dialect][status]
    assert (response.json().get("type") == "error") == (dialect == "anthropic")


async def test_anthropic_wants_its_version_named(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="x")) as server:
        response = await client.post(
            server.url + PATHS["anthropic"], headers={"x-api-key": KEY}, json=body_of("anthropic")
        )

    assert response.status_code == 400
    assert "anthropic-version" in response.json()["error"]["message"]


async def test_a_body_that_is_no_json_is_refused_and_not_a_crash(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="x")) as server:
        response = await client.post(server.url + PATHS["openai"], headers=HEADERS["openai"], content=b"\xff{")

    assert response.status_code == 400
    assert "JSON" in response.json()["error"]["message"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
async def test_a_scripted_status_is_answered_with_its_body(
    client: httpx.AsyncClient, dialect: str, status: int
) -> None:
    fault = Fault(FaultKind.STATUS, status=status, retry_after=1.5)

    async with server_of(Round(fault=fault)) as server:
        response = await refused(client, server, dialect)

    assert (response.status_code, response.headers["Retry-After"]) == (status, "1.5")
    assert response.json()["error"]["message"] == f"the script answers {status}"


async def test_a_fault_that_happens_once_is_gone_when_asked_again(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="well", fault=Fault(FaultKind.STATUS, status=529, times=1))) as server:
        first = await refused(client, server, "openai")
        second = await refused(client, server, "openai")

    assert (first.status_code, second.status_code) == (529, 200)


PROPER_ENDS = ("[DONE]", "message_stop")


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_stream_that_ends_early_ends_cleanly_without_its_proper_end(
    client: httpx.AsyncClient, dialect: str
) -> None:
    async with server_of(Round(say="ab", calls=(READ,), fault=Fault(FaultKind.ENDS_EARLY))) as server:
        events = await ask(client, server, dialect)
        logged = server.requests[0]

    assert not any(end in event.data for event in events for end in PROPER_ENDS)
    assert (logged.chunks_sent, logged.left_at) == (2, None)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_reset_breaks_the_connection(client: httpx.AsyncClient, dialect: str) -> None:
    async with server_of(Round(say="ab", fault=Fault(FaultKind.RESET))) as server:
        with pytest.raises(httpx.TransportError):
            await ask(client, server, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_error_in_the_stream_comes_with_status_200(client: httpx.AsyncClient, dialect: str) -> None:
    fault = Fault(FaultKind.ERROR_IN_STREAM, after=1)

    async with server_of(Round(say="ab", chunks=2, fault=fault)) as server:
        events = await ask(client, server, dialect)
        logged = server.requests[0]

    assert "error" in chunks_of(events)[-1]
    assert (events[-1].event == "error") == (dialect == "anthropic")
    assert (logged.status, logged.chunks_sent) == (200, 1)


@pytest.mark.parametrize(("dialect", "ended"), [("openai", "length"), ("anthropic", "max_tokens")])
async def test_at_the_limit_the_last_call_is_half_and_the_end_says_so(
    client: httpx.AsyncClient, dialect: str, ended: str
) -> None:
    async with server_of(Round(calls=(READ,), fault=Fault(FaultKind.MAX_TOKENS))) as server:
        events = await ask(client, server, dialect)

    whole = "".join(event.data for event in events)
    assert f'"{ended}"' in whole
    assert "http_get" in whole
    assert "metrics" not in whole


@pytest.mark.parametrize(("dialect", "ended"), [("openai", '"stop"'), ("anthropic", '"end_turn"')])
async def test_an_empty_message_has_its_proper_end_and_nothing_else(
    client: httpx.AsyncClient, dialect: str, ended: str
) -> None:
    async with server_of(Round(say="unused", fault=Fault(FaultKind.EMPTY))) as server:
        events = await ask(client, server, dialect)

    whole = "".join(event.data for event in events)
    assert ended in whole
    assert "unused" not in whole
    assert "content_block" not in whole


@pytest.mark.parametrize("fault", [Fault(FaultKind.HANG), None])
async def test_a_client_that_leaves_is_noticed_at_once_and_gets_nothing_more(
    client: httpx.AsyncClient, fault: Fault | None
) -> None:
    gate = Gate("middle", "chunk:2" if fault is None else "chunk:1")
    async with server_of(Round(say="abc", chunks=3, fault=fault, gate=gate)) as server:
        url, body = server.url + PATHS["openai"], body_of("openai")
        async with client.stream("POST", url, headers=HEADERS["openai"], json=body):
            await server.gate_reached("middle")
            if fault:
                server.open_gate("middle")
            leaving = asyncio.get_running_loop().time()

        logged = await server.received(1)
        await logged.ended.wait()

    assert logged.left_at is not None
    assert 0 <= logged.left_at - leaving < 1
    assert logged.chunks_sent == (0 if fault else 1)


async def test_before_the_first_chunk_not_even_a_header_is_sent(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="x", gate=Gate("g", "before_first_chunk"))) as server:
        asking = asyncio.create_task(ask(client, server, "anthropic"))
        await server.gate_reached("g")
        status = server.requests[0].status

        server.open_gate("g")
        events = await asking

    assert status is None
    assert events[-1].event == "message_stop"


async def test_waiting_for_two_messages_at_a_gate_is_not_over_after_one(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="abc", gate=Gate("g", "before_end"))) as server:
        asking = [asyncio.create_task(ask(client, server, "openai"))]
        await server.gate_reached("g")

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(server.gate_reached("g", times=2), 0.02)
        asking.append(asyncio.create_task(ask(client, server, "anthropic")))
        await server.gate_reached("g", times=2)
        server.open_gate("g")

        ended = await asyncio.gather(*asking)
    assert [events[-1].data[:6] for events in ended] == ["[DONE]", '{"type']


async def test_another_process_can_wait_at_gates_open_them_and_read_the_log(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="abc", gate=Gate("g", "before_end"))) as server:
        control = server.url + "/_control"
        asking = asyncio.create_task(ask(client, server, "openai"))
        reached = await client.get(f"{control}/gates/g/reached?times=1")
        opened = await client.post(f"{control}/gates/g/open")
        await asking

        listed = await client.get(f"{control}/gates")
        log = (await client.get(f"{control}/requests")).json()

    assert reached.json() == {"g": {"reached": 1, "open": False}}
    assert opened.json() == listed.json() == {"g": {"reached": 1, "open": True}}
    assert [entry["messages"] for entry in log] == [[{"role": "user", "content": "why?"}]]
    assert {key: log[0][key] for key in ("dialect", "model", "status", "chunks_sent", "left_at")} == {
        "dialect": "openai", "model": "scripted", "status": 200, "chunks_sent": 1, "left_at": None,
    }  # fmt: skip
    assert log[0]["at"] <= log[0]["ended_at"]


async def test_the_script_can_be_changed_while_the_server_runs(client: httpx.AsyncClient) -> None:
    async with server_of(Round(say="first")) as server:
        await ask(client, server, "openai")
        server.follow(Script((Play("", (Round(say="second"),)),)))
        events = await ask(client, server, "openai")

    assert "second" in "".join(event.data for event in events)


async def test_a_server_with_a_hanging_answer_closes_at_once(client: httpx.AsyncClient) -> None:
    clock = asyncio.get_running_loop().time
    async with server_of(Round(fault=Fault(FaultKind.HANG))) as server:
        asking = asyncio.create_task(ask(client, server, "openai"))
        await server.received(1)
        before = clock()

    await asyncio.gather(asking, return_exceptions=True)

    assert clock() - before < LIMIT_SECONDS
