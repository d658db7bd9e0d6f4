"""The port to a tool."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bot.interrupts.brake import Brake
from bot.rules.messages import JsonObject, ToolSchema
from bot.rules.terms import CallOutcome
from bot.rules.tool_policy import ApprovalTerms


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool is lent for one call: the request id goes with every request it makes, the brake ends it."""

    request_id: str
    run_id: str
    brake: Brake


@dataclass(frozen=True, slots=True)
class CallLabel:
    """How the card names a call: words a person would use, and a target without query or credentials."""

    title: str
    target: str


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call brought.

    `text` is for the model, `url`, `method` and `status` for the audit and the card (no query, no credentials).
    `blocked_by` names the rule that refused the call, and then `outcome` is BLOCKED.
    """

    text: str
    outcome: CallOutcome = CallOutcome.OK
    url: str | None = None
    method: str | None = None
    status: int | None = None
    blocked_by: str | None = None


class Tool(Protocol):
    """Something the model may call."""

    schema: ToolSchema

    def label(self, arguments: JsonObject) -> CallLabel:
        """Name this call for the card; never raises, whatever the arguments are."""
        ...

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolAnswer:
        """Make the call.

        Raises ToolArgumentsError where the arguments do not fit, ToolBlockedError where a rule refuses, ToolError
        where it fails. Cancelled from outside it lets go of its connection at once.
        """
        ...


@runtime_checkable
class WriteTool(Tool, Protocol):
    """A tool that changes something: `approval` says who may allow a call, `target` where every call goes."""

    approval: ApprovalTerms
    target: str

    def shown(self, arguments: JsonObject) -> str:
        """The complete call in plain text, as people review it; nothing that is sent may be left out.

        Raises ToolArgumentsError where the arguments do not fit, and ToolBlockedError where a rule refuses.
        """
        ...
