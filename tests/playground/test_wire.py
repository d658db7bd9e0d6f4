"""The store's rows as Slack's JSON."""

import pytest

from bot.playground.cast import CHECKOUT, DIRECT, INCIDENTS, USERS
from bot.playground.json_reading import as_object, flag_at, list_at, object_at, objects_at, text_at
from bot.playground.stamps import Stamps
from bot.playground.wire import channel_json, message_json, user_json
from bot.playground.workspace import Message, Workspace

C = INCIDENTS.id


@pytest.fixture
def workspace():
    return Workspace(Stamps(lambda: 1_700_000_000.0), lambda: None)


def said(workspace, user="U0ANA", text="hello", **rest):
    return workspace.add(Message(C, workspace.stamps.ts(), user, text, **rest))


def test_a_persons_message_has_no_trace_of_an_app(workspace):
    shown = message_json(workspace, said(workspace, client_msg_id="c1"))

    assert not {"bot_id", "app_id", "bot_profile", "metadata", "edited", "thread_ts"} & set(shown)
    assert (shown["team"], shown["client_msg_id"]) == ("T0PLAYGROUND", "c1")


def test_an_apps_message_names_the_app(workspace):
    shown = message_json(workspace, said(workspace, "U0ALERTS"))

    assert (shown["bot_id"], shown["app_id"]) == ("B0ALERTS", "A0ALERTS")
    assert shown["bot_profile"]["name"] == "Alertmanager"


def test_a_root_counts_its_replies_once_there_are_some(workspace):
    root = said(workspace)
    alone = message_json(workspace, root)
    last = said(workspace, "U0BEN", thread_ts=root.ts)

    shown = message_json(workspace, root)

    assert "reply_count" not in alone
    assert (shown["reply_count"], shown["reply_users"], shown["latest_reply"]) == (1, ["U0BEN"], last.ts)
    assert shown["thread_ts"] == root.ts


def test_a_reply_under_a_tombstone_belongs_to_slackbot(workspace):
    root = said(workspace)
    reply = said(workspace, thread_ts=root.ts)
    workspace.remove(root)

    shown = message_json(workspace, reply)

    assert shown["parent_user_id"] == "USLACKBOT"


@pytest.mark.parametrize(
    ("whole", "told"), [(True, {"event_type": "a", "event_payload": {}}), (False, {"event_type": "a"})]
)
def test_metadata_is_told_whole_or_by_its_type(workspace, whole, told):
    message = said(workspace, "UBOT", metadata={"event_type": "a", "event_payload": {}})

    shown = message_json(workspace, message, metadata=whole)

    assert shown["metadata"] == told


@pytest.mark.parametrize("user", USERS)
def test_every_user_says_whether_they_are_an_app_a_guest_or_neither(user):
    shown = user_json(user)

    assert shown["id"] == user.id
    assert (shown["is_bot"], shown["is_restricted"]) == (user.app_id is not None, user.name == "gus")
    assert ("is_stranger" in shown) == (user.name == "eve")


@pytest.mark.parametrize(
    ("channel", "shared"), [(INCIDENTS, True), (CHECKOUT, False), (DIRECT[0], False), (DIRECT[3], True)]
)
def test_a_conversation_says_whether_another_company_is_in_it(workspace, channel, shared):
    shown = channel_json(workspace, channel)

    assert shown["is_ext_shared"] is shared
    assert shown["is_im"] is channel.direct


def test_json_of_any_shape_reads_as_empty_where_it_does_not_fit():
    odd = {"text": 7, "object": "words", "list": {"a": 1}, "mixed": [{"a": 1}, "words"]}

    found = (text_at(odd, "text"), dict(object_at(odd, "object")), list(list_at(odd, "list")), as_object(None))

    assert found == ("", {}, [], {})
    assert objects_at(odd, "mixed") == [{"a": 1}, {}]
    assert text_at(odd, "nothing", "default") == "default"


@pytest.mark.parametrize(
    ("value", "set_"),
    [(True, True), ("1", True), ("true", True), (1, True), ("0", False), (False, False), (None, False)],
)
def test_a_flag_of_a_form_is_read_as_one_of_json(value, set_):
    found = flag_at({"flag": value}, "flag")

    assert found is set_
