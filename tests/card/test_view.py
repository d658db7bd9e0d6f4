"""What the card says, state by state, and that it says something true for any facts at all."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings

from bot.card import spans
from bot.card.view import FILLS, view
from bot.rules.card_facts import CardFacts, StepState
from bot.rules.card_states import CARD_STATES, HOLES, Action, CardState
from bot.rules.terms import FailureClass, InterruptKind, ParkedFor, RunState, SettleReason
from tests.card import samples
from tests.card.samples import NOW, RUNNING, SAMPLES, SETTLED, WRITING, ended

ASKED = [(), *(((kind, "U0BEN"),) for kind in InterruptKind)]
COMBINATIONS = list(itertools.product(RunState, [None, *ParkedFor], [None, *SettleReason], ASKED))


def words(facts: CardFacts) -> tuple[str, str]:
    seen = view(facts, NOW)
    return spans.plain(seen.badge), spans.plain(seen.now_line)


def context(facts: CardFacts) -> list[str]:
    return [spans.plain(piece) for piece in view(facts, NOW).context_line]


def lines(facts: CardFacts) -> list[str]:
    return [spans.plain(line) for line in view(facts, NOW).lines]


def labels(facts: CardFacts) -> list[str]:
    return [button.label for button in view(facts, NOW).buttons]


# state, title, line, buttons: the words of the page on the card, by hand
SAID = [
    (CardState.QUEUED, "waiting for a free worker", "Number 3 in line.", ["Stop"]),
    (
        CardState.RUNNING,
        "investigating · step 4",
        "Read metrics of the gateway gateway.internal/metrics · 3 s",
        ["Pause", "Stop"],
    ),
    (
        CardState.STEER_RECEIVED,
        "changing course",
        "Taking in @U0BEN's message when the 2 open calls are back (at most 5 s).",
        ["Stop"],
    ),
    (CardState.PAUSING, "pausing", "Pauses when the open call is back.", ["Stop"]),
    (
        CardState.PAUSED,
        "paused by @U0ANA",
        "Reply to add a note. Resume goes on from step 6.",
        ["Resume", "Stop"],
    ),
    (CardState.WANTS_APPROVAL, "needs a yes: restart checkout", "Nothing is sent before somebody says yes.", ["Stop"]),
    (
        CardState.STOPPING,
        "stopping",
        "2 reads dropped; waiting up to 3 s for Restart a service (checkout-7).",
        [],
    ),
    (CardState.STOPPED, "stopped by @U0ANA after 5 steps", "Mention me to go on.", []),
    (CardState.STEERED, "steered by @U0BEN", "Continued below.", []),
    (
        CardState.ROLLED_BACK,
        "taken back to step 3 by @U0ANA",
        "Steps 4 to 6 are set aside. Say where to go next.",
        [],
    ),
    (CardState.SUBAGENTS_OUT, "waiting for 2 of 3 sub-agents", "", ["Stop"]),
    (CardState.DONE, "done in 2 min 10 s", "3 calls · 0.02 USD. Answer below.", []),
    (CardState.NO_ANSWER, "ended without an answer", "Trying once more (1 of 2).", []),
    (
        CardState.FAILED,
        "failed",
        "The model service refused our key (401). Whoever runs Steersman: check ANTHROPIC_API_KEY.",
        [],
    ),
]


def test_every_state_has_a_sample_and_words_to_compare_with():
    compared = {state for state, *_ in SAID}

    assert compared == set(SAMPLES) == set(CardState)


@pytest.mark.parametrize(("state", "badge", "line", "buttons"), SAID)
def test_a_state_says_what_the_page_on_the_card_says(state, badge, line, buttons):
    seen = view(SAMPLES[state], NOW)

    assert seen.state is state
    assert seen.title == "Why is checkout slow?"
    assert (spans.plain(seen.badge), spans.plain(seen.now_line)) == (badge, line)
    assert [button.label for button in seen.buttons] == buttons


def test_every_combination_of_state_reason_and_request_has_a_view():
    combined = [
        replace(RUNNING, run_state=run, parked_for=parked, settle_reason=reason, pending=pending)
        for run, parked, reason, pending in COMBINATIONS
    ]

    views = [view(facts, NOW) for facts in combined]

    assert all(seen.badge for seen in views)
    assert {seen.state for seen in views} == set(CardState)


@settings(max_examples=60, deadline=None)
@given(samples.facts)
def test_any_facts_at_all_have_a_view(facts):
    seen = view(facts, NOW)

    assert seen.title
    assert spans.plain(seen.badge)
    assert len(seen.steps) == len(facts.steps)
    assert not (seen.is_over and seen.buttons)


def test_a_settled_run_never_shows_a_call_as_going_on():
    steps = tuple(replace(WRITING, state=state, grade=grade) for state in StepState for grade in ("read", "write"))

    shown = [
        step.status
        for reason in SettleReason
        for step in view(replace(SETTLED, settle_reason=reason, steps=steps), NOW).steps
    ]

    assert shown
    assert set(shown) == {"complete", "error"}


def test_stop_and_pause_name_the_run_and_resume_names_the_pause():
    running, paused = view(RUNNING, NOW), view(SAMPLES[CardState.PAUSED], NOW)

    values = {button.action: button.value for button in (*running.buttons, *paused.buttons)}

    assert values == {
        Action.PAUSE: "v1:9c417f3a",
        Action.STOP: "v1:9c417f3a",
        Action.RESUME: "v1:9c417f3a:p1",
    }


def test_a_pause_without_a_name_cannot_be_resumed_from_the_card():
    paused = replace(SAMPLES[CardState.PAUSED], pause_id=None)

    assert labels(paused) == ["Stop"]


def test_stop_is_red_resume_is_green_and_pause_is_plain():
    buttons = (*view(RUNNING, NOW).buttons, *view(SAMPLES[CardState.PAUSED], NOW).buttons)

    styles = {button.label: button.style for button in buttons}

    assert styles == {"Stop": "danger", "Pause": "", "Resume": "primary"}


@pytest.mark.parametrize("state", [state for state in CardState if CARD_STATES[state].is_over])
def test_a_card_that_is_over_has_no_buttons(state):
    seen = view(SAMPLES[state], NOW)

    assert seen.is_over
    assert seen.buttons == ()


def test_the_family_can_be_stopped_until_the_last_sub_agent_has_reported():
    out = SAMPLES[CardState.SUBAGENTS_OUT]
    reported = replace(out, subagents=tuple(replace(each, is_out=False) for each in out.subagents))
    unknown = replace(out, subagents=())

    assert (labels(out), labels(unknown), labels(reported)) == (["Stop"], ["Stop"], [])


def test_each_sub_agent_is_named_with_its_step():
    told = lines(SAMPLES[CardState.SUBAGENTS_OUT])

    assert told == [
        "Look at the database · step 3",
        "Look at the gateway · step 2",
        "Look at the deploys · has reported",
    ]


def test_a_stopped_card_names_what_was_finished_dropped_not_started_and_uncertain():
    told = lines(SAMPLES[CardState.STOPPED])

    assert told == [
        "Finished: Read metrics of checkout, Read its last 200 log lines",
        "Not started: Scale out",
        "Dropped: Read metrics of the gateway",
        "Uncertain: Restart a service (checkout-7) may have happened, check before retrying",
    ]


@pytest.mark.parametrize("state", list(CardState))
def test_a_call_that_may_have_happened_is_named_whatever_the_state(state):
    facts = replace(SAMPLES[state], steps=(replace(WRITING, state=StepState.UNKNOWN),))

    assert "Uncertain: Restart a service (checkout-7) may have happened, check before retrying" in lines(facts)


def test_a_run_that_ends_empty_shows_what_was_found():
    told = lines(SAMPLES[CardState.NO_ANSWER])

    assert told == ["Finished: Read metrics of checkout, Read its last 200 log lines"]


def test_the_small_print_says_who_asked_when_how_long_what_waits_and_which_run():
    assert context(RUNNING) == [
        "asked by @U0ANA", "started 22:13 UTC", "42 s", "1 message waiting", "run 9c417f3a"
    ]  # fmt: skip


def test_the_small_print_of_a_run_that_is_over_says_what_it_used_and_what_was_kept():
    assert context(SAMPLES[CardState.STOPPED]) == [
        "asked by @U0ANA", "22:13 UTC to 22:15 UTC", "5 calls · 0.02 USD", "2 messages kept as notes", "run 9c417f3a"
    ]  # fmt: skip


def test_the_small_print_of_a_paused_run_counts_held_messages_and_stops_the_clock():
    told = context(SAMPLES[CardState.PAUSED])

    assert "started 22:13 UTC · paused 22:13 UTC" in told
    assert "32 s" in told
    assert "2 messages held until you resume" in told


def test_a_queued_run_is_not_said_to_have_started():
    told = context(SAMPLES[CardState.QUEUED])

    assert "waiting since 22:13 UTC" in told
    assert not any("started" in piece for piece in told)


@pytest.mark.parametrize(
    ("held_by", "line"),
    [
        ("person", "Number 3 in line. One person may have no more analyses at work."),
        ("channel", "Number 3 in line. This channel may have no more analyses at work."),
        ("workspace", "Number 3 in line. This workspace may have no more analyses at work."),
    ],
)
def test_a_run_that_a_limit_holds_says_its_place_and_why_and_promises_no_worker(held_by, line):
    held = replace(SAMPLES[CardState.QUEUED], held_by=held_by)

    assert words(held)[:2] == ("waiting for its turn", line)


def test_a_run_that_waits_for_a_yes_is_not_said_to_be_paused():
    waiting = replace(SAMPLES[CardState.WANTS_APPROVAL], paused_at=NOW - 10)

    assert not any("paused" in piece for piece in context(waiting))


def test_of_a_long_run_id_the_end_is_shown_because_ids_of_a_minute_begin_alike():
    told = context(replace(RUNNING, run_id="01890a5d-ac96-774b-bcce-b302099a8057"))

    assert told[-1] == "run 099a8057"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"steps": ()}, "Thinking about the next step"),
        ({"steps": (replace(WRITING, state=StepState.WAITING),)}, "Restart a service checkout-7 · waiting its turn"),
        (
            {"steps": (WRITING, replace(WRITING, started_at=NOW - 61), WRITING)},
            "Restart a service checkout-7 · 1 min 1 s · and 2 others",
        ),
        ({"steps": (replace(WRITING, started_at=None),)}, "Restart a service checkout-7"),
        ({"steps": (replace(WRITING, started_at=NOW + 9),)}, "Restart a service checkout-7 · 0 s"),
    ],
)
def test_the_line_of_a_running_card_is_what_happens_now(changes, line):
    assert words(replace(RUNNING, **changes))[1] == line


def test_the_first_step_of_a_run_has_no_number_yet():
    assert words(replace(RUNNING, round=0))[0] == "investigating"


STEER = (InterruptKind.STEER, "U0BEN")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"open_calls": 0}, "Taking in @U0BEN's message."),
        ({"open_calls": 1, "patience_s": None}, "Taking in @U0BEN's message when the open call is back."),
        # A write is waited for, however long it takes: "at most 5 s" would not be true.
        ({"steps": (WRITING,)}, "Taking in @U0BEN's message when the 2 open calls are back."),
        (
            {"pending": (STEER, (InterruptKind.STEER, "ana")), "open_calls": 0},
            "Taking in @U0BEN's and ana's messages.",
        ),
        ({"pending": (STEER, STEER), "open_calls": 0}, "Taking in @U0BEN's messages."),
        ({"pending": ((InterruptKind.STEER, ""),), "open_calls": 0}, "Taking in a new message."),
    ],
)
def test_a_steer_is_received_with_whose_it_is_and_what_it_waits_for(changes, line):
    assert words(replace(SAMPLES[CardState.STEER_RECEIVED], **changes))[1] == line


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ((), "Ending."),
        ((samples.READING,), "1 read dropped."),
        ((WRITING,), "Waiting up to 3 s for Restart a service (checkout-7)."),
    ],
)
def test_a_stopping_card_says_what_is_dropped_and_what_is_waited_for(steps, line):
    assert words(replace(SAMPLES[CardState.STOPPING], steps=steps))[1] == line


@pytest.mark.parametrize(
    ("facts", "badge"),
    [
        (ended(SettleReason.STOPPED, acted_by="", round=0), "stopped"),
        (ended(SettleReason.STOPPED, acted_by="the API", round=1), "stopped by the API after 1 step"),
        (ended(SettleReason.STEERED), "steered"),
        (ended(SettleReason.ROLLED_BACK), "taken back"),
        (ended(SettleReason.ROLLED_BACK, rolled_back_to=0), "taken back to the start"),
        (ended(SettleReason.COMPLETED, started_at=None), "done"),
        (ended(SettleReason.COMPLETED, settled_at=samples.STARTED + 0.25), "done in 250 ms"),
        (ended(SettleReason.AWAITING), "waiting for an answer"),
        (ended(SettleReason.DISPATCHED), "waiting for sub-agents"),
    ],
)
def test_what_is_not_known_is_left_out_of_the_title(facts, badge):
    assert words(facts)[0] == badge


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        (ended(SettleReason.COMPLETED, cost=None, calls=1), "1 call · 12,300 tokens · price unknown. Answer below."),
        (ended(SettleReason.COMPLETED, cost=None, tokens=0), "3 calls · price unknown. Answer below."),
        (ended(SettleReason.COMPLETED, cost=0.0), "3 calls · 0.00 USD. Answer below."),
        (ended(SettleReason.COMPLETED, cost=0.004), "3 calls · under 0.01 USD. Answer below."),
        (ended(SettleReason.EMPTY), "Mention me to try again."),
        (ended(SettleReason.ROLLED_BACK, rolled_back_to=3, round=4), "Step 4 is set aside. Say where to go next."),
        (ended(SettleReason.ROLLED_BACK, rolled_back_to=4, round=4), "Say where to go next."),
        (
            ended(SettleReason.ROLLED_BACK, rolled_back_to=0, round=4),
            "Steps 1 to 4 are set aside. Say where to go next.",
        ),
        (
            ended(SettleReason.ROLLED_BACK, rolled_back_by="U0ANA", round=4),
            "All its steps are set aside. Say where to go next.",
        ),
        (
            ended(SettleReason.ROLLED_BACK, rolled_back_to=4, round=4, next_card_permalink="https://a.slack.test/p1"),
            "Continued below.",
        ),
        (
            ended(SettleReason.TIMED_OUT),
            "It took longer than an analysis may take. Ask again, if you can with a narrower question.",
        ),
        (
            ended(SettleReason.TIMED_OUT, paused_at=NOW),
            "It was paused, and nobody resumed it in time. Ask again to start over.",
        ),
        (
            ended(SettleReason.FAILED, failure=FailureClass.MODEL_STREAM, rerun=(1, 2)),
            "The model's message broke off before its end. Ask again. Trying once more (1 of 2).",
        ),
    ],
)
def test_the_line_of_a_run_that_is_over_says_what_it_brought_and_what_to_do(facts, line):
    assert words(facts)[1] == line


def test_a_failure_without_a_class_is_ours_to_explain():
    told = words(ended(SettleReason.FAILED))[1]

    assert told.startswith("Something went wrong inside Steersman.")


def test_there_are_words_for_every_hole_and_no_others():
    assert set(FILLS) == set(HOLES)
