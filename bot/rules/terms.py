"""The closed lists of words that the rules, the rows and the card share.

One word, one meaning: docs/glossary.md explains each. The values are what stands in the database, so a value is
never renamed, only added to.
"""

from enum import StrEnum


class Source(StrEnum):
    """Who a message comes from, as the steer policy sees them."""

    REQUESTER = "requester"
    TEAMMATE = "teammate"
    GUEST = "guest"
    EXTERNAL = "external"
    ALERT_BOT = "alert_bot"
    OTHER_BOT = "other_bot"
    SELF = "self"
    SYSTEM = "system"
    SUBAGENT = "subagent"


class PersonClass(StrEnum):
    """What Slack says a person is; unknown until users.info has answered."""

    MEMBER = "member"
    GUEST = "guest"
    EXTERNAL = "external"
    UNKNOWN = "unknown"


class Phase(StrEnum):
    """What a thread is doing when a message arrives, read under its lock."""

    UNTOUCHED = "untouched"
    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING_APPROVAL = "waiting_approval"


class Verdict(StrEnum):
    """What becomes of a message; every distinct message gets exactly one."""

    START = "start"
    STEER = "steer"
    QUEUE = "queue"
    HOLD = "hold"
    NOTE = "note"
    REFUSE = "refuse"
    IGNORE = "ignore"
    COMMAND = "command"
    ALERT_JOINED = "alert_joined"


class Command(StrEnum):
    """A word that is the whole text of a message and acts like a button."""

    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    STATUS = "status"


class InboxState(StrEnum):
    """What has become of a stored message."""

    WAITING = "waiting"
    CONSUMED = "consumed"
    WITHDRAWN = "withdrawn"
    UNJUDGED = "unjudged"


class InterruptKind(StrEnum):
    """A request to a run, in the order in which they are probed (rules/interrupt_order.py)."""

    STOP = "stop"
    ROLLBACK = "rollback"
    PAUSE = "pause"
    STEER = "steer"
    DRAIN = "drain"
    DISPATCH = "dispatch"
    AWAIT = "await"


class InterruptSource(StrEnum):
    """What an interrupt came from."""

    BUTTON = "button"
    NATIVE_STOP = "native_stop"
    MESSAGE = "message"
    POLICY = "policy"
    TIMEOUT = "timeout"
    SIGTERM = "sigterm"
    API = "api"
    HALT = "halt"


class InterruptScope(StrEnum):
    """How far an interrupt reaches."""

    RUN = "run"
    FAMILY = "family"
    THREAD = "thread"


class InterruptState(StrEnum):
    """How far an interrupt has come."""

    TRIGGERED = "triggered"
    CANCELLING = "cancelling"
    DONE = "done"
    MOOT = "moot"


class ThreadState(StrEnum):
    """Whether a thread has work, and whether a worker has it."""

    IDLE = "idle"
    READY = "ready"
    RUNNING = "running"
    PARKED = "parked"


class RunState(StrEnum):
    """How far a run has come."""

    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    PARKED = "parked"
    SETTLED = "settled"


class ParkedFor(StrEnum):
    """What a parked run waits for."""

    PAUSED = "paused"
    APPROVAL = "approval"


class SettleReason(StrEnum):
    """How a run ended; written once."""

    COMPLETED = "completed"
    EMPTY = "empty"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ABANDONED = "abandoned"
    STEERED = "steered"
    STOPPED = "stopped"
    ROLLED_BACK = "rolled_back"
    DISPATCHED = "dispatched"
    AWAITING = "awaiting"


class StartedBy(StrEnum):
    """What made a run."""

    MESSAGE = "message"
    ALERT = "alert"
    SUBAGENT = "subagent"
    RERUN = "rerun"


class EventKind(StrEnum):
    """What an entry of a thread's history is."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_RESULT = "tool_result"
    CONTEXT = "context"
    ROLLED_BACK_TO = "rolled_back_to"


class CallOutcome(StrEnum):
    """How a tool call ended, as the history and the audit say it."""

    OK = "ok"
    FAILED = "failed"
    BLOCKED = "blocked"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    NOT_STARTED = "not_started"
    UNKNOWN = "unknown"


class Grade(StrEnum):
    """Whether a tool only reads; what is not known to be a read is a write."""

    READ = "read"
    WRITE = "write"


class FailureClass(StrEnum):
    """What made a run fail, in the classes the card has words for."""

    MODEL_AUTH = "model_auth"
    MODEL_NOT_FOUND = "model_not_found"
    MODEL_REQUEST = "model_request"
    MODEL_RATE_LIMITED = "model_rate_limited"
    MODEL_OVERLOADED = "model_overloaded"
    MODEL_UNREACHABLE = "model_unreachable"
    MODEL_STREAM = "model_stream"
    MODEL_UNKNOWN = "model_unknown"
    MODEL_LIMIT = "model_limit"
    HISTORY = "history"
    BUDGET = "budget"
    INTERNAL = "internal"


class ApprovalState(StrEnum):
    """How far the approval of a write has come; `used` is set in the transaction that starts the write."""

    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    USED = "used"
