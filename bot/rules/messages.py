"""The neutral form of what is said between us, the model and its tools.

Providers' dialects are made from these and turned into these at the edge (bot/llm); the history stores these.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from bot.rules.terms import CallOutcome, EventKind, Grade

JsonObject: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asks for.

    `id` is minted by us: 9 letters or digits, unique in the thread, which every dialect accepts.
    `arguments` is always a JSON object; `broken_arguments` holds the model's own text where that was none,
    and then the call is answered with an error and never runs.
    """

    id: str
    name: str
    arguments: JsonObject = field(default_factory=dict)
    broken_arguments: str | None = None


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Text for the model from outside the run; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A finished message of the model.

    `provider_blocks` are the provider's own blocks as they came (signatures, reasoning), sent back unchanged to the
    same provider and model and to no other.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    provider: str | None = None
    model: str | None = None
    provider_blocks: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call."""

    call_id: str
    name: str
    text: str
    outcome: CallOutcome = CallOutcome.OK


Message: TypeAlias = UserMessage | AssistantMessage | ToolResult


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as the model sees it: a name of 1 to 64 letters, digits, _ or -, and a JSON schema of its arguments."""

    name: str
    description: str
    parameters: JsonObject
    grade: Grade = Grade.WRITE


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a thread's history, as it is stored.

    The keys of `body` by kind:
    user: text, author, name, source, slack_ts, note (bool), unsent_answer (bool, the answer above was not sent)
    assistant: text, calls [{id, name, arguments, broken_arguments}], flat (bool, its round is told as plain text)
    tool_result: call_id, name, text, outcome
    context: text (what the model is told about its surroundings: earlier messages of the thread, of unknown trust)
    rolled_back_to: seq (the span after it up to this event is set aside), note
    """

    seq: int
    run_id: str
    kind: EventKind
    body: JsonObject
    provider: str | None = None
    model: str | None = None
    provider_blocks: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model call cost in tokens; `reported` is False where we had to estimate."""

    input_tokens: int
    output_tokens: int
    reported: bool = True
    cached_tokens: int = 0
