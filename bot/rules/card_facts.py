"""What storage tells the card about one run. Plain values only: no rows, no objects of any library, no markup.

All times are seconds since the epoch, UTC. Texts come as people, models and tools wrote them, scrubbed of secrets but
not escaped and not shortened: the card does both, once.
"""

from dataclasses import dataclass
from enum import StrEnum

from bot.rules.terms import ApprovalState, FailureClass, Grade, InterruptKind, ParkedFor, RunState, SettleReason


class StepState(StrEnum):
    """How far a call has come; the ends have the values of CallOutcome."""

    WAITING = "waiting"
    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"
    BLOCKED = "blocked"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    NOT_STARTED = "not_started"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One call, as `tool_calls` has it; `title` and `target` are its CallLabel, `blocked_by` says what refused it.

    `request_id` joins it with its approval, `round` is the number of the step that it belongs to.
    """

    call_id: str
    title: str
    target: str = ""
    state: StepState = StepState.RUNNING
    grade: Grade = Grade.READ
    status: int | None = None
    elapsed_ms: int | None = None
    started_at: float | None = None
    blocked_by: str | None = None
    request_id: str = ""
    round: int = 0


@dataclass(frozen=True, slots=True)
class SubAgentFacts:
    """A sub-agent that this run has sent out; `is_out` until it has reported."""

    title: str
    step: int = 0
    is_out: bool = True


@dataclass(frozen=True, slots=True)
class ApprovalFacts:
    """The approval that a write needs.

    shown: the call in full, in plain text. approvers: ids of users and of user groups, as the tool names them.
    needed: how many of them must say yes. votes: the ids of those who have. request_id: the call's.
    """

    id: str
    request_id: str
    title: str
    shown: str
    approvers: tuple[str, ...]
    needed: int
    votes: tuple[str, ...]
    expires_at: float
    state: ApprovalState


@dataclass(frozen=True, slots=True)
class CardFacts:
    """Everything that a card shows.

    requested_by, acted_by: a user id, or a name where there is none; acted_by is who stopped, paused, steered or
        took back the run (settlements.decided_by, runs.acted_by).
    pending: interrupts that wait to be carried out, with who asked for each (a user id or a name, may be empty).
    round: how many model messages of the run are stored, so the number of the step under way; 0 before the first.
    started_at: of the first claim; of a queued run, when it was asked for. queue_position: 1 is next.
    held_by: the limit of live runs that a queued run waits for (LiveLimit).
    pause_id: names the pause that holds, for the Resume button.
    paused_at: of the pause that holds or that ended the run; None once it was resumed, or it would be told as the end.
    open_calls: calls without an answer. waiting_messages start the next run, held_messages wait for Resume,
        notes_count were turned into notes when the run ended, withdrawn_count were taken away by its stop.
    is_reminded: the pause that holds is near its end, and the thread was told.
    cost: US dollars; None where the price of the model is not known.
    rerun: (n, m): a try number n of m follows this run by itself.
    rolled_back_by: who took the thread back to before the end of this run, empty where nobody has. rolled_back_to: the
        last step of this run that still counts, 0 for its start, None where it counts no more at all.
    failure, failure_detail, status_code, key_setting: see failure_words.
    approvals: of every write of the run that needed one, in the order in which they were asked for.
    """

    run_id: str
    title: str
    run_state: RunState
    parked_for: ParkedFor | None = None
    settle_reason: SettleReason | None = None
    failure: FailureClass | None = None
    failure_detail: str = ""
    status_code: int | None = None
    key_setting: str | None = None
    requested_by: str = ""
    acted_by: str = ""
    pending: tuple[tuple[InterruptKind, str], ...] = ()
    queue_position: int | None = None
    held_by: str | None = None
    steps: tuple[StepFacts, ...] = ()
    round: int = 0
    open_calls: int = 0
    waiting_messages: int = 0
    held_messages: int = 0
    notes_count: int = 0
    started_at: float | None = None
    settled_at: float | None = None
    paused_at: float | None = None
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    next_card_permalink: str | None = None
    answer_permalink: str | None = None
    write_grace_s: float = 3.0
    patience_s: float | None = 5.0
    rerun: tuple[int, int] | None = None
    pause_id: str | None = None
    rolled_back_to: int | None = None
    withdrawn_count: int = 0
    is_reminded: bool = False
    rolled_back_by: str = ""
    subagents: tuple[SubAgentFacts, ...] = ()
    approvals: tuple[ApprovalFacts, ...] = ()
