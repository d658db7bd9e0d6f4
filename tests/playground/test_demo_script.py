"""The demo's script against the sick service: what it reads, what it concludes, and how much time it leaves."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
import pytest

from bot.llm.provider import ModelRequest
from bot.llm.script import Pause, Send, beats, perform
from bot.llm.scripted import ScriptedProvider, load_script
from bot.playground.sick_service import SLOW_SECONDS, SickService
from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage

DEMO = Path(__file__).parents[2] / "bot" / "playground" / "scripts" / "demo.toml"
LIMIT_SECONDS = 20.0
QUESTION = "@ana: why is checkout slow?"


@dataclass
class Investigation:
    """A turn loop of the simplest kind: model, calls, model, until there is an answer."""

    model: ScriptedProvider
    sick_url: str
    messages: list[Message] = field(default_factory=list)

    async def round(self, client: httpx.AsyncClient) -> AssistantMessage:
        request = ModelRequest("demo", "", tuple(self.messages), ())
        async with self.model.stream(request) as stream:
            message = (await stream.reply()).message
        self.messages.append(message)
        answers = await asyncio.gather(*(self.made(client, call) for call in message.calls))
        for call, answer in zip(message.calls, answers, strict=True):
            self.messages.append(ToolResult(call.id, call.name, f"HTTP {answer.status_code}\n\n{answer.text}"))
        return message

    async def made(self, client: httpx.AsyncClient, call: ToolCall) -> httpx.Response:
        """Make a call as the demo's tools do: the one action as a POST, everything else as it says."""
        if call.name != "restart_service":
            return await client.get(str(call.arguments["url"]))
        service = {"service": str(call.arguments["service"])}
        return await client.post(f"{self.sick_url}/admin/restart", params=service, json=dict(call.arguments))

    async def answer(self, *asked: str) -> str:
        self.messages += map(UserMessage, asked)
        async with asyncio.timeout(LIMIT_SECONDS), httpx.AsyncClient(trust_env=False) as client:
            message = await self.round(client)
            while message.calls:
                message = await self.round(client)
        return message.text


def investigation(service: SickService) -> Investigation:
    ids = count()
    variables = {"SICK_URL": service.url}
    return Investigation(
        ScriptedProvider(load_script(DEMO), lambda: f"call{next(ids):05d}", variables, pace=0), service.url
    )


def paths(service: SickService) -> list[str]:
    return [visit.path for visit in service.visits]


@pytest.mark.parametrize("seed", [0, 5, 123])
async def test_the_answer_quotes_the_figures_of_the_service_as_it_is_now(seed: int) -> None:
    async with SickService.running(seed=seed, slow_seconds=0) as service:
        answer = await investigation(service).answer(QUESTION)
        facts = dict(service.facts())

    figures = re.findall(r"\d+\.\d{3}", facts["p95 of checkout"] + facts["p95 of the payment provider"])
    deploy, minutes = re.findall(r"d-\d+|\d+(?= min)", facts["last deploy"])
    assert len(figures) == 2
    assert all(quoted in answer for quoted in [*figures, deploy, f"{minutes} minutes", "256 -> 64"])
    assert f"now {facts['waiting for a connection']}" in answer
    assert "(not found)" not in answer


def test_the_script_itself_holds_no_figure_of_the_incident() -> None:
    script = load_script(DEMO)

    written = [re.sub(r"\{\{.*?\}\}(?!\})", "", round_.say) for play in script.plays for round_ in play.rounds]

    assert not [text for text in written if re.search(r"\b(64|256|d-\d+)\b|\d+\.\d{3}", text)]


async def test_the_investigation_reads_in_parallel_first_and_then_goes_deeper() -> None:
    async with SickService.running(slow_seconds=0) as service:
        work = investigation(service)
        await work.answer(QUESTION)
        seen = paths(service)

    calls = [len(message.calls) for message in work.messages if isinstance(message, AssistantMessage)]
    assert calls == [3, 1, 2, 0]
    assert set(seen[:3]) == {"/metrics", "/logs", "/deploys"}
    assert (seen[3], set(seen[4:])) == ("/slow", {"/gateway/config", "/gateway/metrics"})


async def test_the_answer_has_the_parts_that_an_answer_has_and_names_every_step() -> None:
    async with SickService.running(slow_seconds=0) as service:
        answer = await investigation(service).answer(QUESTION)

    heads = re.findall(r"^\*\*(.+?)\*\*", answer, re.MULTILINE)
    assert heads == ["Verdict:", "Confidence:", "Evidence", "Ruled out", "Next steps"]
    assert {int(step) for step in re.findall(r"step (\d)", answer)} == {1, 2, 3, 4, 5, 6}


async def test_a_hint_about_the_gateway_changes_the_course() -> None:
    async with SickService.running(slow_seconds=0) as service:
        answer = await investigation(service).answer(QUESTION, "@ben: check the Gateway first")
        seen = paths(service)

    assert set(seen[:2]) == {"/gateway/metrics", "/gateway/config"}
    assert answer.startswith("**Verdict:** yes, it is the gateway client")
    assert "(not found)" not in answer


async def test_an_order_to_restart_looks_first_then_asks_for_the_restart_and_then_says_what_came_of_it() -> None:
    async with SickService.running(slow_seconds=0) as service:
        work = investigation(service)
        await work.answer(QUESTION)
        answer = await work.answer("@ana: restart checkout")
        seen, restarts = paths(service)[-5:], service.restarts

    assert set(seen[:2]) == {"/gateway/config", "/gateway/metrics"}
    assert (seen[2], set(seen[3:]), restarts) == ("/admin/restart", {"/health", "/metrics"}, 1)
    assert '"restarted": "checkout"' in answer
    assert "**Now:** checkout calls itself ok" in answer
    assert "(not found)" not in answer


async def test_a_restart_that_was_refused_is_told_as_refused() -> None:
    refused = "not started: a person was asked and said no."
    async with SickService.running(slow_seconds=0) as service:
        work = investigation(service)
        work.messages.append(UserMessage("restart checkout"))
        async with httpx.AsyncClient(trust_env=False) as client:
            await work.round(client)
            await work.round(client)
            work.messages[-1] = ToolResult(work.messages[-1].call_id, "restart_service", refused)
            await work.round(client)
            told = await work.round(client)

    assert refused in told.text


@pytest.mark.parametrize("text", ["thanks!", "and now?", "@ben: what about the database"])
async def test_any_other_message_gets_an_answer_about_the_state_now(text: str) -> None:
    async with SickService.running(slow_seconds=0) as service:
        work = investigation(service)
        await work.answer(QUESTION)
        answer = await work.answer(text)

    assert "**Right now:** the service calls itself degraded" in answer
    assert "(not found)" not in answer


async def test_a_read_that_failed_is_not_quoted_from_memory() -> None:
    nobody = "http://127.0.0.1:9"
    script, failed = load_script(DEMO), "failed: connection refused"
    calls = tuple(ToolResult(f"call{number}", "http_get", failed) for number in range(3))
    model = ScriptedProvider(script, lambda: "aaaaaaaaa", {"SICK_URL": nobody}, pace=0)
    spoken = AssistantMessage("")
    asked: tuple[Message, ...] = (UserMessage(QUESTION), spoken, *calls, spoken, spoken)

    async with model.stream(ModelRequest("demo", "", asked, ())) as stream:
        reply = await stream.reply()

    assert reply.message.text.count("(not found)") > 10
    assert not re.search(r"\d\.\d{3}", reply.message.text)


def delay_of(play: int, wanted: Callable[[int], bool]) -> float:
    rounds = load_script(DEMO).plays[play].rounds
    chosen = [round_ for number, round_ in enumerate(rounds) if wanted(number)]
    waits = 0
    for round_ in chosen:
        waits += round_.first_ms + round_.chunk_ms * (round_.chunks - 1)
    return waits / 1000


def test_a_person_has_ten_seconds_before_the_answer_begins_to_come() -> None:
    before_answer = delay_of(2, lambda number: number < 3) + SLOW_SECONDS

    assert 9 <= before_answer <= 15
    assert 12 <= delay_of(2, lambda _: True) + SLOW_SECONDS <= 20


def test_the_delays_that_were_counted_are_those_that_are_played() -> None:
    script = load_script(DEMO)
    performance = perform(script, [], {})

    played = list(beats(performance, None))

    waits = sum(beat.ms for beat in played if isinstance(beat, Pause))
    pieces = sum(isinstance(beat, Send) and isinstance(beat.piece, str) for beat in played)
    assert pieces == performance.round.chunks
    assert waits >= delay_of(3, lambda number: number == 0) * 1000
