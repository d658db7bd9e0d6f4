"""What a card says of the calls that wait for a yes: all of each, who may say it, until when; what became of it."""

from dataclasses import replace

import pytest

from bot.card import spans
from bot.card.steps import StepStatus
from bot.card.view import CardView, view
from bot.rules.card_facts import ApprovalFacts, CardFacts, StepState
from bot.rules.card_states import Action, CardState
from bot.rules.terms import ApprovalState, InterruptKind, ParkedFor, RunState, SettleReason
from tests.card.samples import APPROVAL, ASKED, METRICS, NOW, PARKED, READING, RUNNING, SAMPLES, ended

WAITS = SAMPLES[CardState.WANTS_APPROVAL]
SECOND = replace(APPROVAL, id="apr-3", request_id="req3", title="scale out", needed=1, votes=())


def said(approval: ApprovalFacts) -> list[str]:
    (ask,) = view(replace(WAITS, approvals=(approval,)), NOW).asks
    return [spans.plain(piece) for piece in ask.context_line]


def badge(seen: CardView) -> str:
    return spans.plain(seen.badge)


def note(facts: CardFacts) -> tuple[StepStatus, str]:
    step = view(facts, NOW).steps[-1]
    return step.status, spans.plain(step.note)


def test_a_call_that_waits_is_shown_in_full_with_who_may_say_yes_until_when_and_how_many_have():
    (ask,) = view(WAITS, NOW).asks

    assert (ask.title, ask.shown) == ("restart checkout", APPROVAL.shown)
    assert [spans.plain(piece) for piece in ask.context_line] == [
        "may approve: @U0BEN, @S0ONCALL",
        "until 22:42 UTC",
        "1 of 2 yes: @U0BEN",
    ]


def test_approve_and_deny_name_the_run_and_the_approval():
    (ask,) = view(WAITS, NOW).asks

    assert [(each.action, each.label, each.style, each.value) for each in ask.buttons] == [
        (Action.APPROVE, "Approve", "primary", "v1:9c417f3a:apr-2"),
        (Action.DENY, "Deny", "", "v1:9c417f3a:apr-2"),
    ]


def test_stop_stays_beside_them_and_names_the_run_only():
    seen = view(WAITS, NOW)

    assert [(each.action, each.value) for each in seen.buttons] == [(Action.STOP, "v1:9c417f3a")]


def test_an_empty_list_of_approvers_is_said_to_mean_nobody():
    words = said(replace(APPROVAL, approvers=()))

    assert words[0] == "nobody is named who may approve this; whoever runs Steersman can name approvers"


def test_many_approvers_are_counted_behind_the_first():
    words = said(replace(APPROVAL, approvers=tuple(f"U0{number}" for number in range(11))))

    assert words[0].endswith("@U07 and 3 others")


def test_several_calls_each_have_their_own_part_in_the_order_of_asking():
    seen = view(replace(WAITS, approvals=(APPROVAL, SECOND)), NOW)

    assert [ask.title for ask in seen.asks] == ["restart checkout", "scale out"]
    assert badge(seen) == "needs a yes: restart checkout and 1 other"
    assert [ask.buttons[0].value for ask in seen.asks] == ["v1:9c417f3a:apr-2", "v1:9c417f3a:apr-3"]


def test_what_is_decided_has_no_part_any_more():
    decided = tuple(
        replace(APPROVAL, id=f"apr{state}", state=state)
        for state in ApprovalState
        if state is not ApprovalState.WAITING
    )

    seen = view(replace(WAITS, approvals=(*decided, SECOND)), NOW)

    assert [ask.title for ask in seen.asks] == ["scale out"]


def test_a_run_whose_calls_are_all_decided_is_at_work_again():
    seen = view(replace(WAITS, approvals=(replace(APPROVAL, state=ApprovalState.APPROVED),)), NOW)

    assert (seen.state, seen.asks) == (CardState.RUNNING, ())


def test_a_call_is_asked_about_while_the_reads_beside_it_are_still_at_work():
    seen = view(replace(RUNNING, steps=(READING, ASKED), approvals=(APPROVAL,)), NOW)

    assert (seen.state, len(seen.asks)) == (CardState.WANTS_APPROVAL, 1)


@pytest.mark.parametrize("kind", [InterruptKind.STOP, InterruptKind.ROLLBACK, InterruptKind.PAUSE, InterruptKind.STEER])
def test_nothing_is_asked_any_more_once_the_run_is_being_cut(kind):
    seen = view(replace(RUNNING, steps=(ASKED,), approvals=(APPROVAL,), pending=((kind, "U0ANA"),)), NOW)

    assert (seen.state is CardState.WANTS_APPROVAL, seen.asks) == (False, ())


def test_a_paused_run_and_a_settled_one_ask_for_nothing():
    paused = replace(PARKED, parked_for=ParkedFor.PAUSED, approvals=(APPROVAL,))
    settled = [ended(reason, approvals=(APPROVAL,)) for reason in SettleReason]

    asked = [view(facts, NOW).asks for facts in (paused, *settled)]

    assert asked == [()] * len(asked)


@pytest.mark.parametrize(
    ("state", "step", "status", "words"),
    [
        (ApprovalState.WAITING, StepState.WAITING, StepStatus.PENDING, "needs a yes"),
        (ApprovalState.APPROVED, StepState.WAITING, StepStatus.PENDING, "approved, waiting its turn"),
        (ApprovalState.DENIED, StepState.BLOCKED, StepStatus.ERROR, "denied"),
        (ApprovalState.DENIED, StepState.WAITING, StepStatus.ERROR, "denied"),
        (ApprovalState.EXPIRED, StepState.BLOCKED, StepStatus.ERROR, "expired: nobody said yes in time"),
        (
            ApprovalState.SUPERSEDED,
            StepState.NOT_STARTED,
            StepStatus.ERROR,
            "not started, its approval does not count any more",
        ),
        (ApprovalState.USED, StepState.WAITING, StepStatus.PENDING, "waiting its turn"),
        (ApprovalState.USED, StepState.UNKNOWN, StepStatus.ERROR, "may have happened, check before retrying"),
        (ApprovalState.WAITING, StepState.NOT_STARTED, StepStatus.ERROR, "not started"),
    ],
)
def test_a_step_says_what_became_of_its_approval(state, step, status, words):
    facts = replace(
        WAITS,
        steps=(METRICS, replace(ASKED, target="", state=step, blocked_by="a person said no")),
        approvals=(replace(APPROVAL, state=state),),
    )

    assert note(facts) == (status, words)


def test_a_write_that_ran_after_its_yes_says_how_it_ended():
    done = replace(ASKED, target="", state=StepState.OK, status=200, elapsed_ms=812)

    facts = replace(WAITS, steps=(done,), approvals=(replace(APPROVAL, state=ApprovalState.USED),))

    assert note(facts) == (StepStatus.COMPLETE, "200 · 812 ms")


def test_in_a_run_that_is_over_a_call_that_still_waited_is_told_as_not_started():
    facts = ended(SettleReason.STOPPED, steps=(replace(ASKED, target=""),), approvals=(APPROVAL,))

    assert note(facts) == (StepStatus.ERROR, "not started")
    assert facts.run_state is RunState.SETTLED
