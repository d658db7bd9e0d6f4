"""A model that follows a script, in this process: the demo needs no key and no network.

It fails with the same errors as a real model service where its script says so. It decides nothing of its own: which
round is played and what comes next in it is in bot/llm/script.py.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from bot.errors import (
    ModelAuthError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitedError,
    ModelRequestError,
    ModelStreamError,
    SettingsError,
)
from bot.llm.provider import ModelReply, ModelRequest, ModelStream
from bot.llm.script import (
    AtGate,
    Beat,
    Break,
    Fault,
    FaultCount,
    FaultKind,
    Finish,
    Line,
    Pause,
    Script,
    Send,
    Speaker,
    beats,
    perform,
    wire_arguments,
)
from bot.llm.script_file import SETTING, parse_script
from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, Usage, UserMessage

NAME = "scripted"
CHARACTERS_PER_TOKEN = 4


def load_script(path: Path) -> Script:
    """Read a script from a file; raises SettingsError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            SETTING, f"the script {path} cannot be read: {error}", "Name a script file in TOML."
        ) from error
    return parse_script(text, path.name)


class Gates:
    """The gates of a player: it waits at each until the gate is opened, once and for all."""

    def __init__(self) -> None:
        self._arrivals: Counter[str] = Counter()
        self._arrived = asyncio.Condition()
        self._opened: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def arrive(self, name: str) -> None:
        """Say that the player has come to a gate, and wait until it is open."""
        async with self._arrived:
            self._arrivals[name] += 1
            self._arrived.notify_all()
        await self._opened[name].wait()

    async def reached(self, name: str, times: int = 1) -> None:
        """Wait until the player has come to a gate so many times in all."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self._arrivals[name] >= times)

    def open(self, name: str) -> None:
        """Let the player through, now and from now on."""
        self._opened[name].set()


@dataclass(slots=True)
class _Message:
    """The message as far as it has come."""

    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    characters: int = 0


class ScriptedProvider:
    """A model service that follows a script.

    `mint_id` gives the ids of calls; `pace` stretches the delays of the script, 0 leaves them out.
    """

    name = NAME

    def __init__(
        self,
        script: Script,
        mint_id: Callable[[], str],
        variables: Mapping[str, str] = MappingProxyType({}),
        pace: float = 1.0,
    ) -> None:
        self.gates = Gates()
        self._script, self._mint_id, self._variables, self._pace = script, mint_id, variables, pace
        self._faults = FaultCount()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelStream]:
        """Ask for one message."""
        yield _ScriptedStream(self, request)

    async def play(self, request: ModelRequest) -> ModelReply:
        """Play the round for this request; raises the ModelError of its fault."""
        performance = perform(self._script, tuple(map(_line, request.messages)), self._variables)
        message = _Message()
        at_limit = False
        for beat in beats(performance, self._faults.due(performance)):
            await self._wait(beat)
            match beat:
                case Send():
                    self._add(message, beat)
                case Finish():
                    at_limit = beat.at_limit
                case Break() if beat.fault.kind is not FaultKind.HANG:
                    raise model_error(beat.fault)
        asked = sum(len(line.text) for line in map(_line, request.messages)) + len(request.system)
        usage = Usage(asked // CHARACTERS_PER_TOKEN, message.characters // CHARACTERS_PER_TOKEN)
        spoken = AssistantMessage(message.text, tuple(message.calls), provider=NAME, model=request.model)
        return ModelReply(spoken, usage, stopped_at_limit=at_limit)

    async def _wait(self, beat: Beat) -> None:
        match beat:
            case Pause():
                await asyncio.sleep(beat.ms / 1000 * self._pace)
            case AtGate():
                await self.gates.arrive(beat.name)
            case Break() if beat.fault.kind is FaultKind.HANG:
                await asyncio.Event().wait()

    def _add(self, message: _Message, sent: Send) -> None:
        arguments = wire_arguments(sent)
        if isinstance(sent.piece, str):
            message.text += sent.piece
            message.characters += len(sent.piece)
            return
        whole = {} if sent.cut else sent.piece.arguments
        broken = arguments if sent.cut else None
        message.calls.append(ToolCall(self._mint_id(), sent.piece.name, whole, broken))
        message.characters += len(arguments)


@dataclass(frozen=True, slots=True)
class _ScriptedStream:
    provider: ScriptedProvider
    request: ModelRequest

    async def reply(self) -> ModelReply:
        return await self.provider.play(self.request)


def model_error(fault: Fault) -> ModelError:
    """The error that a real model service's fault of this kind becomes."""
    match fault.kind, fault.status:
        case FaultKind.STATUS, int(status):
            return _status_error(status, fault.retry_after)
        case FaultKind.ERROR_IN_STREAM, _:
            return ModelOverloadedError("the script broke off with an error")
        case _:
            return ModelStreamError(f"the script broke the message off ({fault.kind})")


def _status_error(status: int, retry_after: float | None) -> ModelError:
    text = f"the script answered {status}"
    if status == 429:
        return ModelRateLimitedError(text, status=status, retry_after=retry_after)
    if status >= 500:
        return ModelOverloadedError(text, status=status)
    kinds = {401: ModelAuthError, 403: ModelAuthError, 404: ModelNotFoundError}
    return kinds.get(status, ModelRequestError)(text, status=status)


def _line(message: Message) -> Line:
    match message:
        case UserMessage():
            return Line(Speaker.USER, message.text)
        case AssistantMessage():
            return Line(Speaker.ASSISTANT, message.text)
        case ToolResult():
            return Line(Speaker.RESULT, message.text)
