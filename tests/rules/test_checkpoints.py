"""Where a run may be taken back to, and what is said of what was set aside; the words stand here a second time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.rules.card_facts import StepFacts, StepState
from bot.rules.checkpoints import (
    NOTHING_CHANGED,
    WRITE_WORDS,
    WRITES,
    Checkpoint,
    FoundCall,
    as_markdown,
    checkpoints,
    is_set_aside,
    live,
    note,
    one_line,
)
from bot.rules.terms import CallOutcome, EventKind, Grade
from tests.llm import histories
from tests.llm.histories import Thread


def write(call_id, title="Restart", target="checkout", *, started=True):
    """A write as the audit has it."""
    at = 1.0 if started else None
    return {call_id: StepFacts(call_id, title, target, StepState.OK, Grade.WRITE, 200, started_at=at)}


def read(call_id, title="Read /metrics", status=200):
    """A read as the audit has it."""
    return {call_id: StepFacts(call_id, title, "checkout/metrics", StepState.OK, Grade.READ, status, started_at=1.0)}


def investigated():
    """A run of two steps and an answer: one read, then a read and a write in one batch."""
    thread = Thread().user("why?")
    (first,) = thread.calls("http_get", text="I read\nthe metrics.")
    thread.result(first)
    second, third = thread.calls("http_get", "restart")
    thread.result(third, "done").result(second, "late", CallOutcome.FAILED).says("It was the pool.")
    return thread, {**read(first), **read(second, "Read /logs", None), **write(third)}


def test_the_checkpoints_are_the_start_and_the_end_of_every_answered_batch():
    thread, calls = investigated()

    found = checkpoints(thread.events, "run1", calls)

    assert found == (
        Checkpoint(1, 0),
        Checkpoint(3, 1, "I read the metrics.", (FoundCall("Read /metrics", CallOutcome.OK, 200),)),
        Checkpoint(6, 2, "", (FoundCall("Read /logs", CallOutcome.FAILED), FoundCall("Restart", CallOutcome.OK, 200))),
    )


def test_a_batch_with_an_open_call_is_no_checkpoint():
    thread = Thread().user("why?")
    first, _ = thread.calls("http_get", "http_get")
    thread.result(first)

    assert [each.seq for each in checkpoints(thread.events, "run1", {})] == [1]


def test_a_call_that_the_audit_does_not_know_is_named_by_its_tool():
    thread = Thread().user("why?")
    thread.result(*thread.calls("http_get"))

    found = checkpoints(thread.events, "run1", {})[-1]

    assert found.calls == (FoundCall("http_get", CallOutcome.OK),)


def test_what_is_set_aside_is_no_checkpoint_and_what_stands_before_it_still_is():
    thread, calls = investigated()
    thread.rolls_back_to(3)

    assert [each.seq for each in checkpoints(thread.events, "run1", calls)] == [1, 3]
    assert [seq for seq in range(1, 10) if is_set_aside(thread.events, seq)] == [4, 5, 6, 7]


def test_a_run_that_stored_nothing_and_a_run_of_another_thread_have_none():
    thread, calls = investigated()

    assert checkpoints(thread.events, "another", calls) == ()


def test_a_run_that_begins_with_a_step_starts_after_what_stood_before_it():
    thread, _ = investigated()
    earlier = len(thread.events)
    thread.append(EventKind.ROLLED_BACK_TO, seq=3)
    thread.events = [*thread.events[:earlier], *thread.events[earlier:]]
    (call,) = thread.calls("http_get")
    thread.result(call)
    own = thread.events[earlier + 1 :]
    moved = [*thread.events[: earlier + 1], *(_of("run2", event) for event in own)]

    assert [(each.seq, each.step) for each in checkpoints(moved, "run2", {})] == [(earlier + 1, 0), (earlier + 3, 1)]


def _of(run_id, event):
    return type(event)(event.seq, run_id, event.kind, event.body)


@given(histories.whole())
def test_every_checkpoint_is_a_live_event_after_which_no_call_is_open(events):
    for each in checkpoints(events, "run1", {}):
        before = [event for event in live(events) if event.seq <= each.seq]
        asked = {call["id"] for event in before for call in event.body.get("calls", ())}
        answered = {event.body["call_id"] for event in before if event.kind is EventKind.TOOL_RESULT}

        assert before[-1].seq == each.seq
        assert asked == answered


def test_the_note_names_each_write_that_was_started_with_how_it_ended():
    thread, calls = investigated()

    told = note(thread.events, 3, calls)

    assert told == f"{WRITES}\n- Restart (checkout): done, not undone"
    assert note(thread.events, 6, calls) == NOTHING_CHANGED


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("ok", "done, not undone"),
        ("failed", "failed; what it may have changed is not undone"),
        ("blocked", "blocked by a rule; what had left before that is not undone"),
        ("timed_out", "no answer in time: outcome unknown, check before doing it again; not undone"),
        ("cancelled", "broken off: outcome unknown, check before doing it again; not undone"),
        ("superseded", "broken off: outcome unknown, check before doing it again; not undone"),
        ("not_started", None),
        ("unknown", "outcome unknown, check before doing it again; not undone"),
    ],
)
def test_each_outcome_of_a_write_has_its_words(outcome, words):
    thread = Thread().user("why?")
    (call,) = thread.calls("restart")
    thread.result(call, "x", CallOutcome(outcome))

    told = note(thread.events, 1, write(call))

    assert set(WRITE_WORDS) == set(CallOutcome)
    assert told == (f"{WRITES}\n- Restart (checkout): {words}" if words else NOTHING_CHANGED)


def test_a_write_that_never_started_is_not_named():
    thread = Thread().user("why?")
    (call,) = thread.calls("restart")
    thread.result(call, "blocked: needs a yes", CallOutcome.BLOCKED)

    assert note(thread.events, 1, write(call, started=False)) == NOTHING_CHANGED


def test_a_call_that_nobody_knows_is_told_as_a_write_that_may_have_happened():
    thread = Thread().user("why?")
    thread.calls("restart")

    told = note(thread.events, 1, {})

    assert told == f"{WRITES}\n- restart: outcome unknown, check before doing it again; not undone"


def test_writes_that_an_earlier_rollback_had_set_aside_are_told_again_when_its_note_goes():
    thread, calls = investigated()
    thread.rolls_back_to(3, "the first note").user("go on")

    told = note(thread.events, 1, calls)

    assert "- Restart (checkout): done, not undone" in told


def test_that_a_message_was_deleted_is_kept_and_cannot_pass_for_a_line_of_its_own():
    thread = Thread().user("restart it")
    thread.user("@ana has deleted this message:\n@ben: yes", source="system", note=True).user("a person's words")

    assert note(thread.events, 1, {}) == f"{NOTHING_CHANGED}\n- @ana has deleted this message: @ben: yes"


@given(st.text(max_size=300), st.integers(2, 60))
def test_one_line_is_one_line_and_keeps_its_length(text, limit):
    line = one_line(text, limit)

    assert len(line) <= limit
    assert line.splitlines() in ([], [line])


def test_the_page_shows_the_words():
    table = as_markdown()["set_aside_writes"]

    assert "| ok | done, not undone |" in table
    assert "| not_started | (nothing: it never started) |" in table
