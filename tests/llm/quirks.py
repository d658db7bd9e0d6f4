"""The stream quirks as cases, and what a reply has to be for each.

The bodies are served by a real server; see tests/cases/stream_quirks.jsonl.
"""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bot.errors import ModelError
from bot.llm.provider import ModelReply, ModelRequest, Provider
from bot.rules.messages import UserMessage

CASES = Path(__file__).parent.parent / "cases" / "stream_quirks.jsonl"
REQUEST = ModelRequest("m", "be brief", (UserMessage("hi"),), ())


@dataclass(frozen=True)
class Quirk:
    """One way in which a service streams."""

    id: str
    body: str
    ends: str
    split: bool
    expect: dict[str, object]

    @property
    def is_error(self) -> bool:
        """Whether the only right answer is an error."""
        return self.expect.get("error") is True


def quirks(dialect: str) -> list[Quirk]:
    """The cases of one dialect."""
    rows = [json.loads(line) for line in CASES.read_text().splitlines()]
    return [
        Quirk(row["id"], row["body"], row["connection_ends"], row.get("split_bytes", False), row["expect"])
        for row in rows
        if row["dialect"] == dialect
    ]


def minting() -> Callable[[], str]:
    """A mint of portable ids."""
    numbers = itertools.count()
    return lambda: f"m{next(numbers):08d}"


async def ask(provider: Provider, request: ModelRequest = REQUEST) -> ModelReply | ModelError:
    """The reply, or the error in its place."""
    try:
        async with provider.stream(request) as stream:
            return await stream.reply()
    except ModelError as error:
        return error


def differences(quirk: Quirk, reply: ModelReply) -> list[str]:
    """Where the reply is not what the case expects; ids are ours, so they are only looked at for being so."""
    found: list[str] = []
    calls, expect = reply.message.calls, quirk.expect
    wanted = [(call["name"], call["arguments"]) for call in expect.get("calls", [])]
    if "calls" in expect and [(call.name, call.arguments) for call in calls] != wanted:
        found.append(f"calls {calls}")
    if not all(call.id.startswith("m0") for call in calls) or len({call.id for call in calls}) != len(calls):
        found.append(f"ids {calls}")
    if reply.stopped_at_limit != expect.get("stopped_at_limit", False):
        found.append(f"stopped_at_limit {reply.stopped_at_limit}")
    if reply.message.text != expect.get("text", reply.message.text):
        found.append(f"text {reply.message.text!r}")
    usage = expect.get("usage")
    if usage and (reply.usage.input_tokens, reply.usage.output_tokens) != (
        usage["input_tokens"],
        usage["output_tokens"],
    ):
        found.append(f"usage {reply.usage}")
    if reply.usage.reported != ("usage" in expect) and "usage" in expect:
        found.append("usage is an estimate")
    return found
