"""Tampered approvals, a thousand in `make bounds`: none is executed, and each untouched one is, once.

A replay is what its first execution was: it adds none.
"""

import asyncio
from dataclasses import dataclass
from random import Random

import pytest

from bot.interrupts.brake import Brake
from bot.rules.messages import ToolCall
from bot.rules.tool_policy import Vote
from bot.tools.batch_calls import Answered, BatchCalls
from bot.tools.gate import AT_A_TIME
from storage import approvals, audit
from tests.agent.approvers import Approvers
from tests.agent.writing import CHIEF, Target, Writing
from tests.storage.desk import asking

EACH = 50
PRESSES = frozenset({"wrong person", "old approval", "other message"})
KINDS = ("changed arguments", "replay", "wrong person", "old approval", "other message", "expired", "after restart")


@dataclass
class Case:
    """A write that is attacked, and its twin, which is left as it is."""

    kind: str
    attacked: ToolCall
    twin: ToolCall


class Fuzz:
    """One run that asks for many writes; its worker is the real gate, and its target counts."""

    def __init__(self, bench, desk, random) -> None:
        self.bench, self.desk, self.random = bench, desk, random
        self.approvers = Approvers(desk)
        self.old = "a-never"

    async def begins(self, cases) -> None:
        """A run asks for the writes of these cases, and people are asked about each."""
        self.claimed = await self.desk.is_asked()
        calls = [call for case in cases for call in (case.attacked, case.twin)]
        gate, run_id = self.bench.gate(), self.claimed.run.id
        planned = {call.id: gate.plan(call, f"req-{call.id}") for call in calls}
        await self.desk.stores(self.claimed, asking(*planned))
        async with self.desk.database.transaction() as tx:
            await audit.plan(tx, self.claimed.claim, 1, list(planned.values()))
            await approvals.ask(tx, self.claimed.claim, gate.questions(run_id, calls, planned))
        self._begin_anew()

    async def approve(self, call: ToolCall, **press) -> None:
        """Somebody presses Approve for this call, unless the press says otherwise."""
        parts = {"who": "boss", "ref": f"areq-{call.id}", "run_id": self.claimed.run.id} | press
        await self.approvers.press(0, Vote.YES, **parts)

    async def make(self, call: ToolCall):
        """The worker wants to make this call."""
        brakes = BatchCalls(self.claimed.claim, Brake(), self.places)
        return await self.gate.call(brakes, call, f"req-{call.id}")

    async def attack(self, case: Case) -> None:
        """Do to the attacked call what its kind says, and let the worker try it."""
        call, kind = case.attacked, case.kind
        if kind in PRESSES:
            await self.approve(call, **self._press(kind))
        else:
            await self.approve(call)
        if kind == "replay":
            await self.make(call)
        elif kind == "expired":
            await self._let_expire(call)
        elif kind == "after restart":
            await self._restart()
        is_changed = kind in {"changed arguments", "after restart"}
        await self.make(ToolCall(call.id, call.name, self._changed(call.arguments)) if is_changed else call)

    def _press(self, kind: str) -> dict[str, str]:
        """What is wrong with a press."""
        match kind:
            case "wrong person":
                return {"who": self.random.choice(("ana", "bob", "Boss", "boss ", CHIEF[::-1]))}
            case "old approval":
                return {"ref": self.old}
            case _:
                return {"message_ts": "9.9"}

    async def _let_expire(self, call: ToolCall) -> None:
        over = "update approvals set expires_at = clock_timestamp() - interval '1 ms' where request_id = $1"
        await self.desk.raw.execute(over, f"req-{call.id}")
        await self.approve(call)

    async def ends(self) -> None:
        """The run is stopped; its last approval is an old one from then on."""
        self.old = await self.desk.value("select id from approvals order by requested_at desc limit 1")
        await self.desk.says("ana", "stop")
        await self.desk.ends_hung_stops(grace_s=0)

    async def _restart(self) -> None:
        """The worker ends, and another one goes on with what the database knows."""
        await self.desk.gives_back(self.claimed)
        self.claimed = await self.desk.claims("another")
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.gate, self.places = self.bench.gate(), asyncio.Semaphore(AT_A_TIME)

    def _changed(self, arguments):
        service = str(arguments["service"])
        other = ("x", service.upper(), f"{service} ", f"{service}\u200b", service[:-1], f"{service}/..", [service])
        changed = {**arguments, "service": self.random.choice(other)}
        return self.random.choice((changed, {**arguments, "force": True}, {**arguments, "service": f"./{service}"}))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number_of_cases", [70, pytest.param(1000, marks=pytest.mark.bounds)])
async def test_no_tampered_approval_is_executed_and_each_untouched_one_is_once(bench, desk, number_of_cases):
    random = Random(1)
    async with Target.running() as target:
        bench.more["restart"] = Writing(target)
        fuzz, wrong = Fuzz(bench, desk, random), []
        for start in range(0, number_of_cases, EACH):
            cases = [_case(number, random) for number in range(start, min(start + EACH, number_of_cases))]
            await fuzz.begins(cases)
            await desk.raw.execute("update cards set ts = '1.1'")
            for case in cases:
                await fuzz.attack(case)
                await fuzz.approve(case.twin)
                made = [await fuzz.make(case.twin) for _ in range(2)]
                wrong += [case] if not isinstance(made[0], Answered) else []
            await fuzz.ends()

    counts = {name: target.received.count(name) for name in target.received}
    replayed = sum(f"bad{number}" in counts for number in range(number_of_cases))
    assert wrong == []
    assert [counts.get(f"good{number}") for number in range(number_of_cases)] == [1] * number_of_cases
    assert set(counts.values()) == {1}
    assert replayed == sum(_kind(number) == "replay" for number in range(number_of_cases))
    assert len(counts) == number_of_cases + replayed


def _kind(number: int) -> str:
    return KINDS[number % len(KINDS)]


def _case(number: int, random: Random) -> Case:
    extra = {"reason": f"because {random.random()}"} if random.random() < 0.5 else {}
    attacked = ToolCall(f"b{number:08d}", "restart", {"service": f"bad{number}", **extra})
    return Case(_kind(number), attacked, ToolCall(f"g{number:08d}", "restart", {"service": f"good{number}", **extra}))
