"""Plays a field report on the stage: its events as Slack would send them, its model's messages, its tools as targets.

Names of the report become names of the playground. Its times give the order; the tests wait on barriers.
"""

import json
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from bot.llm.script import Call, Play, Round, Script
from bot.playground import delivery
from bot.playground.cast import TEAM
from bot.playground.workspace import Message
from tests.stories.stage import WITHIN_S, Stage, Thread

CASES = Path(__file__).parents[2] / "cases" / "field_reports.jsonl"
NAMES = {"U0SELF": "UBOT", "U0BOB": "U0BEN", "C0INC": "C0INCIDENTS", "T0HOME": TEAM}
FOUND = "That is what I found."


class ReportClock:
    """Slack's clock: it jumps to the time of each event, and creeps in between so that no click is as old as it."""

    def __init__(self) -> None:
        self._at, self._since = 1_790_000_000.0, time.monotonic()

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self._at + (time.monotonic() - self._since) / 100

    def jump(self, ts: str) -> None:
        """Go on to the time of a message; never back."""
        self._at, self._since = max(self(), float(ts)), time.monotonic()


class Replay:
    """One report on a stage."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage = stage
        lines = CASES.read_text("utf-8").splitlines()
        (found,) = [line for line in lines if json.loads(line)["id"] == name]
        for theirs, ours in NAMES.items():
            found = found.replace(theirs, ours)
        self.given = json.loads(found)["given"]

    def all_of(self, kind: str) -> list:
        """What is given of one kind, in order: slack_event, llm, tool, variant."""
        return [step[kind] for step in self.given if kind in step]

    def rounds(self, last: str = FOUND) -> tuple[Round, ...]:
        """The model's messages of the report; `last` is said after those where they end with calls."""
        rounds = [_round(said) for said in self.all_of("llm")]
        return tuple(rounds) if rounds and not rounds[-1].calls else (*rounds, Round(last))

    def follow(self, *others: Play, rounds: tuple[Round, ...] = ()) -> None:
        """Have the model say what the report says, after the plays for later messages."""
        self.stage.model.follow(Script((*others, Play("", rounds or self.rounds()))))

    def event(self, event_id: str, nth: int = 0) -> dict:
        """An event of the report, the nth delivery of it."""
        found = [each for each in self.all_of("slack_event") if each["event_id"] == event_id]
        return dict(found[nth]["event"])

    def send(self, event_id: str, nth: int = 0, **changes):
        """Deliver an event of the report under the id it has there; Slack itself then holds what it tells of."""
        event = {**self.event(event_id, nth), **changes}
        self.stage.slack.options.clock.jump(event["ts"])
        self._write_down(event)
        payload = delivery.event_callback(self.stage.slack.workspace, event) | {"event_id": event_id}
        return self.stage.slack.socket_mode.offer("events_api", payload)

    async def tell(self, event_id: str, nth: int = 0, **changes):
        """Deliver an event and wait until it is acknowledged."""
        envelope = self.send(event_id, nth, **changes)
        assert await envelope.acked(WITHIN_S)
        return envelope

    async def ask(self, event_id: str = "Ev001", **changes) -> Thread:
        """Deliver the question of a thread, and give the thread."""
        await self.tell(event_id, **changes)
        return self.thread(event_id)

    def thread(self, event_id: str = "Ev001") -> Thread:
        """The thread that an event belongs to."""
        event = self.event(event_id)
        return Thread(self.stage, event["channel"], event.get("thread_ts") or event["ts"])

    def _write_down(self, event: dict) -> None:
        workspace = self.stage.slack.workspace
        if event.get("subtype") == "message_deleted":
            workspace.remove(workspace.message(event["channel"], event["deleted_ts"]))
        elif event.get("subtype") is None and (event["channel"], event["ts"]) not in workspace.messages:
            text, thread_ts = event["text"], event.get("thread_ts")
            workspace.add(Message(event["channel"], event["ts"], event["user"], text, thread_ts=thread_ts))


def gated(rounds: tuple[Round, ...], at: int, gate) -> tuple[Round, ...]:
    """The same messages, with a barrier in one of them; its text then comes in four pieces."""
    return tuple(replace(each, gate=gate, chunks=4) if n == at else each for n, each in enumerate(rounds))


def sent(stage: Stage, nth: int = -1) -> str:
    """What the model was sent in a request."""
    return json.dumps(stage.model.requests[nth].messages, ensure_ascii=False)


def refused(stage: Stage) -> list[str]:
    """What the model service had to say against the requests."""
    return [each.broken_rule for each in stage.model.requests if each.broken_rule]


async def outcomes(stage: Stage) -> list[str]:
    """How the calls ended, in the model's order; `open` for one that has not."""
    rows = await stage.reader.fetch(
        "select coalesce(c.outcome, 'open') as outcome from tool_calls c join runs r on r.id = c.run_id"
        " order by r.seq, c.round, c.position"
    )
    return [row["outcome"] for row in rows]


async def stored(stage: Stage, count: int) -> None:
    """Wait until so many results are in the history."""
    wanted = "select count(*) >= $1 from events where kind = 'tool_result'"
    await stage.until(lambda: stage.reader.fetchval(wanted, count))


async def noted(stage: Stage, count: int) -> None:
    """Wait until so many messages of people are in the inbox."""
    await stage.until(lambda: stage.reader.fetchval("select count(*) >= $1 from inbox", count))


def _round(said: dict) -> Round:
    return Round(said.get("text", ""), tuple(_call(each) for each in said.get("calls", ())))


def _call(call: dict) -> Call:
    if call["name"] == "http_get":
        return Call("http_get", dict(call["args"]))
    path = "/".join(quote(str(part), safe="") for part in (call["name"], *call["args"].values()))
    return Call("http_get", {"url": f"{{{{var TARGET}}}}/gate/{path}"})
