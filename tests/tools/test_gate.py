"""The gate: what may not run does not, what breaks is told in plain words, and a brake ends what has begun."""

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.interrupts.brake import Brake
from bot.interrupts.races import LETTING_GO_S
from bot.rules.interrupt_order import Pending
from bot.rules.messages import ToolCall, ToolSchema
from bot.rules.redaction import Scrubber
from bot.rules.terms import CallOutcome, Command, Grade, InterruptKind, InterruptSource
from bot.tools.batch_calls import Answered, BatchCalls, NotStarted
from bot.tools.gate import AT_A_TIME, ToolGate
from storage import audit
from tests.agent.bench import LIMIT, Reading
from tests.storage.desk import asking, stale
from tests.storage.waits import waiters

SECRET = "hunter2-hunter2"
STEER = Pending(InterruptKind.STEER, InterruptSource.MESSAGE, "ana")


def called(what: str, number: int = 1) -> ToolCall:
    return ToolCall(f"call{number:05d}", "read", {"what": what})


class Door:
    """A gate with the calls of one claim, written down as the turn loop does."""

    def __init__(self, bench, claimed, calls, tools=None) -> None:
        self.desk, self.tool = bench.desk, bench.tool
        self.gate = ToolGate(tools or {"read": bench.tool}, bench.database, Scrubber([SECRET]))
        self.brake = Brake()
        self.calls = BatchCalls(claimed.claim, self.brake, asyncio.Semaphore(AT_A_TIME))
        self._planned = {call.id: self.gate.plan(call, f"req-{call.id}") for call in calls}
        self._claimed, self._calls = claimed, calls

    async def opened(self):
        await self.desk.stores(self._claimed, asking(*self._planned))
        async with self.desk.database.transaction() as tx:
            await audit.plan(tx, self._claimed.claim, 1, list(self._planned.values()))
        return self

    def call(self, call) -> asyncio.Task:
        return asyncio.create_task(self.gate.call(self.calls, call, f"req-{call.id}"))

    async def answer(self, call):
        return await asyncio.wait_for(self.call(call), LIMIT)


@pytest.fixture
def door(bench, desk):
    """Opens the gate for these calls of a fresh claim."""

    async def open_for(*calls, tools=None):
        return await Door(bench, await desk.is_asked(), calls, tools).opened()

    return open_for


async def test_a_call_runs_with_its_request_id_and_its_start_is_written_down_before(door, desk):
    gate = await door(called("log"))

    answered = await gate.answer(called("log"))

    assert (answered.text, answered.outcome) == ("this is log", CallOutcome.OK)
    assert gate.tool.request_ids == ["req-call00001"]
    assert await desk.value("select started_at is not null from tool_calls")


async def test_an_unknown_tool_is_answered_with_the_tools_there_are(door):
    call = ToolCall("call00001", "launch_rocket", {})
    gate = await door(call)

    answered = await gate.answer(call)

    assert (answered.outcome, answered.end.blocked_by) == (CallOutcome.BLOCKED, "unknown tool")
    assert "launch_rocket" in answered.text
    assert "read" in answered.text


async def test_arguments_that_are_no_object_are_answered_and_never_run(door):
    call = ToolCall("call00001", "read", {}, broken_arguments='{"what": "lo')
    gate = await door(call)

    answered = await gate.answer(call)

    assert answered.outcome is CallOutcome.FAILED
    assert '{"what": "lo' in answered.text
    assert gate.tool.begun == []


async def test_a_tool_that_changes_something_does_not_run_without_an_approval(door):
    writing = Reading(Grade.WRITE)
    gate = await door(called("log"), tools={"read": writing})

    answered = await gate.answer(called("log"))

    assert (answered.outcome, answered.end.blocked_by) == (CallOutcome.BLOCKED, "no approvers configured")
    assert writing.begun == []


def test_what_is_not_said_to_be_a_read_is_a_write():
    assert ToolSchema("x", "", {}).grade is Grade.WRITE


@pytest.mark.parametrize(
    ("what", "outcome", "said"),
    [
        ("blocked", CallOutcome.BLOCKED, "rule 7"),
        ("late", CallOutcome.TIMED_OUT, "no answer within 15 s"),
        ("failing", CallOutcome.FAILED, "the connection was refused"),
        ("refusing", CallOutcome.FAILED, "what is missing"),
    ],
)
async def test_an_error_of_a_tool_is_told_to_the_model(door, what, outcome, said):
    gate = await door(called(what))

    answered = await gate.answer(called(what))

    assert answered.outcome is outcome
    assert said in answered.text


async def test_a_tool_that_breaks_is_answered_in_plain_words_and_logged_with_its_request(door):
    gate = await door(called("broken"))

    with capture_logs() as log:
        answered = await gate.answer(called("broken"))

    assert answered.outcome is CallOutcome.FAILED
    assert ("KeyError" in answered.text, "oversight" in answered.text) == (False, False)
    assert "broke" in answered.text
    assert [(each["event"], each["request_id"]) for each in log] == [("tool.broke", "req-call00001")]


async def test_no_secret_reaches_the_model_or_the_audit(door, desk):
    gate = await door(called(SECRET))

    answered = await gate.answer(called(SECRET))

    kept = await desk.value("select title || target || arguments::text from tool_calls")
    assert (SECRET in answered.text, SECRET in kept) == (False, False)


async def test_no_more_calls_are_at_work_than_there_are_places(door):
    calls = [called(f"log g{n}", n) for n in range(1, 6)]
    gate = await door(*calls)
    running = [gate.call(call) for call in calls]
    for n in range(1, 4):
        await asyncio.wait_for(gate.tool.gates.reached(f"g{n}"), LIMIT)

    begun = sorted(gate.tool.begun)
    gate.tool.gates.open("g1")
    await asyncio.wait_for(gate.tool.gates.reached("g4"), LIMIT)

    assert begun == ["log g1", "log g2", "log g3"]
    assert sorted(gate.tool.begun) == [*begun, "log g4"]
    for n in range(1, 6):
        gate.tool.gates.open(f"g{n}")
    assert [each.outcome for each in await asyncio.gather(*running)] == [CallOutcome.OK] * 5


async def test_calls_that_wait_for_a_place_are_answered_at_once_when_nothing_may_start_any_more(door):
    calls = [called(f"log g{n}", n) for n in range(1, 6)]
    gate = await door(*calls)
    running = [gate.call(call) for call in calls]
    for n in range(1, 4):
        await asyncio.wait_for(gate.tool.gates.reached(f"g{n}"), LIMIT)

    gate.calls.hold(STEER)

    waited = await asyncio.wait_for(asyncio.gather(*running[3:]), LIMIT)
    assert waited == [NotStarted(STEER)] * 2
    assert [task.done() for task in running[:3]] == [False] * 3
    gate.brake.pull(InterruptKind.STOP)
    await asyncio.gather(*running)


@pytest.mark.parametrize("command", [Command.STOP, Command.PAUSE])
async def test_a_call_does_not_start_while_something_is_pending_even_if_no_hint_came(door, desk, command):
    gate = await door(called("log"))
    await desk.presses("ana", command, (await desk.run()).id)

    answered = await gate.answer(called("log"))

    assert isinstance(answered, NotStarted)
    assert answered.by.kind.value == command.value
    assert gate.tool.begun == []


async def test_a_call_of_a_claim_that_is_no_longer_ours_does_not_start(bench, desk):
    claimed = await desk.is_asked()
    gate = await Door(bench, claimed, [called("log")]).opened()
    gate.calls.claim = stale(claimed, fence=claimed.claim.fence - 1).claim

    answered = await gate.answer(called("log"))

    assert (answered, gate.tool.begun) == (None, [])


@pytest.mark.parametrize("end", ["stop", "lost"])
async def test_nothing_starts_once_the_brake_is_hard(door, desk, end):
    gate = await door(called("log"))
    gate.brake.pull(InterruptKind.STOP) if end == "stop" else gate.brake.lose()

    answered = await gate.answer(called("log"))

    assert (answered, gate.tool.begun) == (None, [])


async def test_a_stop_while_the_start_is_written_down_lets_nothing_leave(door, raw, watch):
    gate = await door(called("log"))

    async with raw.transaction():
        await raw.execute("select 1 from threads for update")
        running = gate.call(called("log"))
        await waiters(watch)
        gate.brake.pull(InterruptKind.STOP)
        answered = await asyncio.wait_for(running, LIMIT)

    assert (answered, gate.tool.begun) == (None, [])


async def test_a_stop_ends_a_running_read_at_once(door):
    gate = await door(called("log g"))
    running = gate.call(called("log g"))
    await asyncio.wait_for(gate.tool.gates.reached("g"), LIMIT)

    gate.brake.pull(InterruptKind.STOP)

    assert await asyncio.wait_for(running, LIMIT) is None
    assert gate.tool.left == ["log g"]


@pytest.mark.parametrize("kind", [InterruptKind.STEER, InterruptKind.PAUSE, InterruptKind.DRAIN])
async def test_a_soft_pull_lets_a_running_read_go_on(door, kind):
    gate = await door(called("log g"))
    running = gate.call(called("log g"))
    await asyncio.wait_for(gate.tool.gates.reached("g"), LIMIT)

    gate.brake.pull(kind)
    gate.tool.gates.open("g")

    assert (await asyncio.wait_for(running, LIMIT)).outcome is CallOutcome.OK


async def test_a_read_is_superseded_when_the_patience_is_over(door):
    gate = await door(called("log g"))
    running = gate.call(called("log g"))
    await asyncio.wait_for(gate.tool.gates.reached("g"), LIMIT)

    gate.calls.superseded.set()

    answered = await asyncio.wait_for(running, LIMIT)
    assert (answered.outcome, answered.end.interrupted) == (CallOutcome.SUPERSEDED, True)
    assert gate.tool.left == ["log g"]


async def test_a_read_that_still_answers_while_it_is_superseded_is_answered_with_that(door):
    gate = await door(called("answering g"))
    running = gate.call(called("answering g"))
    await asyncio.wait_for(gate.tool.gates.reached("g"), LIMIT)

    gate.calls.superseded.set()

    answered = await asyncio.wait_for(running, LIMIT)
    assert isinstance(answered, Answered)
    assert (answered.outcome, answered.text) == (CallOutcome.OK, "this is answering g")


async def test_a_tool_that_will_not_let_go_holds_no_stop_and_its_late_answer_goes_to_the_audit_alone(bench, door, desk):
    gate = await door(called("stubborn g"))
    running = gate.call(called("stubborn g"))
    await asyncio.wait_for(gate.tool.gates.reached("g"), LIMIT)
    gate.brake.pull(InterruptKind.STOP)
    ended = await asyncio.wait_for(running, LETTING_GO_S * 10)

    gate.tool.gates.open("g")
    await bench.counts("tool_calls where outcome is null and late->>'outcome' = 'ok'", 1)

    assert ended is None
    assert await desk.value("select count(*) from events where kind = 'tool_result'") == 0


def test_the_tools_are_told_in_a_stable_order(bench):
    tools = {name: Reading() for name in ("b", "c", "a")}
    for name, tool in tools.items():
        tool.schema = ToolSchema(name, "", {}, Grade.READ)

    schemas = ToolGate(tools, bench.database, Scrubber(())).schemas()

    assert [schema.name for schema in schemas] == ["a", "b", "c"]


def test_an_unknown_tool_is_written_down_as_a_write(bench):
    gate = ToolGate({}, bench.database, Scrubber(()))

    planned = gate.plan(ToolCall("call00001", "launch", {"where": "moon"}), "req-1")

    assert (planned.grade, planned.tool, planned.arguments) == (Grade.WRITE, "launch", {"where": "moon"})


async def test_a_tool_that_is_not_permitted_is_neither_shown_nor_run(door):
    gate = await door(called("log"))
    shown = [schema.name for schema in gate.gate.schemas()]

    gate.gate.permit(frozenset({"another"}))
    answered = await gate.answer(called("log"))

    assert (shown, gate.gate.schemas()) == (["read"], ())
    assert (answered.outcome, answered.end.blocked_by) == (CallOutcome.BLOCKED, "policy.tools")
    assert gate.tool.begun == []


async def test_a_call_that_holds_the_mark_of_a_secret_never_runs_and_says_why(door):
    call = called("http://site/?key=[redacted]")
    opened = await door(call)

    answered = await opened.answer(call)

    assert (answered.outcome, answered.end.blocked_by) == (CallOutcome.BLOCKED, "secret")
    assert "stands where a secret was taken out" in answered.text
    assert opened.tool.begun == []
