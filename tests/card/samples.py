"""Facts for the tests of the card: one sample of every state, and strategies that make any facts at all."""

from dataclasses import replace

from hypothesis import strategies as st

from bot.rules.card_facts import ApprovalFacts, CardFacts, StepFacts, StepState, SubAgentFacts
from bot.rules.card_states import CardState
from bot.rules.terms import ApprovalState, FailureClass, Grade, InterruptKind, ParkedFor, RunState, SettleReason

STARTED = 1_700_000_000.0
NOW = STARTED + 42
OVER = STARTED + 130

METRICS = StepFacts("metrics01", "Read metrics of checkout", "checkout.internal/metrics", StepState.OK, status=200,
                    elapsed_ms=812, started_at=STARTED + 5)  # fmt: skip
LOGS = StepFacts("logs00001", "Read its last 200 log lines", "checkout.internal/logs", StepState.OK, status=200,
                 elapsed_ms=64, started_at=STARTED + 5)  # fmt: skip
BLOCKED = StepFacts("metadata1", "Read metadata of the host", "169.254.169.254/latest", StepState.BLOCKED,
                    blocked_by="address not allowed")  # fmt: skip
READING = StepFacts("gateway01", "Read metrics of the gateway", "gateway.internal/metrics", started_at=NOW - 3)
WRITING = StepFacts("restart01", "Restart a service", "checkout-7", grade=Grade.WRITE, started_at=NOW - 2)
ASKED = StepFacts("restart02", "restart checkout", "deploy.internal/services/checkout/restart", StepState.WAITING,
                  Grade.WRITE, request_id="req2")  # fmt: skip
APPROVAL = ApprovalFacts(
    id="apr-2",
    request_id="req2",
    title="restart checkout",
    shown='POST https://deploy.internal/services/checkout/restart\nservice = "checkout"\nbody:\n{\n  "drain": true\n}',
    approvers=("U0BEN", "S0ONCALL"),
    needed=2,
    votes=("U0BEN",),
    expires_at=NOW + 1_700,
    state=ApprovalState.WAITING,
)

RUNNING = CardFacts(
    run_id="9c417f3a",
    title="Why is checkout slow?",
    run_state=RunState.RUNNING,
    requested_by="U0ANA",
    steps=(METRICS, LOGS, BLOCKED, READING),
    round=4,
    open_calls=1,
    started_at=STARTED,
    calls=4,
    tokens=12_300,
    cost=0.0214,
    waiting_messages=1,
)
SETTLED = replace(RUNNING, run_state=RunState.SETTLED, settled_at=OVER, open_calls=0, waiting_messages=0)
PARKED = replace(
    RUNNING, run_state=RunState.PARKED, steps=(METRICS, LOGS, BLOCKED), round=5, open_calls=0, waiting_messages=0
)


def ended(reason: SettleReason, **more: object) -> CardFacts:
    """A run that was settled with this reason, whose calls had all ended."""
    return replace(SETTLED, **{"settle_reason": reason, "steps": (METRICS, LOGS, BLOCKED), "calls": 3, **more})


SAMPLES: dict[CardState, CardFacts] = {
    CardState.QUEUED: replace(
        RUNNING, run_state=RunState.QUEUED, steps=(), round=0, open_calls=0, queue_position=3, waiting_messages=0
    ),
    CardState.RUNNING: RUNNING,
    CardState.STEER_RECEIVED: replace(
        RUNNING, pending=((InterruptKind.STEER, "U0BEN"),), steps=(METRICS, READING, LOGS), open_calls=2
    ),
    CardState.PAUSING: replace(RUNNING, pending=((InterruptKind.PAUSE, "U0ANA"),)),
    CardState.PAUSED: replace(
        PARKED, parked_for=ParkedFor.PAUSED, acted_by="U0ANA", pause_id="p1", paused_at=NOW - 10, held_messages=2
    ),
    CardState.WANTS_APPROVAL: replace(
        PARKED, parked_for=ParkedFor.APPROVAL, steps=(METRICS, LOGS, ASKED), open_calls=1, approvals=(APPROVAL,)
    ),
    CardState.STOPPING: replace(
        RUNNING, run_state=RunState.CANCELLING, steps=(METRICS, READING, replace(READING, call_id="x"), WRITING)
    ),
    CardState.STOPPED: replace(
        SETTLED,
        settle_reason=SettleReason.STOPPED,
        acted_by="<@U0ANA>",
        round=5,
        notes_count=2,
        calls=5,
        steps=(
            METRICS,
            LOGS,
            replace(READING, state=StepState.CANCELLED),
            replace(WRITING, call_id="scale0001", title="Scale out", target="", state=StepState.NOT_STARTED),
            replace(WRITING, state=StepState.UNKNOWN),
        ),
    ),
    CardState.STEERED: ended(
        SettleReason.STEERED, acted_by="U0BEN", next_card_permalink="https://home.slack.test/archives/C1/p2"
    ),
    CardState.ROLLED_BACK: ended(SettleReason.ROLLED_BACK, acted_by="U0ANA", rolled_back_to=3, round=6),
    CardState.SUBAGENTS_OUT: ended(
        SettleReason.DISPATCHED,
        subagents=(
            SubAgentFacts("Look at the database", 3),
            SubAgentFacts("Look at the gateway", 2),
            SubAgentFacts("Look at the deploys", 5, is_out=False),
        ),
    ),
    CardState.DONE: ended(SettleReason.COMPLETED, answer_permalink="https://home.slack.test/archives/C1/p3"),
    CardState.NO_ANSWER: ended(SettleReason.EMPTY, rerun=(1, 2)),
    CardState.FAILED: ended(
        SettleReason.FAILED, failure=FailureClass.MODEL_AUTH, status_code=401, key_setting="ANTHROPIC_API_KEY"
    ),
}

NASTY = (
    "<!channel> <@U0BEN> & <https://evil.test|runbook>",
    "\x00\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 300,
    "e" + "\u0301" * 12_000,
    "\ud800 half a character",
    "`code` *bold* ~gone~ _it_",
    "",
    "\u200b\ufeff",
    "https://user:secret@host.test:99999/x|y?token=secret#frag",
    "x" * 15_000,
    "\u4f60\u597d" * 9_000,
)

words = st.one_of(st.sampled_from(NASTY), st.text(max_size=60))
people = st.one_of(st.sampled_from(["", "U0ANA", "<@U0BEN>", "ana", "<!here>"]), words)
times = st.one_of(st.none(), st.floats(-1e12, 1e13))
numbers = st.integers(-5, 10_000)

steps = st.builds(
    StepFacts,
    call_id=st.text("abcdefghi", min_size=9, max_size=9),
    title=words,
    target=words,
    state=st.sampled_from(StepState),
    grade=st.sampled_from(Grade),
    status=st.one_of(st.none(), numbers),
    elapsed_ms=st.one_of(st.none(), numbers),
    started_at=times,
    blocked_by=st.one_of(st.none(), words),
    request_id=st.sampled_from(["", "req1", "req2"]),
)
approvals = st.builds(
    ApprovalFacts,
    id=st.uuids().map(str),
    request_id=st.sampled_from(["req1", "req2"]),
    title=words,
    shown=words,
    approvers=st.lists(st.one_of(people, st.sampled_from(["S0ONCALL", "S<!here>"])), max_size=12).map(tuple),
    needed=st.integers(1, 2),
    votes=st.lists(people, max_size=3).map(tuple),
    expires_at=st.floats(-1e12, 1e13),
    state=st.sampled_from(ApprovalState),
)
# A few steps many times over: two hundred different ones would take the strategy longer than the card.
many_steps = st.builds(lambda few, times: tuple(few * times), st.lists(steps, max_size=4), st.integers(1, 50))

facts = st.builds(
    CardFacts,
    run_id=st.one_of(st.just("9c417f3a"), st.uuids().map(str)),
    title=words,
    run_state=st.sampled_from(RunState),
    parked_for=st.one_of(st.none(), st.sampled_from(ParkedFor)),
    settle_reason=st.one_of(st.none(), st.sampled_from(SettleReason)),
    failure=st.one_of(st.none(), st.sampled_from(FailureClass)),
    failure_detail=words,
    status_code=st.one_of(st.none(), numbers),
    key_setting=st.one_of(st.none(), st.just("ANTHROPIC_API_KEY")),
    requested_by=people,
    acted_by=people,
    pending=st.lists(st.tuples(st.sampled_from(InterruptKind), people), max_size=5).map(tuple),
    queue_position=st.one_of(st.none(), numbers),
    steps=many_steps,
    round=numbers,
    open_calls=numbers,
    waiting_messages=numbers,
    held_messages=numbers,
    notes_count=numbers,
    started_at=times,
    settled_at=times,
    paused_at=times,
    calls=numbers,
    tokens=numbers,
    cost=st.one_of(st.none(), st.floats(-1, 1e6)),
    next_card_permalink=st.one_of(st.none(), st.just("https://home.slack.test/p1"), words),
    answer_permalink=st.one_of(st.none(), words),
    write_grace_s=st.floats(0, 10),
    patience_s=st.one_of(st.none(), st.floats(0, 100)),
    rerun=st.one_of(st.none(), st.tuples(numbers, numbers)),
    pause_id=st.one_of(st.none(), st.just("p1")),
    rolled_back_to=st.one_of(st.none(), numbers),
    approvals=st.lists(approvals, max_size=4).map(tuple),
    rolled_back_by=people,
    subagents=st.lists(st.builds(SubAgentFacts, words, numbers, st.booleans()), max_size=12).map(tuple),
)
