"""A claim at work on a real database: a scripted model, and a tool whose calls do what their name says.

What people do comes from the desk of the storage tests; what it came to is read by SQL.
"""

import asyncio
import contextlib
import itertools

from bot.agent.turn_loop import TurnMeans
from bot.errors import ModelError, ToolArgumentsError, ToolBlockedError, ToolError, ToolTimeoutError
from bot.interrupts.brake import Brake
from bot.interrupts.watcher import LiveRuns
from bot.llm.provider import ModelReply, ModelRequest
from bot.llm.script import Call, Gate, Play, Round, Script
from bot.llm.scripted import Gates, ScriptedProvider
from bot.rules.messages import AssistantMessage, ToolCall, ToolSchema, Usage
from bot.rules.redaction import Scrubber
from bot.rules.terms import Command, Grade, InterruptKind
from bot.tools.gate import ToolGate
from bot.tools.tool import CallLabel, Tool, ToolAnswer
from bot.worker.one_run import OneRun
from storage.engine import Database
from tests.storage.waits import until

LIMIT = 20.0
SECRET = "hunter2-hunter2"
ERRORS = {
    "blocked": ToolBlockedError("rule 7", "not there"),
    "late": ToolTimeoutError("no answer within 15 s"),
    "failing": ToolError("the connection was refused"),
    "refusing": ToolArgumentsError("what is missing"),
    "broken": KeyError("an oversight"),
}


class Reading:
    """A tool that reads `what`: its first word says how, its last whether the call waits at a gate of that name.

    stubborn: goes on when it is cancelled; answering: answers when it is cancelled; those of ERRORS raise.
    """

    def __init__(self, grade: Grade = Grade.READ) -> None:
        parameters = {"type": "object", "properties": {"what": {"type": "string"}}}
        self.schema = ToolSchema("read", "Read something.", parameters, grade)
        self.gates = Gates()
        self.begun: list[str] = []
        self.left: list[str] = []
        self.request_ids: list[str] = []

    def label(self, arguments):
        return CallLabel(f"Read {arguments.get('what')}", "site")

    async def run(self, arguments, context):
        what = str(arguments.get("what"))
        self.begun.append(what)
        self.request_ids.append(context.request_id)
        how, _, gate = what.partition(" ")
        if gate:
            await self._pass(how, gate, what)
        if how in ERRORS:
            raise ERRORS[how]
        return ToolAnswer(f"this is {what}", url="http://site/x", method="GET", status=200)

    async def _pass(self, how, gate, what):
        arriving = asyncio.ensure_future(self.gates.arrive(gate))
        while not arriving.done():
            try:
                await asyncio.shield(arriving)
            except asyncio.CancelledError:
                if how == "stubborn":
                    continue
                self.left.append(what)
                arriving.cancel()
                if how == "answering":
                    return
                raise


class Listed:
    """A model service that gives these replies in their order, whatever it is asked; an error is raised."""

    name = "listed"

    def __init__(self, *replies: ModelReply | ModelError) -> None:
        self.requests: list[ModelRequest] = []
        self._replies = iter(replies)

    @contextlib.asynccontextmanager
    async def stream(self, request):
        self.requests.append(request)
        yield self

    async def reply(self):
        reply = next(self._replies)
        if isinstance(reply, ModelError):
            raise reply
        return reply


def answer(text: str, *calls: ToolCall, **message) -> ModelReply:
    """A reply of a listed model."""
    return ModelReply(AssistantMessage(text, calls, "listed", "m1", **message), Usage(10, 1))


def reads(*whats: str, say: str = "I look.", gate: Gate | None = None) -> Round:
    """A round that calls the tool, once for each."""
    return Round(say=say, calls=tuple(Call("read", {"what": what}) for what in whats), gate=gate)


def says(text: str, at: str = "") -> Round:
    """A round that ends the run; it may wait at the gate `model`."""
    return Round(say=text, chunks=2, gate=Gate("model", at) if at else None)


class Counted(Database):
    """A database that counts how often it is spoken to."""

    transactions = 0

    def transaction(self):
        self.transactions += 1
        return super().transaction()


class Remembered(LiveRuns):
    """Live runs that keep the last brake in sight."""

    last: Brake

    def add(self, run_id, thread_id, fence):
        self.last = super().add(run_id, thread_id, fence)
        return self.last


class Bench:
    """One worker's means over a desk; `database` is the worker's own way to the database."""

    def __init__(self, desk, database) -> None:
        self.desk, self.database = desk, database
        self.live, self.tool = Remembered(), Reading()
        self.more: dict[str, Tool] = {}
        self.write_grace_s = 3.0
        self.earlier: str | None = ""
        self.reading_earlier = Gates()
        self.reading_earlier.open("earlier")
        self.plays(says("It is the disk."))
        self._ids = itertools.count(1)
        self.limits: dict[str, object] = {"patience_s": 0.05}
        self.tasks: list[asyncio.Task] = []

    def plays(self, *rounds: Round) -> None:
        """Give the model a script."""
        ids = (f"call{number:05d}" for number in itertools.count(1))
        self.provider = ScriptedProvider(Script((Play("", rounds),)), lambda: next(ids), pace=0)

    def means(self, **other) -> TurnMeans:
        """What a turn is lent."""
        parts = {
            "database": self.database,
            "provider": self.provider,
            "model": "m1",
            "make_gate": self.gate,
            "system_prompt": "You are careful.",
            "mint_id": lambda: f"req-{next(self._ids)}",
            "read_earlier": self._read_earlier,
        }
        return TurnMeans(**{**parts, **self.limits, **other})

    def gate(self) -> ToolGate:
        """A gate with the tool, and with more where a test has given more."""
        tools = {"read": self.tool, **self.more}
        return ToolGate(tools, self.database, Scrubber((SECRET,)), write_grace_s=self.write_grace_s)

    def works(self, claimed, **other) -> asyncio.Task:
        """Let a worker work off a claim."""
        run = OneRun(self.means(**other), self.desk.means, self.live)
        self.tasks.append(asyncio.create_task(run.work(claimed)))
        return self.tasks[-1]

    async def begins(self, *rounds: Round, **other):
        """Somebody asks, a worker claims and begins; gives the claim and the task."""
        self.plays(*rounds)
        claimed = await self.desk.is_asked()
        return claimed, self.works(claimed, **other)

    async def ended(self, task: asyncio.Task) -> None:
        """Wait for the end of a claim, and raise what it raised."""
        await asyncio.wait_for(asyncio.shield(task), LIMIT)

    async def hears(self, claimed, kind: InterruptKind) -> None:
        """A hint arrives."""
        self.live.hear({"run": claimed.claim.run_id, "kind": kind.value})

    async def stops(self, claimed, command: Command = Command.STOP) -> None:
        """Somebody presses a button, and its hint arrives."""
        await self.desk.presses("ana", command, claimed.claim.run_id)
        kind = InterruptKind.STOP if command is Command.STOP else InterruptKind.PAUSE
        await self.hears(claimed, kind)

    async def steers(self, claimed, text: str = "look at the gateway", at: str | None = None) -> None:
        """The requester writes, and the hint arrives."""
        await self.desk.says("ana", text, at=at)
        await self.hears(claimed, InterruptKind.STEER)

    async def reached(self, gate: str, times: int = 1) -> None:
        """Wait until so many calls of the tool have come to a gate."""
        await asyncio.wait_for(self.tool.gates.reached(gate, times), LIMIT)

    async def model_waits(self) -> None:
        """Wait until the model has come to its gate."""
        await asyncio.wait_for(self.provider.gates.reached("model"), LIMIT)

    async def looks(self, number: int) -> None:
        """Wait until the worker has spoken to the database so many times more."""
        before = self.database.transactions
        await self.until(lambda: self.database.transactions >= before + number)

    async def until(self, is_so) -> None:
        """Wait until something that only this process knows is so."""

        async def look():
            return is_so()

        await until(look)

    async def counts(self, what: str, number: int) -> None:
        """Wait until a count of rows is so high, as in `events where kind = 'tool_result'`."""
        await until(lambda: self._has(what, number))

    async def _has(self, what: str, number: int) -> bool:
        return await self.desk.value(f"select count(*) >= {number} from {what}")

    async def _read_earlier(self, place, known):
        await self.reading_earlier.arrive("earlier")
        return self.earlier

    async def close(self) -> None:
        """End what is still at work."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
