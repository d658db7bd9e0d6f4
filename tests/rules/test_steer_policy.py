"""Who may steer; the design's table is written out here a second time, row by row, by hand."""

import dataclasses
import itertools
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.rules.steer_policy import (
    EDIT_IS_NO_COMMAND,
    LOWEST_FIRST,
    MAY_BECOME,
    NOTED,
    PHASES,
    REFUSALS,
    STEER_POLICY,
    USE_THE_BUTTONS,
    Arrival,
    as_markdown,
    judge,
    judge_edit,
    look_up,
    lower_of,
    may_override,
    phase_in,
)
from bot.rules.terms import Command, Phase, Source, Verdict

DESIGN = """
| source | interject? | untouched | idle | running | paused | waiting for approval |
|---|---|---|---|---|---|---|
| requester | no | ignore | note | **steer** | hold | **steer** |
| requester | yes | start | start | **steer** | **steer** | **steer** |
| teammate | no | ignore | note | note | note | note |
| teammate | yes | start | start | **steer** | **steer** | **steer** |
| guest | no / yes | ignore / refuse | note / refuse | note / refuse | note / refuse | note / refuse |
| external (Slack Connect) | no / yes | ignore / refuse | ignore / refuse | ignore / refuse | ignore / refuse | ignore / refuse |
| alert bot (listed) | any | start | start | queue | queue | queue |
| other bot, self, system | any | ignore | ignore | ignore | ignore | ignore |
| sub-agent report | any | - | start | queue | queue | queue |
"""  # noqa: E501

CELLS = {
    (Source.REQUESTER, False): "ignore note steer hold steer",
    (Source.REQUESTER, True): "start start steer steer steer",
    (Source.TEAMMATE, False): "ignore note note note note",
    (Source.TEAMMATE, True): "start start steer steer steer",
    (Source.GUEST, False): "ignore note note note note",
    (Source.GUEST, True): "refuse refuse refuse refuse refuse",
    (Source.EXTERNAL, False): "ignore ignore ignore ignore ignore",
    (Source.EXTERNAL, True): "refuse refuse refuse refuse refuse",
    (Source.ALERT_BOT, False): "start start queue queue queue",
    (Source.ALERT_BOT, True): "start start queue queue queue",
    (Source.OTHER_BOT, False): "ignore ignore ignore ignore ignore",
    (Source.OTHER_BOT, True): "ignore ignore ignore ignore ignore",
    (Source.SELF, False): "ignore ignore ignore ignore ignore",
    (Source.SELF, True): "ignore ignore ignore ignore ignore",
    (Source.SYSTEM, False): "ignore ignore ignore ignore ignore",
    (Source.SYSTEM, True): "ignore ignore ignore ignore ignore",
    (Source.SUBAGENT, False): "- start queue queue queue",
    (Source.SUBAGENT, True): "- start queue queue queue",
}
ORDER = (Phase.UNTOUCHED, Phase.IDLE, Phase.RUNNING, Phase.PAUSED, Phase.WAITING_APPROVAL)
CUTS_OR_STARTS = {Verdict.START, Verdict.STEER, Verdict.QUEUE, Verdict.COMMAND}
INSIDERS = (Source.REQUESTER, Source.TEAMMATE, Source.GUEST)
EVERY_KEY = list(itertools.product(Source, (False, True), Phase))


def arrival(source=Source.REQUESTER, phase=Phase.RUNNING, text="look at payments instead", **more):
    facts = {"slack_ts": "1790000050.000100", "bot_user_id": "U0SELF", "mentions_bot": "<@U0SELF>" in text} | more
    return Arrival(source=source, phase=phase, text=text, **facts)


arrivals = st.builds(
    arrival,
    source=st.sampled_from(Source),
    phase=st.sampled_from(Phase),
    text=st.sampled_from(["stop", "<@U0SELF> stop", "!resume", "yes", "<@U0BOB> hi", "why?", "! now", ""]) | st.text(),
    mentions_bot=st.booleans(),
    is_direct=st.booleans(),
    is_approver=st.booleans(),
    answer_ts=st.sampled_from([None, Decimal(0), Decimal("Infinity")]),
    family_at_work=st.booleans(),
    first_since_settlement=st.booleans(),
)
anything = settings(max_examples=300, deadline=None)
overrides = st.dictionaries(st.sampled_from(EVERY_KEY), st.sampled_from(Verdict), max_size=30)


def test_the_table_is_total():
    assert set(STEER_POLICY) == set(EVERY_KEY)
    assert PHASES == ORDER


@pytest.mark.parametrize(("source", "interjected"), list(itertools.product(Source, (False, True))))
def test_a_row_says_what_the_design_says(source, interjected):
    found = [STEER_POLICY[source, interjected, phase] for phase in ORDER]

    assert ["-" if each is None else each.value for each in found] == CELLS[source, interjected].split()


def test_the_printed_table_is_the_design_word_for_word():
    head, _, *rows = DESIGN.strip().splitlines()

    printed_head, _, *printed_rows = as_markdown()["steer_policy"].splitlines()

    assert (printed_head, printed_rows) == (head, rows)


@pytest.mark.parametrize("key", EVERY_KEY)
def test_a_message_gets_the_verdict_of_its_row_and_the_row_by_name(key):
    source, interjected, phase = key

    judgement = look_up(source, interjected, phase)

    told = "any" if CELLS[source, False] == CELLS[source, True] else "yes" if interjected else "no"
    impossible = "/impossible" if STEER_POLICY[key] is None else ""
    assert judgement.verdict is (STEER_POLICY[key] or Verdict.IGNORE)
    assert judgement.row == f"{source}/{told}/{phase}{impossible}"
    assert phase_in(judgement.row) is phase


@pytest.mark.parametrize("source", Source)
def test_who_is_refused_is_told_why_and_what_would_work_and_nobody_else_is_answered(source):
    replies = {look_up(source, flag, phase).reply for flag in (False, True) for phase in Phase}

    refused = "refuse" in CELLS[source, True]
    assert replies == ({REFUSALS[source], None} if refused else {None})
    assert set(REFUSALS) == set(Source)
    assert (REFUSALS[source] is not None) is (source in {*INSIDERS, Source.EXTERNAL})


def test_a_channel_may_turn_the_requesters_plain_messages_into_notes_and_the_row_says_so():
    own = {(Source.REQUESTER, False, Phase.RUNNING): Verdict.NOTE}

    judgement = judge(arrival(), own)

    assert (judgement.verdict, judgement.row) == (Verdict.NOTE, "requester/no/running/override")


def test_a_channel_may_let_guests_start_runs():
    own = {(Source.GUEST, True, Phase.IDLE): Verdict.START}

    judgement = judge(arrival(Source.GUEST, Phase.IDLE, "<@U0SELF> why is checkout slow?"), own)

    assert (judgement.verdict, judgement.reply) == (Verdict.START, None)


@pytest.mark.parametrize("key", [key for key in EVERY_KEY if "ignore ignore" in CELLS[key[0], False]])
@pytest.mark.parametrize("verdict", Verdict)
def test_no_override_opens_a_row_of_outsiders_and_bots(key, verdict):
    allowed = may_override(*key, verdict)

    assert allowed is (verdict in {Verdict.IGNORE, Verdict.REFUSE})
    assert look_up(*key, {key: verdict}).verdict in {Verdict.IGNORE, Verdict.REFUSE}


@pytest.mark.parametrize("verdict", Verdict)
def test_no_override_loses_a_report_of_a_sub_agent(verdict):
    own = {(Source.SUBAGENT, False, phase): verdict for phase in Phase}

    found = [look_up(Source.SUBAGENT, False, phase, own).verdict.value for phase in ORDER[1:]]

    assert found == ["start", "queue", "queue", "queue"]


def test_an_override_is_only_what_can_be_carried_out_in_its_phase():
    assert {
        Phase.UNTOUCHED: {Verdict.START, Verdict.REFUSE, Verdict.IGNORE},
        Phase.IDLE: {Verdict.START, Verdict.NOTE, Verdict.REFUSE, Verdict.IGNORE},
        Phase.RUNNING: {Verdict.STEER, Verdict.QUEUE, Verdict.NOTE, Verdict.REFUSE, Verdict.IGNORE},
        Phase.PAUSED: {Verdict.STEER, Verdict.QUEUE, Verdict.HOLD, Verdict.NOTE, Verdict.REFUSE, Verdict.IGNORE},
        Phase.WAITING_APPROVAL: {Verdict.STEER, Verdict.QUEUE, Verdict.NOTE, Verdict.REFUSE, Verdict.IGNORE},
    } == MAY_BECOME
    assert all(each is None or each in MAY_BECOME[phase] for (_, _, phase), each in STEER_POLICY.items())


@pytest.mark.parametrize("command", Command)
@pytest.mark.parametrize("phase", Phase)
def test_a_command_word_with_a_mention_is_a_button_in_every_phase(command, phase):
    judgement = judge(arrival(Source.REQUESTER, phase, f"<@U0SELF> {command}"))

    assert (judgement.verdict, judgement.command, judgement.reply) == (Verdict.COMMAND, command, None)
    assert judgement.row == f"requester/{command} as a word/{phase}"


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.PAUSED, Phase.WAITING_APPROVAL])
def test_a_bare_stop_of_the_requester_acts_while_a_run_is_unsettled(phase):
    assert judge(arrival(phase=phase, text="stop")).command is Command.STOP


def test_a_bare_stop_of_the_requester_acts_while_the_sub_agents_are_at_work():
    assert judge(arrival(phase=Phase.IDLE, text="stop", family_at_work=True)).command is Command.STOP


def test_when_nothing_is_running_a_bare_stop_is_an_ordinary_message():
    judgement = judge(arrival(phase=Phase.IDLE, text="stop"))

    assert (judgement.verdict, judgement.command) == (Verdict.NOTE, None)


@pytest.mark.parametrize("source", [Source.TEAMMATE, Source.GUEST])
def test_an_unaddressed_stop_of_somebody_else_ends_nothing(source):
    judgement = judge(arrival(source, text="stop"))

    assert (judgement.verdict, judgement.command) == (Verdict.NOTE, None)


@pytest.mark.parametrize("text", ["<@U0SELF> stop", "stop <@U0SELF>", "!stop"])
@pytest.mark.parametrize("source", INSIDERS)
def test_anyone_of_the_workspace_may_stop_by_addressing_the_bot(source, text):
    assert judge(arrival(source, text=text)).command is Command.STOP


@pytest.mark.parametrize("source", [Source.TEAMMATE, Source.GUEST])
def test_only_the_requester_and_approvers_resume_by_a_word(source):
    said = arrival(source, Phase.PAUSED, "<@U0SELF> resume")

    refused, allowed = judge(said), judge(dataclasses.replace(said, is_approver=True))

    assert (refused.verdict, refused.command) == (Verdict.REFUSE, None)
    assert refused.row == f"{source}/resume as a word/paused/not allowed"
    assert "Ask one of them" in refused.reply
    assert allowed.command is Command.RESUME


@pytest.mark.parametrize("text", ["stop the deploy on web-3 and look at web-4", "st\u200bop"])
def test_what_only_looks_like_stop_steers_with_its_whole_text(text):
    judgement = judge(arrival(text=text))

    assert (judgement.verdict, judgement.command) == (Verdict.STEER, None)


@pytest.mark.parametrize("source", [each for each in Source if each not in INSIDERS])
@pytest.mark.parametrize("phase", ORDER[1:])
def test_bots_and_outsiders_have_no_command_words(source, phase):
    judgement = judge(arrival(source, phase, "<@U0SELF> stop"))

    assert judgement == look_up(source, True, phase)


@pytest.mark.parametrize("word", ["approve", "Yes", "ok.", "go!", "deny", "no", "<@U0SELF> approve"])
@pytest.mark.parametrize("source", INSIDERS)
def test_an_answer_in_words_to_an_approval_decides_nothing_and_points_to_the_buttons(source, word):
    judgement = judge(arrival(source, Phase.WAITING_APPROVAL, word))

    assert (judgement.verdict, judgement.command, judgement.reply) == (Verdict.COMMAND, None, USE_THE_BUTTONS)


def test_a_yes_is_an_ordinary_message_while_no_approval_waits():
    assert judge(arrival(text="yes")).verdict is Verdict.STEER


def test_a_sentence_that_begins_with_yes_is_no_answer_to_an_approval():
    assert judge(arrival(phase=Phase.WAITING_APPROVAL, text="yes, as in May")).verdict is Verdict.STEER


@pytest.mark.parametrize("phase", ORDER)
@pytest.mark.parametrize("source", [*INSIDERS, Source.EXTERNAL])
def test_what_is_said_to_another_person_is_at_most_a_note(source, phase):
    judgement = judge(arrival(source, phase, "<@U0BOB> did you ask <@U0SELF> about this?"))

    plain = look_up(source, False, phase)
    assert judgement.verdict is (Verdict.NOTE if plain.verdict in {Verdict.STEER, Verdict.HOLD} else plain.verdict)
    assert judgement.row == f"{plain.row}/to another"


def test_an_alert_that_names_who_is_on_call_still_starts_a_run():
    assert judge(arrival(Source.ALERT_BOT, Phase.UNTOUCHED, "<@U0BOB> FIRING")).verdict is Verdict.START


def test_in_a_direct_message_a_name_at_the_beginning_is_what_it_is_about():
    text = "<@U0BOB> says that checkout is slow"

    assert judge(arrival(phase=Phase.UNTOUCHED, text=text, is_direct=True)).verdict is Verdict.START


@pytest.mark.parametrize(
    ("answer_ts", "expected"),
    [
        (None, Verdict.NOTE),
        (Decimal("1790000050.000099"), Verdict.NOTE),
        (Decimal("1790000050.000100"), Verdict.START),
        (Decimal("1790000050.000101"), Verdict.START),
        (Decimal("Infinity"), Verdict.START),
    ],
)
def test_a_plain_message_that_crosses_the_answer_starts_the_next_run(answer_ts, expected):
    judgement = judge(arrival(phase=Phase.IDLE, answer_ts=answer_ts))

    assert judgement.verdict is expected
    assert judgement.row.endswith("/unseen answer") is (expected is Verdict.START)


@pytest.mark.parametrize("own", [Verdict.IGNORE, Verdict.REFUSE])
def test_a_channel_that_takes_no_plain_messages_takes_none_across_the_answer(own):
    said = arrival(phase=Phase.IDLE, answer_ts=Decimal("Infinity"), first_since_settlement=True)

    judgement = judge(said, {(Source.REQUESTER, False, Phase.IDLE): own})

    assert (judgement.verdict, judgement.row) == (own, "requester/no/idle/override")
    assert judgement.reply != NOTED


def test_a_stop_that_crosses_the_answer_starts_nothing():
    assert judge(arrival(phase=Phase.IDLE, text="stop", answer_ts=Decimal("Infinity"))).command is Command.STOP


def test_what_a_teammate_says_across_the_answer_stays_a_note():
    assert judge(arrival(Source.TEAMMATE, Phase.IDLE, answer_ts=Decimal("Infinity"))).verdict is Verdict.NOTE


def test_only_the_first_plain_message_of_a_requester_after_a_settlement_is_answered():
    first = judge(arrival(phase=Phase.IDLE, first_since_settlement=True))
    second = judge(arrival(phase=Phase.IDLE))
    of_another = judge(arrival(Source.TEAMMATE, Phase.IDLE, first_since_settlement=True))

    assert [each.verdict for each in (first, second, of_another)] == [Verdict.NOTE] * 3
    assert [each.reply for each in (first, second, of_another)] == [NOTED, None, None]


def test_every_verdict_has_its_place_in_the_order_for_edits():
    assert sorted(LOWEST_FIRST) == sorted(Verdict)


def test_an_edit_that_takes_the_mention_away_takes_the_request_back():
    judgement = judge_edit(arrival(Source.TEAMMATE, Phase.IDLE, "why is checkout slow?"), Verdict.START)

    assert (judgement.verdict, judgement.row) == (Verdict.NOTE, "teammate/no/idle/edit")


def test_an_edit_that_adds_a_mention_to_a_note_leaves_it_a_note():
    judgement = judge_edit(arrival(Source.TEAMMATE, Phase.RUNNING, "<@U0SELF> look at payments"), Verdict.NOTE)

    assert (judgement.verdict, judgement.row) == (Verdict.NOTE, "teammate/yes/running/an edit may not raise")


def test_an_edit_into_a_command_word_commands_nothing_and_never_reaches_the_model():
    judgement = judge_edit(arrival(text="stop"), Verdict.STEER)

    assert (judgement.verdict, judgement.command, judgement.reply) == (Verdict.REFUSE, None, EDIT_IS_NO_COMMAND)


def test_a_row_without_a_phase_names_none():
    assert phase_in("") is None


@anything
@given(arrivals, st.sampled_from(Verdict), overrides)
def test_an_edit_never_raises_a_verdict(said, was, own):
    judgement = judge_edit(said, was, own)

    assert lower_of(judgement.verdict, was) is judgement.verdict
    assert judgement.command is None


@anything
@given(arrivals, overrides)
def test_every_message_has_one_verdict_whatever_a_channel_overrides(said, own):
    judgement = judge(said, own)

    assert judgement.verdict in Verdict
    assert judgement.row.startswith(f"{said.source}/")
    assert (judgement.command is None) or judgement.verdict is Verdict.COMMAND
    if said.source in {Source.EXTERNAL, Source.OTHER_BOT, Source.SELF, Source.SYSTEM}:
        assert judgement.verdict not in CUTS_OR_STARTS
