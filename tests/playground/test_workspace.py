"""The store of the local Slack."""

from dataclasses import replace

import pytest

from bot.errors import SlackError
from bot.playground.cast import CHANNELS, DIRECT, EVE, PEOPLE, STEERSMAN
from bot.playground.stamps import Stamps
from bot.playground.workspace import Ephemeral, Message, Session, View, Workspace

C = "C0INCIDENTS"


@pytest.fixture
def changes():
    return []


@pytest.fixture
def workspace(changes):
    return Workspace(Stamps(lambda: 1_700_000_000.0), lambda: changes.append(1))


def message(workspace, text="a", thread_ts=None, **rest):
    return workspace.add(Message(C, workspace.stamps.ts(), "U0ANA", text, (), thread_ts, **rest))


def refusal(look):
    with pytest.raises(SlackError) as refused:
        look()
    return refused.value.error


def test_everybody_has_direct_messages_with_the_bot_and_only_with_it():
    members = [channel.members for channel in DIRECT]

    assert members == [(person.id, STEERSMAN.id) for person in PEOPLE]
    assert all(channel.id.startswith("D") for channel in DIRECT)


def test_the_bot_is_in_every_channel_and_eve_only_in_the_shared_one(workspace):
    hers = [channel for channel in CHANNELS if EVE.id in channel.members and not channel.direct]

    assert all(STEERSMAN.id in channel.members for channel in CHANNELS)
    assert [channel.name for channel in hers] == ["incidents"]
    assert all(workspace.is_shared(channel) for channel in hers)


@pytest.mark.parametrize("name", ["ana", "Ana", "U0ANA"])
def test_a_person_is_found_by_name_and_by_id(workspace, name):
    found = workspace.user(name)

    assert found.id == "U0ANA"


def test_an_app_is_found_by_its_bot_id_too(workspace):
    found = workspace.user("B0ALERTS")

    assert found.name == "Alertmanager"


@pytest.mark.parametrize(("name", "found"), [("#incidents", C), ("incidents", C), (C, C), ("dm", "D0BEN")])
def test_a_channel_is_found_by_name_and_by_id(workspace, name, found):
    channel = workspace.channel(name, workspace.user("ben"))

    assert channel.id == found


def test_what_does_not_exist_is_named(workspace):
    user = refusal(lambda: workspace.user("zoe"))
    channel = refusal(lambda: workspace.channel("#nowhere"))
    thread = refusal(lambda: workspace.thread(C, "1.000001"))
    ephemeral = refusal(lambda: workspace.whispered("1.000001"))

    assert (user, channel, thread, ephemeral) == (
        "user_not_found",
        "channel_not_found",
        "thread_not_found",
        "message_not_found",
    )


def test_a_channel_shows_roots_and_broadcasts_but_no_other_replies(workspace):
    root = message(workspace, "root")
    message(workspace, "reply", root.ts)
    message(workspace, "to all", root.ts, broadcast=True)

    shown = [found.text for found in workspace.history(C)]

    assert shown == ["root", "to all"]


def test_a_thread_is_its_root_and_its_replies_in_order(workspace):
    root = message(workspace, "root")
    message(workspace, "another root")
    message(workspace, "first", root.ts)
    message(workspace, "second", root.ts)

    shown = [found.text for found in workspace.thread(C, root.ts)]

    assert shown == ["root", "first", "second"]


def test_a_reply_is_no_thread(workspace):
    root = message(workspace, "root")
    reply = message(workspace, "reply", root.ts)

    error = refusal(lambda: workspace.thread(C, reply.ts))

    assert error == "thread_not_found"


def test_a_changed_message_stays_one_message(workspace):
    before = message(workspace, "before")

    workspace.add(replace(before, text="after"))

    assert [found.text for found in workspace.history(C)] == ["after"]


def test_a_removed_root_leaves_a_tombstone_only_where_there_are_replies(workspace):
    lonely, root = message(workspace), message(workspace)
    message(workspace, "reply", root.ts)

    nothing, tombstone = workspace.remove(lonely), workspace.remove(root)

    assert nothing is None
    assert tombstone.tombstone
    assert tombstone.text == "This message was deleted."
    assert refusal(lambda: workspace.message(C, root.ts)) == "message_not_found"


def test_a_removed_reply_no_longer_counts(workspace):
    root = message(workspace)
    reply = message(workspace, "reply", root.ts)

    workspace.remove(reply)

    assert workspace.replies(C, root.ts) == []
    assert workspace.remove(root) is None


def test_a_whisper_can_be_taken_away(workspace):
    workspace.whisper(Ephemeral(C, "1.000001", "U0ANA", "psst"))

    workspace.drop_whisper("1.000001")

    assert workspace.ephemerals == []


def test_the_newest_open_modal_is_the_one_that_is_seen(workspace):
    for name in ("V1", "V2"):
        workspace.set_view(View(name, "U0ANA", {}))

    first = workspace.open_view("U0ANA")
    workspace.set_view(replace(first, state="closed"))

    assert first.id == "V2"
    assert workspace.open_view("U0ANA").id == "V1"


def test_every_change_is_told(workspace, changes):
    found = message(workspace)
    workspace.whisper(Ephemeral(C, "1.000001", "U0ANA", "psst"))
    workspace.drop_whisper("1.000001")
    workspace.set_session(Session(C, found.ts, "active"))
    workspace.set_view(View("V1", "U0ANA", {}))

    workspace.remove(found)

    assert len(changes) == 6
