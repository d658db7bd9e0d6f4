"""Slack's payloads and what is read from them. The payloads are shaped as Slack sends them, ids are made up."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.rules.inbound_message import (
    AuthorFacts,
    Deletion,
    Edit,
    Message,
    NativeStop,
    Nothing,
    OurIds,
    OwnEcho,
    ts_order,
)
from bot.rules.message_words import command_of
from bot.rules.terms import Command
from bot.slack.inbound import parse

OURS = OurIds(team_id="T0HOME", bot_user_id="U0SELF", bot_id="B0SELF", app_id="A0SELF")
ROOT, REPLY = "1790000000.000100", "1790000050.001700"
REPORTS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "field_reports.jsonl").read_text("utf-8").splitlines()
]
BODIES = {
    step["slack_event"]["event_id"] + report["id"]: step["slack_event"]
    for report in REPORTS
    for step in report["given"]
    if "slack_event" in step
}


def reported(event_id, report):
    return BODIES[event_id + report]


def body(**event):
    """An event_callback around one event."""
    said = {"type": "message", "channel": "C0INC", "channel_type": "channel", "user": "U0ANA", "ts": REPLY} | event
    return {"type": "event_callback", "team_id": "T0HOME", "event_id": "Ev900", "event": said}


def changed(message, previous, **event):
    said = {"ts": "1790000060.000200", "event_ts": "1790000060.000200", "hidden": True}
    return body(subtype="message_changed", message=message, previous_message=previous, **said, **event)


def human(text, **more):
    return {"type": "message", "user": "U0ANA", "ts": REPLY, "thread_ts": ROOT, "text": text} | more


EDITED = {"user": "U0ANA", "ts": "1790000060.000000"}


def test_a_reply_is_read_with_its_root_and_its_key():
    message = parse(body(text="look at payments", thread_ts=ROOT, client_msg_id="c1-2"), OURS)

    assert message == Message(
        team_id="T0HOME",
        channel_id="C0INC",
        channel_type="channel",
        ts=REPLY,
        thread_ts=ROOT,
        author=AuthorFacts("U0ANA", team_id="T0HOME"),
        text="look at payments",
        raw_text="look at payments",
        mentions_bot=False,
        dedupe_key=f"m:T0HOME:C0INC:{REPLY}",
        client_msg_id="c1-2",
    )
    assert message.gesture_key == "g:T0HOME:C0INC:U0ANA:c1-2"


def test_a_root_is_its_own_thread_and_keeps_the_zeros_of_its_time():
    message = parse(reported("Ev110", "PB-054"), OURS)

    assert (message.ts, message.thread_ts) == ("1790000110.001700", "1790000110.001700")


@pytest.mark.parametrize("field_report", ["PB-038", "PB-042", "PB-047", "PB-048", "PB-054"])
def test_every_message_of_a_field_report_is_read_into_the_thread_it_was_written_in(field_report):
    bodies = [each for key, each in BODIES.items() if key.endswith(field_report)]

    found = [parse(each, OURS) for each in bodies]

    wanted = [(each["event"]["ts"], each["event"].get("thread_ts", each["event"]["ts"])) for each in bodies]
    assert [(each.ts, each.thread_ts) for each in found] == wanted


def test_the_two_events_of_one_mention_are_one_message_whichever_comes_first():
    text = "<@U0SELF> why is checkout slow?"
    as_message = parse(body(text=text), OURS)
    as_mention = parse({**body(text=text, type="app_mention"), "event_id": "Ev901"}, OURS)

    assert as_message.mentions_bot is True
    assert as_message == as_mention


def test_a_redelivered_event_has_the_key_of_the_first():
    first, second = reported("Ev210", "PB-047"), {**reported("Ev210", "PB-047"), "retry_num": 2}

    assert parse(first, OURS).dedupe_key == parse(second, OURS).dedupe_key == "m:T0HOME:C0INC:1790000210.000100"


def test_equal_texts_at_two_times_are_two_messages():
    keys = {parse(reported(event_id, "PB-042"), OURS).dedupe_key for event_id in ("Ev100", "Ev101")}

    assert len(keys) == 2


def test_a_mention_in_rich_text_alone_counts():
    blocks = [{"type": "rich_text", "elements": [{"elements": [{"type": "user", "user_id": "U0SELF"}]}]}]

    assert parse(body(text="why?", blocks=blocks), OURS).mentions_bot is True


def test_a_reply_that_is_also_sent_to_the_channel_is_the_same_message():
    plain = parse(body(text="look", thread_ts=ROOT), OURS)
    broadcast = parse(body(text="look", thread_ts=ROOT, subtype="thread_broadcast"), OURS)

    assert broadcast == plain


def test_a_message_with_a_file_keeps_its_text_and_names_the_file():
    message = parse(body(text="see this", subtype="file_share", files=[{"name": "graph\n1.png"}, {}]), OURS)

    assert message.text == "see this\n(a file is attached: graph 1.png)\n(a file is attached: no name)"
    assert message.files == ("graph 1.png", "no name")
    assert message.author.is_system is False


@pytest.mark.parametrize("subtype", ["channel_join", "channel_topic", "bot_add", "new_one", 7, {"a": 1}])
def test_what_slack_says_itself_is_nobodys_message(subtype):
    assert parse(body(text="joined", subtype=subtype), OURS).author.is_system is True


def test_a_reminder_of_slackbot_is_nobodys_message():
    assert parse(body(text="Reminder: <@U0SELF> look", user="USLACKBOT"), OURS).author.is_system is True


@pytest.mark.parametrize(
    ("channel", "stated", "expected"),
    [("C0INC", None, "channel"), ("D0ANA", None, "im"), ("G0OPS", None, "group"), ("C0OPS", "group", "group")],
)
def test_the_kind_of_conversation_is_known_without_being_stated(channel, stated, expected):
    message = parse(body(text="hi", channel=channel, channel_type=stated), OURS)

    assert (message.channel_type, message.is_direct) == (expected, expected == "im")


def test_an_alert_says_its_words_in_attachments():
    message = parse(reported("Ev140", "PB-037"), OURS)

    assert message.text == "@U0SELF FIRING HighErrorRate api\nseverity: page"
    assert message.author == AuthorFacts(None, "B0ALRT", "A0ALRT", "T0HOME")


def test_a_post_in_a_persons_name_shows_the_app_that_made_it():
    author = parse(reported("Ev141", "PB-037"), OURS).author

    assert (author.user_id, author.app_id, author.is_app) == ("U0ANA", "A0WFLW", True)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({"user_team": "T9"}, "T9"), ({"source_team": "T9"}, "T9"), ({"team": "T9"}, "T9"), ({}, None)],
)
def test_in_a_shared_channel_the_author_is_of_the_team_that_is_named_and_of_none_by_default(fields, expected):
    shared = {**body(text="hi", **fields), "is_ext_shared_channel": True}

    message = parse(shared, OURS)

    assert (message.author.team_id, message.is_ext_shared) == (expected, True)


def test_a_thread_of_a_shared_channel_is_one_thread_whoever_writes_in_it():
    granted = {"authorizations": [{"team_id": "T0HOME"}], "is_ext_shared_channel": True}
    theirs = {**body(text="hi", user_team="T9"), "team_id": "T9", **granted}

    assert parse(theirs, OURS).dedupe_key == f"m:T0HOME:C0INC:{REPLY}"


@pytest.mark.parametrize("ours", [{"user": "U0SELF"}, {"bot_id": "B0SELF"}, {"bot_profile": {"app_id": "A0SELF"}}])
def test_our_own_post_tells_where_it_stands_by_its_key(ours):
    metadata = {"event_type": "steersman", "event_payload": {"post_key": "card:7f3a"}}

    posted = parse(body(text="card", metadata=metadata, **ours), OURS)
    painted = parse(changed({"ts": REPLY, "metadata": metadata, **ours}, {"ts": REPLY, **ours}), OURS)
    without = parse(body(text="card", **ours), OURS)

    assert posted == painted == OwnEcho("T0HOME", "C0INC", REPLY, "card:7f3a")
    assert without.author.is_self is True


def test_another_apps_post_with_our_key_is_no_echo():
    metadata = {"event_payload": {"post_key": "card:7f3a"}}

    assert isinstance(parse(body(text="x", bot_id="B9", metadata=metadata), OURS), Message)


def test_an_edit_by_a_person_has_the_new_text_and_its_own_key():
    edit = parse(changed(human("<@U0SELF> p99 &gt; 3s", edited=EDITED), human("p99 &gt; 2s")), OURS)

    assert edit == Edit(
        team_id="T0HOME",
        channel_id="C0INC",
        channel_type="channel",
        message_ts=REPLY,
        thread_ts=ROOT,
        edited_ts="1790000060.000000",
        editor_id="U0ANA",
        author=AuthorFacts("U0ANA", team_id="T0HOME"),
        text="p99 > 3s",
        raw_text="<@U0SELF> p99 &gt; 3s",
        mentions_bot=True,
        changed=True,
        dedupe_key=f"e:C0INC:{REPLY}:1790000060.000000",
    )


@pytest.mark.parametrize(
    ("message", "previous"),
    [
        (human("same"), human("same")),
        (human("same", edited=EDITED), human("same")),
        (human("new"), human("old")),
        (human("resolved", bot_id="B0ALRT", edited=EDITED), human("firing", bot_id="B0ALRT")),
    ],
)
def test_a_change_that_no_person_made_to_the_text_is_no_change_and_takes_no_edits_key(message, previous):
    edit = parse(changed(message, previous), OURS)

    assert (edit.changed, edit.dedupe_key) == (False, "ev:Ev900")


def test_a_link_preview_is_no_edit():
    assert parse(reported("Ev170", "PB-043"), OURS).changed is False


def test_a_mention_that_is_announced_again_because_of_an_edit_is_that_edit():
    again = body(type="app_mention", text="<@U0SELF> look", thread_ts=ROOT, edited=EDITED)

    edit = parse(again, OURS)

    assert (type(edit), edit.changed) == (Edit, True)
    assert edit.dedupe_key == parse(changed(human("a", edited=EDITED), human("b")), OURS).dedupe_key


def test_our_own_edit_without_a_key_is_nothing():
    assert isinstance(parse(changed({"ts": REPLY, "bot_id": "B0SELF"}, None), OURS), Nothing)


def test_a_deleted_message_is_named_with_its_thread_and_its_author():
    gone = body(subtype="message_deleted", deleted_ts=REPLY, previous_message=human("drain n7"))

    assert parse(gone, OURS) == Deletion("T0HOME", "C0INC", REPLY, ROOT, "U0ANA", f"d:C0INC:{REPLY}")


def test_a_deleted_root_with_replies_comes_as_a_tombstone_and_is_a_deletion():
    tombstone = {"subtype": "tombstone", "user": "USLACKBOT", "ts": ROOT, "thread_ts": ROOT}

    gone = parse(changed(tombstone, human("why?", ts=ROOT)), OURS)

    assert gone == Deletion("T0HOME", "C0INC", ROOT, ROOT, "U0ANA", f"d:C0INC:{ROOT}")


def test_a_deletion_that_says_no_more_than_the_time_is_still_one():
    gone = parse(reported("Ev191", "PB-045"), OURS)

    assert gone == Deletion(
        "T0HOME", "C0INC", "1790000190.000100", None, None, "d:C0INC:1790000190.000100"
    )  # fmt: skip


def test_the_deletion_of_our_own_post_is_nothing():
    gone = body(subtype="message_deleted", deleted_ts=REPLY, previous_message={"user": "U0SELF", "ts": REPLY})

    assert isinstance(parse(gone, OURS), Nothing)


def test_slacks_own_stop_button_names_the_thread():
    event = {"type": "agent_session_stopped", "thread_ts": ROOT, "user": "U0ANA", "event_ts": "1790000070.000300"}

    stop = parse(body(**event), OURS)

    key = f"s:C0INC:{ROOT}:1790000070.000300"
    assert stop == NativeStop("T0HOME", "C0INC", ROOT, "U0ANA", "1790000070.000300", key)
    assert stop.author == AuthorFacts("U0ANA")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "reaction_added"},
        {"type": "agent_session_stopped"},
        {"subtype": "message_replied"},
        {"channel": None},
        {"ts": 1790000050.0017},
        {"ts": "1790000050.0017001"},
        {"channel": "C0\x00INC"},
        {"subtype": "message_deleted"},
        {"subtype": "message_changed", "message": {"ts": "x"}},
    ],
)
def test_what_is_not_for_us_or_not_whole_is_nothing_and_says_why(event):
    nothing = parse(body(**event), OURS)

    assert (type(nothing), nothing.dedupe_key) == (Nothing, "ev:Ev900")
    assert nothing.why


def test_the_bare_word_with_a_mention_is_a_command_and_its_look_alikes_are_text():
    message = parse(reported("Ev010", "PB-015"), OURS)

    assert command_of(message.raw_text, OURS.bot_user_id) is Command.STOP
    for look_alike in ("stop the deploy on web-3 and look at web-4", "st\u200bop"):
        assert command_of(look_alike, OURS.bot_user_id) is None
        assert parse(body(text=look_alike), OURS).text == look_alike


def test_times_are_ordered_as_numbers():
    times = ["10.2", "9.10", "9.9", "1790000000.000100", "no time", ""]

    assert sorted(times, key=ts_order)[2:] == ["9.10", "9.9", "10.2", "1790000000.000100"]
    assert ts_order("1790000000.000100") == Decimal("1790000000.0001")


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted({*body()["event"], "message", "previous_message", "edited", "metadata", "files", "blocks", "subtype"})
fields_of_an_event = st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=5)


@settings(max_examples=150, deadline=None)
@given(json_values, fields_of_an_event)
def test_whatever_json_comes_something_is_read_from_it(anything, fields):
    for payload in (anything, {"event": fields}, body(**fields), changed(fields, anything), changed(anything, fields)):
        assert isinstance(parse(payload, OURS), Message | Edit | Deletion | OwnEcho | NativeStop | Nothing)


def test_no_depth_of_nesting_ends_the_reading():
    deep = []
    for _ in range(100_000):
        deep = [deep]

    assert isinstance(parse(body(text="", blocks=[{"type": "rich_text", "elements": deep}]), OURS), Message)
    assert isinstance(parse(changed(human(deep, edited=EDITED), human([deep])), OURS), Edit)
