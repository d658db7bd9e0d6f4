"""What the model is told after a thread was taken back: at every event a history that every service accepts.

Two kinds of history: those that storage itself writes (open calls answered, then one of the checkpoints that the rules
offer), which need no mending; and any events at all with any rollbacks in them, which are mended.
"""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agent.history import SET_ASIDE, flat, mend, project
from bot.agent.mending import FixKind
from bot.llm.anthropic_messages import request_body as anthropic_body
from bot.llm.openai_chat import request_body as openai_body
from bot.llm.provider import ModelRequest
from bot.llm.validate import check_anthropic, check_messages, check_openai
from bot.rules.card_facts import StepFacts, StepState
from bot.rules.checkpoints import WRITES, checkpoints, live, note
from bot.rules.messages import Event, ToolSchema, UserMessage
from bot.rules.terms import CallOutcome, EventKind, Grade
from tests.llm import histories, mistral
from tests.llm.histories import Thread

TOOLS = tuple(ToolSchema(name, "", {"type": "object"}) for name in histories.TOOLS)
WRITE = "restart-service"


class Chain:
    """A thread of several runs, as storage writes it; `audit` is what is known of the calls."""

    def __init__(self) -> None:
        self.thread, self.run, self.audit = Thread(), 0, {}

    def event(self, run: int) -> None:
        """Say of which run the newest event is."""
        self.thread.events[-1] = replace(self.thread.events[-1], run_id=f"run{run}")

    def asks(self, text: str) -> None:
        """A new run begins with what a person says."""
        self.run += 1
        self.thread.user(text)
        self.event(self.run)

    def calls(self, *names: str) -> tuple[str, ...]:
        """The model calls tools, and each starts."""
        ids = self.thread.calls(*names)
        self.event(self.run)
        for call_id, name in zip(ids, names, strict=True):
            grade = Grade.WRITE if name == WRITE else Grade.READ
            self.audit[call_id] = StepFacts(call_id, name, "checkout", StepState.OK, grade, started_at=1.0)
        return ids

    def answers(self, ids: tuple[str, ...], outcome: CallOutcome = CallOutcome.OK) -> None:
        """Every open call is answered."""
        for call_id in ids:
            self.thread.result(call_id, "ok", outcome)
            self.event(self.run)

    def goes_back(self, seq: int) -> None:
        """Somebody goes back, as storage writes it."""
        self.thread.rolls_back_to(seq, note(self.thread.events, seq, self.audit))
        self.event(self.run)

    def points(self) -> list[int]:
        """Every checkpoint of every run that is offered now."""
        found = (checkpoints(self.thread.events, f"run{run}", self.audit) for run in range(1, self.run + 1))
        return [each.seq for points in found for each in points]


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """Runs that are steered, cut with an open batch or answered, and taken back to any step of any of them."""
    chain = Chain()
    for _ in range(draw(st.integers(1, 4))):
        chain.asks(draw(st.sampled_from(histories.WORDS)))
        for _ in range(draw(st.integers(0, 3))):
            names = draw(st.lists(st.sampled_from(histories.TOOLS), min_size=1, max_size=3))
            chain.answers(draw(st.permutations(chain.calls(*names))), draw(st.sampled_from(CallOutcome)))
        if draw(st.booleans()):
            # Cut while a batch is open: its calls are answered, and only then is the thread taken back.
            chain.answers(chain.calls(WRITE, "get_logs"), CallOutcome.UNKNOWN)
        elif draw(st.booleans()):
            chain.thread.says("disk full")
            chain.event(chain.run)
        for _ in range(draw(st.integers(0, 2))):
            chain.goes_back(draw(st.sampled_from(chain.points())))
    return chain


def is_sendable(events: list[Event]) -> bool:
    """Whether no call is open in what is told of these events."""
    asked = {call["id"] for event in live(events) for call in event.body.get("calls", ())}
    answered = {event.body["call_id"] for event in live(events) if event.kind is EventKind.TOOL_RESULT}
    return asked == answered


def judged(messages) -> None:
    """Every judge there is accepts these messages."""
    request = ModelRequest("m", "be brief", messages, TOOLS, 100)
    check_messages(messages)
    check_openai(openai_body(request))
    check_anthropic(anthropic_body(request))
    assert mistral.refusal(messages) is None


@settings(max_examples=50, deadline=None)
@given(chains())
def test_at_every_event_of_a_thread_that_was_taken_back_the_history_is_valid_without_mending(chain):
    events = chain.thread.events
    for count in range(1, len(events) + 1):
        if is_sendable(events[:count]):
            mended = mend(project(events[:count]))

            assert {fix.kind for fix in mended.fixes} <= {FixKind.GO_ON}
            judged(mended.messages)


@settings(max_examples=50, deadline=None)
@given(st.data(), chains())
def test_after_a_rollback_nothing_is_told_of_what_came_after_its_point_but_one_note(data, chain):
    chain.asks("where now?")
    seq = data.draw(st.sampled_from(chain.points()))
    kept = project([event for event in live(chain.thread.events) if event.seq <= seq])
    chain.goes_back(seq)

    messages = project(chain.thread.events)

    told = f"{SET_ASIDE}\n{chain.thread.events[-1].body['note']}"
    if isinstance(kept[-1], UserMessage):
        assert messages == (*kept[:-1], UserMessage(f"{kept[-1].text}\n\n{told}"))
    else:
        assert messages == (*kept, UserMessage(told))


@settings(max_examples=50, deadline=None)
@given(chains())
def test_every_started_write_that_is_not_told_as_a_call_is_told_in_a_note(chain):
    events = chain.thread.events
    told = {call["id"] for event in live(events) for call in event.body.get("calls", ())}
    outcomes = {event.body["call_id"]: event.body["outcome"] for event in events if "outcome" in event.body}
    gone = [call_id for call_id, row in chain.audit.items() if row.grade is Grade.WRITE and call_id not in told]

    notes = "\n".join(event.body["note"] for event in live(events) if event.kind is EventKind.ROLLED_BACK_TO)

    started = [call_id for call_id in gone if outcomes[call_id] != CallOutcome.NOT_STARTED]
    assert notes.count("- restart-service (checkout): ") == len(started)
    assert (WRITES in notes) is bool(started)


@settings(max_examples=50, deadline=None)
@given(st.data(), histories.whole())
def test_any_events_with_any_rollbacks_can_be_sent_after_mending_also_as_plain_text(data, events):
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(events)))
        target = data.draw(st.one_of(st.none(), st.integers(-2, len(events) + 5)))
        events.insert(at, Event(0, "run1", EventKind.ROLLED_BACK_TO, {"seq": target, "note": "x"}))
    events = [replace(event, seq=seq) for seq, event in enumerate(events, 1)]

    for count in range(len(events) + 1):
        messages = mend(project(events[:count])).messages
        judged(messages)
        judged(flat(messages))


def test_going_back_twice_to_one_point_leaves_one_note_with_the_writes_of_both_spans():
    chain = Chain()
    chain.asks("why?")
    chain.answers(chain.calls(WRITE))
    chain.goes_back(1)
    chain.asks("again")
    chain.answers(chain.calls(WRITE), CallOutcome.UNKNOWN)
    chain.goes_back(1)

    (message,) = project(chain.thread.events)

    assert message.text == (
        f"@ana: why?\n\n{SET_ASIDE}\n{WRITES}\n"
        "- restart-service (checkout): done, not undone\n"
        "- restart-service (checkout): outcome unknown, check before doing it again; not undone"
    )


def test_a_rollback_after_a_chain_of_steers_brings_the_first_run_back_to_its_step():
    chain = Chain()
    chain.asks("why?")
    chain.answers(chain.calls("get_logs"))
    point = len(chain.thread.events)
    for text in ("not that host", "nor that one"):
        chain.answers(chain.calls("http_get"), CallOutcome.SUPERSEDED)
        chain.asks(text)
    chain.answers(chain.calls(WRITE, "get_logs"), CallOutcome.UNKNOWN)
    chain.goes_back(point)
    chain.asks("look at the pool")

    messages = project(chain.thread.events)

    assert [type(each).__name__ for each in messages] == [
        "UserMessage", "AssistantMessage", "ToolResult", "UserMessage",
    ]  # fmt: skip
    assert messages[-1].text.endswith("check before doing it again; not undone\n\n@ana: look at the pool")
    assert "host" not in str(messages)
