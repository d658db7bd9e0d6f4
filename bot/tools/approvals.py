"""The write side of the gate: what is looked at before people are asked, and what an approval is bound to.

Owns the words of a write that may not run. It runs nothing itself, and never takes what the model says of its own
call for what the call is: everything is computed from the arguments that would be sent.
"""

from dataclasses import dataclass

from bot.errors import ToolBlockedError, ToolError
from bot.rules.closing_words import Closing
from bot.rules.messages import ToolCall
from bot.rules.redaction import Scrubber
from bot.rules.terms import ApprovalState, CallOutcome, Grade
from bot.rules.tool_policy import (
    BLOCKED_BY,
    WHY_REFUSED,
    ApprovalTerms,
    BoundCall,
    ReviewedCall,
    WriteRefusal,
    fingerprint,
    refusal,
    told,
)
from bot.tools.tool import Tool, ToolAnswer, WriteTool
from storage.approvals import Asked, Use, UseAnswer
from storage.columns import storable_json

CHANGED = "not started: what would be sent is not what was approved. Ask for it again if it is still wanted."
MISSING = "not started: nobody was asked for this call. Ask for it again if it is still wanted."


@dataclass(frozen=True, slots=True)
class Write:
    """A write as it would be sent: who may approve it, what people are shown, and its fingerprint."""

    terms: ApprovalTerms
    shown: str
    sha256: str


def is_write(tool: Tool) -> bool:
    """Whether a call of this tool needs an approval; what is not known to be a read does."""
    return tool.schema.grade is not Grade.READ


def write_of(tool: Tool, run_id: str, call: ToolCall) -> Write:
    """What would be sent; raises ToolError where the tool cannot say what it would do."""
    terms = tool.approval if isinstance(tool, WriteTool) else ApprovalTerms()
    shown = tool.shown(call.arguments) if isinstance(tool, WriteTool) else ""
    target = tool.target if isinstance(tool, WriteTool) else ""
    bound = BoundCall(run_id, call.id, call.name, target, shown, call.arguments)
    return Write(terms, shown, fingerprint(bound))


def review(tool: Tool, run_id: str, call: ToolCall, scrubber: Scrubber) -> Write | ToolAnswer:
    """A write that people may be asked about, or the answer to one that is refused before that."""
    try:
        write = write_of(tool, run_id, call)
    except ToolBlockedError as blocked:
        return ToolAnswer(str(blocked), CallOutcome.BLOCKED, blocked_by=blocked.rule)
    except ToolError as wrong:
        return ToolAnswer(str(wrong), CallOutcome.FAILED)
    except ValueError:
        # Numbers that JSON does not have, or texts that no encoding takes.
        return _refused(WriteRefusal.NOT_STORABLE)
    has_secret = scrubber.value(call.arguments) != call.arguments or scrubber.text(write.shown) != write.shown
    is_storable = storable_json(call.arguments) == call.arguments and storable_json(write.shown) == write.shown
    why = refusal(ReviewedCall(write.terms, write.shown, has_secret, is_storable))
    return write if why is None else _refused(why)


def asked(write: Write, request_id: str) -> Asked:
    """The question to people."""
    return Asked(f"a{request_id}", request_id, write.sha256, write.shown, write.terms)


def not_run(used: UseAnswer) -> ToolAnswer:
    """The answer to a write whose approval does not let it run."""
    if used.use is Use.CHANGED:
        return ToolAnswer(CHANGED, CallOutcome.BLOCKED, blocked_by="changed after the approval")
    closing = told(used.state) if used.state else None
    if closing is None:
        return ToolAnswer(MISSING, CallOutcome.BLOCKED, blocked_by="approval")
    return _closed(closing, used.state)


def _closed(closing: Closing, state: ApprovalState | None) -> ToolAnswer:
    return ToolAnswer(closing.text, closing.outcome, blocked_by=BLOCKED_BY.get(state) if state else None)


def _refused(why: WriteRefusal) -> ToolAnswer:
    return ToolAnswer(WHY_REFUSED[why], CallOutcome.BLOCKED, blocked_by=why.value)
