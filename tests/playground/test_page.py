"""The page: what is on it for whom, as the server draws it and as it is sent on."""

import asyncio
import json

import pytest

from bot.playground.cast import CHANNELS, PEOPLE
from bot.playground.local_slack import SlackOptions
from bot.playground.page import MOST_SHOWN, Page, Visit
from tests.playground.samples import actions, button, field, modal, section

C = "C0INCIDENTS"


def parts(slack, who="ana", channel=C, thread=""):
    page = Page(slack.workspace, lambda: slack.url, slack.options.facts)
    return page.parts(Visit.of(slack.workspace, who, channel, thread))


async def shown(slack, http, query=""):
    async with http.get(f"{slack.url}/{query}") as answer:
        return answer, await answer.text()


async def events(response):
    """What the live page sends, one change after another."""
    async for line in response.content:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


async def test_the_page_shows_who_said_what(slack, http):
    message = await slack.say("ana", C, "why is <checkout> slow?")

    answer, page = await shown(slack, http)

    assert answer.content_type == "text/html"
    assert f'data-testid="message-{message.ts}"' in page
    assert "why is &lt;checkout&gt; slow?" in page
    assert "4 people, 2 apps" in page


async def test_the_page_may_load_nothing_from_elsewhere(slack, http):
    answer, page = await shown(slack, http)

    policy = answer.headers["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in page.replace(slack.url, "")


@pytest.mark.parametrize("name", ["page.js", "page.css", "icon.svg"])
async def test_its_files_come_from_the_playground(slack, http, name):
    answer, _ = await shown(slack, http, f"static/{name}")

    assert answer.status == 200


async def test_every_person_and_every_channel_is_offered(slack):
    sidebar = parts(slack)["sidebar"]

    assert all(f'data-testid="person-{person.name}"' in sidebar for person in PEOPLE)
    assert [channel.name for channel in CHANNELS if f"channel={channel.id}" in sidebar] == [
        "incidents",
        "checkout",
        "Steersman",
    ]


async def test_a_person_sees_only_the_channels_that_they_are_in(slack):
    hers = parts(slack, "eve", "C0CHECKOUT")

    assert "C0CHECKOUT" not in hers["sidebar"]
    assert "# incidents" in hers["channel-head"]


@pytest.mark.parametrize(
    ("who", "channel", "thread", "visit"),
    [
        ("", "", "", ("ana", C, None)),
        ("ben", "#checkout", "", ("ben", "C0CHECKOUT", None)),
        ("ben", "dm", "", ("ben", "D0BEN", None)),
        ("zoe", "#nowhere", "1.000001", ("ana", C, None)),
        ("Steersman", "D0BEN", "", ("ana", C, None)),
    ],
)
async def test_an_address_that_leads_nowhere_leads_to_the_incidents(slack, who, channel, thread, visit):
    found = Visit.of(slack.workspace, who, channel, thread)

    assert (found.user.name, found.channel.id, found.thread) == visit


async def test_the_address_of_a_reply_opens_its_thread(slack):
    root = await slack.say("ana", C, "root")
    reply = await slack.say("ben", C, "reply", root.ts)

    visit = Visit.of(slack.workspace, "ana", C, reply.ts)

    assert visit.thread == root.ts
    assert visit.address() == f"/?channel={C}&thread={root.ts}&as=ana"


async def test_replies_are_in_the_thread_and_counted_in_the_channel(slack):
    root = await slack.say("ana", C, "root")
    await slack.say("ben", C, "a reply", root.ts)
    await slack.say("ben", C, "to everybody", root.ts, broadcast=True)

    found = parts(slack, thread=root.ts)

    assert "a reply" in found["thread-log"]
    assert "a reply" not in found["channel-log"]
    assert "to everybody" in found["channel-log"]
    assert ">2 replies</a>" in found["channel-log"]


async def test_only_its_reader_sees_an_ephemeral_and_only_in_its_place(slack):
    root = await slack.say("ana", C, "root")
    for thread_ts, words in ((None, "in the channel"), (root.ts, "in the thread")):
        arguments = {"channel": C, "user": "U0ANA", "text": words, "thread_ts": thread_ts}
        await slack.call("chat.postEphemeral", arguments)

    hers, his = parts(slack, "ana", thread=root.ts), parts(slack, "ben", thread=root.ts)

    assert "Only visible to you" in hers["channel-log"]
    assert ("in the channel" in hers["channel-log"], "in the thread" in hers["channel-log"]) == (True, False)
    assert ("in the channel" in hers["thread-log"], "in the thread" in hers["thread-log"]) == (False, True)
    assert "Only visible to you" not in his["channel-log"] + his["thread-log"]


async def test_only_the_author_may_edit_and_delete(slack):
    message = await slack.say("ana", C, "@Steersman see https://x.example")

    hers, his = parts(slack, "ana")["channel-log"], parts(slack, "ben")["channel-log"]

    assert f'data-testid="edit-{message.ts}"' in hers
    assert f'data-testid="delete-{message.ts}"' in hers
    assert 'data-raw="@Steersman see https://x.example"' in hers
    assert "edit-" not in his
    assert "data-raw" not in his


async def test_an_edited_message_says_so_and_a_deleted_root_too(slack):
    root = await slack.say("ana", C, "root")
    await slack.edit("ana", C, root.ts, "the root")
    edited = parts(slack)["channel-log"]
    await slack.say("ben", C, "a reply", root.ts)

    await slack.delete("ana", C, root.ts)

    assert "(edited)" in edited
    assert "This message was deleted." in parts(slack)["channel-log"]
    assert "edit-" not in parts(slack)["channel-log"]


@pytest.mark.parametrize(("user", "words"), [("gus", "guest"), ("eve", "other company"), ("alertmanager", "APP")])
async def test_a_message_says_what_its_author_is(slack, user, words):
    await slack.say(user, C, "hello")

    log = parts(slack)["channel-log"]

    assert f">{words}</span>" in log


async def test_a_card_is_drawn_from_its_blocks_and_a_person_from_the_text(slack):
    blocks = [section("*Why?* · done in 2 s"), actions(button("stop"))]
    await slack.call("chat.postMessage", {"channel": C, "text": "the fallback", "blocks": blocks})

    log = parts(slack)["channel-log"]

    assert "pill green" in log
    assert "the fallback" not in log


async def test_the_native_stop_is_shown_while_a_session_is_processing(slack):
    root = await slack.say("ana", C, "why?")
    where = {"channel_id": C, "thread_ts": root.ts}
    await slack.call("agents.sessions.setStatus", {**where, "status": "processing", "title": "Reading logs"})
    during = parts(slack, thread=root.ts)["native-stop"]

    await slack.call("agents.sessions.setStatus", {**where, "status": "active"})

    assert 'data-testid="native-stop"' in during
    assert "Reading logs" in during
    assert parts(slack, thread=root.ts)["native-stop"] == ""


async def test_an_open_modal_is_shown_to_the_person_who_clicked(slack, ears):
    posted = await slack.call("chat.postMessage", {"channel": C, "text": "a", "blocks": [actions(button("go"))]})
    await slack.click("ana", C, posted.body["ts"], "go")
    (payload,) = await slack.wait_for(lambda: ears.payloads("interactive"))
    view = modal(section("Where to?"), field("why", "reason"))
    await slack.call("views.open", {"trigger_id": payload["trigger_id"], "view": view})

    hers, his = parts(slack, "ana")["modal"], parts(slack, "ben")["modal"]

    assert "<h2>Go back</h2>" in hers
    assert 'data-testid="field-reason"' in hers
    assert 'data-testid="modal-submit"' in hers
    assert his == ""


async def test_a_long_channel_shows_its_newest_messages(slack):
    for number in range(MOST_SHOWN + 1):
        await slack.say("ana", C, f"message {number} of many")

    log = parts(slack)["channel-log"]

    assert "message 0 of many" not in log
    assert f"message {MOST_SHOWN} of many" in log


async def test_the_facts_of_the_sick_service_stand_in_the_sidebar(start):
    readings = [("checkout", "5xx 12 %"), ("p95", "2.4 s")]
    slack = await start(SlackOptions(facts=lambda: readings))
    before = parts(slack)["sidebar"]

    readings[0] = ("checkout", "5xx 0 %")

    assert "Sick service" in before
    assert "checkout: 5xx 12 %" in before
    assert "checkout: 5xx 0 %" in parts(slack)["sidebar"]


async def test_without_facts_there_is_no_sick_service(slack):
    sidebar = parts(slack)["sidebar"]

    assert "Sick service" not in sidebar


async def test_what_changes_is_sent_to_the_open_page_part_by_part(slack, http):
    async with asyncio.timeout(10), http.get(f"{slack.url}/live?channel={C}&as=ben") as response:
        changes = events(response)
        first = await anext(changes)

        await slack.say("ana", C, "just said")
        second = await anext(changes)

    assert set(first) == set(parts(slack))
    assert set(second) == {"channel-log"}
    assert "just said" in second["channel-log"]


async def test_what_only_another_person_sees_is_not_sent(slack, http):
    async with asyncio.timeout(10), http.get(f"{slack.url}/live?channel={C}&as=ben") as response:
        changes = events(response)
        await anext(changes)

        await slack.call("chat.postEphemeral", {"channel": C, "user": "U0ANA", "text": "for ana"})
        await slack.say("ana", C, "for everybody")
        second = await anext(changes)

    assert "for ana" not in json.dumps(second)


async def test_a_permalink_to_nothing_is_not_found(slack, http):
    answer, _ = await shown(slack, http, f"archives/{C}/p1700000000000100")

    assert answer.status == 404
