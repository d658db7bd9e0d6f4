"""The page in a real browser, as the people of the playground use it."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from bot.playground.local_slack import LocalSlack, SlackOptions
from tests.playground.samples import (
    actions,
    button,
    confirm,
    context,
    field,
    modal,
    option,
    overflow,
    plain,
    plan,
    rich,
    section,
    task,
    text,
)

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
C = "C0INCIDENTS"


async def post(slack, *blocks, thread_ts=None):
    arguments = {"channel": C, "text": "card", "blocks": list(blocks), "thread_ts": thread_ts}
    return (await slack.call("chat.postMessage", arguments)).body["ts"]


async def repaint(slack, ts, *blocks):
    await slack.call("chat.update", {"channel": C, "ts": ts, "text": "card", "blocks": list(blocks)})


async def test_a_mention_typed_on_the_page_reaches_the_bot_and_everybody_who_looks(slack, ears, visit):
    hers, his = await visit(f"{slack.url}/?as=ana"), await visit(f"{slack.url}/?as=ben")

    await hers.get_by_test_id("composer-channel").fill("@Steersman why is <checkout> slow?")
    await hers.keyboard.press("Enter")
    (message,) = await slack.wait_for(lambda: slack.messages(C))

    words = his.get_by_test_id("channel-log").get_by_test_id(f"message-{message.ts}")
    await expect(words).to_contain_text("@Steersman why is <checkout> slow?")
    await expect(hers.get_by_test_id("composer-channel")).to_have_value("")
    await slack.wait_for(lambda: len(ears.frames) == 2)
    assert {event["type"] for event in ears.events()} == {"message", "app_mention"}


async def test_a_thread_is_opened_answered_and_broadcast(slack, visit):
    root = await slack.say("ana", C, "a question")
    page = await visit(f"{slack.url}/?as=ben")

    await page.get_by_test_id(f"message-{root.ts}").hover()
    await page.get_by_test_id(f"open-thread-{root.ts}").click()
    await page.get_by_test_id("composer-thread").fill("an answer\nin two lines")
    await page.get_by_test_id("broadcast").check()
    await page.get_by_test_id("send-thread").click()

    await expect(page.get_by_test_id("thread-log")).to_contain_text("an answer")
    await expect(page.get_by_test_id("channel-log")).to_contain_text("replied to a thread")
    await expect(page.get_by_test_id("broadcast")).not_to_be_checked()
    assert (slack.messages(C)[1].user, slack.messages(C)[1].thread_ts) == ("U0BEN", root.ts)


async def test_shift_and_enter_makes_a_new_line(slack, visit):
    page = await visit(slack.url)
    await page.get_by_test_id("composer-channel").focus()

    await page.keyboard.type("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")

    (message,) = await slack.wait_for(lambda: slack.messages(C))
    assert message.text == "one\ntwo"


async def test_a_deep_link_opens_the_thread_for_its_person_and_the_switcher_changes_the_person(slack, visit):
    root = await slack.say("ana", C, "a question")
    page = await visit(f"{slack.url}/?channel={C}&thread={root.ts}&as=gus")
    await expect(page.get_by_test_id("thread-log")).to_contain_text("a question")

    await page.get_by_test_id("person-ben").click()
    await expect(page.get_by_test_id("person-ben")).to_have_class("chosen")
    await page.get_by_test_id("composer-thread").fill("mine")
    await page.keyboard.press("Enter")

    await expect(page.get_by_test_id("thread-log")).to_contain_text("mine")
    assert slack.messages(C)[1].user == "U0BEN"


async def test_a_card_is_repainted_while_somebody_types_and_reads(slack, visit):
    for number in range(30):
        await slack.say("ana", C, f"message {number}")
    ts = await post(slack, section("*Why?* · investigating · step 1"))
    page = await visit(slack.url)
    log = page.get_by_test_id("channel-log")
    await page.get_by_test_id("composer-channel").fill("half a sent")
    await log.evaluate("log => { log.scrollTop = 40; }")

    await repaint(slack, ts, section("*Why?* · investigating · step 2"), plan(task("a")))
    await expect(page.get_by_test_id(f"message-{ts}").get_by_test_id("state")).to_have_text("investigating · step 2")

    await expect(page.get_by_test_id("composer-channel")).to_have_value("half a sent")
    assert await log.evaluate("log => log.scrollTop") == 40


async def test_who_is_at_the_end_follows_what_is_said(slack, visit):
    for number in range(30):
        await slack.say("ana", C, f"message {number}")
    page = await visit(slack.url)
    log = page.get_by_test_id("channel-log")

    await slack.say("ben", C, "the newest")
    await expect(log).to_contain_text("the newest")

    await expect(log.get_by_text("the newest")).to_be_in_viewport()


async def test_a_button_sends_the_click_of_the_chosen_person(slack, ears, visit):
    ts = await post(slack, actions(button("stop", value="v1:r_42")))
    page = await visit(f"{slack.url}/?as=gus")

    await page.get_by_test_id(f"message-{ts}").get_by_test_id("button-stop").click()
    (payload,) = await slack.wait_for(lambda: ears.payloads("interactive"))

    assert payload["user"]["id"] == "U0GUS"
    assert payload["actions"][0]["value"] == "v1:r_42"
    await expect(page.get_by_test_id("notice")).to_be_hidden()


async def test_a_button_that_is_being_pressed_survives_the_repaint_of_its_card(slack, ears, visit):
    blocks = actions(button("stop"), button("pause", "Pause"))
    ts = await post(slack, section("*Why?* · investigating · step 1"), blocks)
    page = await visit(slack.url)
    await page.get_by_test_id("button-stop").hover()
    await page.mouse.down()

    await repaint(slack, ts, section("*Why?* · investigating · step 2"), blocks)
    await expect(page.get_by_test_id("state")).to_have_text("investigating · step 2")
    await page.mouse.up()

    (payload,) = await slack.wait_for(lambda: ears.payloads("interactive"))
    assert payload["actions"][0]["action_id"] == "stop"


async def test_the_keyboard_stays_on_a_button_over_a_repaint(slack, ears, visit):
    ts = await post(slack, section("*Why?* · investigating"), actions(button("stop")))
    page = await visit(slack.url)
    await page.get_by_test_id("button-stop").focus()

    await repaint(slack, ts, section("*Why?* · investigating"), plan(task("a")), actions(button("stop")))
    await expect(page.get_by_test_id("task-a")).to_be_visible()

    await expect(page.get_by_test_id("button-stop")).to_be_focused()


async def test_a_question_is_asked_before_the_click_is_sent(slack, ears, visit):
    await post(slack, actions(button("approve", "Approve", confirm=confirm())))
    page = await visit(slack.url)

    await page.get_by_test_id("button-approve").click()
    await expect(page.get_by_test_id("question")).to_contain_text("It ends.")
    await page.get_by_test_id("answer-no").click()
    await page.get_by_test_id("button-approve").click()
    await page.get_by_test_id("answer-yes").click()
    await slack.wait_for(lambda: ears.payloads("interactive"))

    assert len(ears.payloads("interactive")) == 1


async def test_a_menu_opens_chooses_and_closes(slack, ears, visit):
    await post(slack, actions(overflow("more", option("clear", "Stop and clear"), option("back", "Go back"))))
    page = await visit(slack.url)

    await page.get_by_test_id("button-more").click()
    await page.get_by_test_id("option-back").click()
    (payload,) = await slack.wait_for(lambda: ears.payloads("interactive"))

    assert payload["actions"][0]["selected_option"]["value"] == "back"
    await expect(page.get_by_test_id("option-back")).to_be_hidden()


async def test_a_click_that_nobody_acknowledges_is_told_to_its_person(start, visit):
    slack = await start(SlackOptions(ack_timeout=0.05))
    await post(slack, actions(button("stop")))
    page = await visit(slack.url)

    await page.get_by_test_id("button-stop").click()

    await expect(page.get_by_test_id("notice")).to_have_text("Steersman did not answer in time. Try again.")


async def test_an_ephemeral_comes_to_its_reader_alone(slack, visit):
    hers, his = await visit(f"{slack.url}/?as=ana"), await visit(f"{slack.url}/?as=ben")

    await slack.call("chat.postEphemeral", {"channel": C, "user": "U0ANA", "text": "Noted."})
    await slack.say("gus", C, "the next message")

    await expect(hers.get_by_test_id("channel-log")).to_contain_text("Only visible to you")
    await expect(his.get_by_test_id("channel-log")).to_contain_text("the next message")
    await expect(his.get_by_test_id("channel-log")).not_to_contain_text("Noted.")


async def test_a_person_edits_and_deletes_their_own_message(slack, visit):
    message = await slack.say("ana", C, "checkuot is slow")
    page = await visit(f"{slack.url}/?as=ana")
    shown = page.get_by_test_id(f"message-{message.ts}")

    await shown.hover()
    await page.get_by_test_id(f"edit-{message.ts}").click()
    await page.get_by_test_id("edit-field").fill("checkout is slow")
    await page.keyboard.press("Enter")
    await expect(shown).to_contain_text("checkout is slow")
    await expect(shown).to_contain_text("(edited)")
    await shown.hover()
    await page.get_by_test_id(f"delete-{message.ts}").click()
    await page.get_by_test_id("answer-yes").click()

    await expect(shown).to_have_count(0)
    assert slack.messages(C) == []


async def test_an_edit_that_is_given_up_changes_nothing(slack, visit):
    message = await slack.say("ana", C, "as it was")
    page = await visit(f"{slack.url}/?as=ana")
    shown = page.get_by_test_id(f"message-{message.ts}")
    await shown.hover()
    await page.get_by_test_id(f"edit-{message.ts}").click()
    await page.get_by_test_id("edit-field").fill("something else")

    await slack.say("ben", C, "meanwhile")
    await expect(page.get_by_test_id("channel-log")).to_contain_text("meanwhile")
    await expect(page.get_by_test_id("edit-field")).to_have_value("something else")
    await page.keyboard.press("Escape")

    await expect(shown).to_contain_text("as it was")
    assert slack.messages(C)[0].edited_ts is None


async def test_what_could_not_be_sent_is_not_lost(slack, visit):
    root = await slack.say("ana", C, "a question")
    page = await visit(f"{slack.url}/?channel={C}&thread={root.ts}&as=ben")
    await slack.delete("ana", C, root.ts)

    await page.get_by_test_id("composer-thread").fill("too late")
    async with page.expect_response(re.compile("/say$")) as answer:
        await page.keyboard.press("Enter")
    await answer.value

    await expect(page.get_by_test_id("notice")).to_contain_text("thread_not_found")
    await expect(page.get_by_test_id("composer-thread")).to_have_value("too late")


async def test_the_native_stop_is_pressed_on_the_page(slack, ears, visit):
    root = await slack.say("ana", C, "why?")
    page = await visit(f"{slack.url}/?channel={C}&thread={root.ts}&as=ben")
    where = {"channel_id": C, "thread_ts": root.ts}
    await slack.call("agents.sessions.setStatus", {**where, "status": "processing"})

    await page.get_by_test_id("native-stop").click()
    await slack.wait_for(lambda: len(ears.frames) == 2)
    await slack.call("agents.sessions.setStatus", {**where, "status": "active"})

    await expect(page.get_by_test_id("native-stop")).to_have_count(0)
    assert (ears.events()[-1]["type"], ears.events()[-1]["user"]) == ("agent_session_stopped", "U0BEN")


async def test_a_modal_is_filled_in_and_submitted(slack, ears, visit):
    await post(slack, actions(button("back")))
    page = await visit(slack.url)
    await page.get_by_test_id("button-back").click()
    (payload,) = await slack.wait_for(lambda: ears.payloads("interactive"))
    view = modal(section("Where to?"), field("why", "reason"))
    await slack.call("views.open", {"trigger_id": payload["trigger_id"], "view": view})

    await page.get_by_test_id("field-reason").fill("the wrong host")
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_have_count(0)

    state = ears.payloads("interactive")[-1]["view"]["state"]
    assert state["values"] == {"why": {"reason": {"type": "plain_text_input", "value": "the wrong host"}}}


async def test_a_modal_with_radio_buttons_is_sent_only_with_a_choice(slack, ears, visit):
    await post(slack, actions(button("back")))
    page = await visit(slack.url)
    await page.get_by_test_id("button-back").click()
    (payload,) = await slack.wait_for(lambda: ears.payloads("interactive"))
    radio = {"type": "radio_buttons", "action_id": "step", "options": [option("3", "Step 3"), option("2", "Step 2")]}
    choice = {"type": "input", "block_id": "where", "label": plain("Where to"), "element": radio}
    await slack.call("views.open", {"trigger_id": payload["trigger_id"], "view": modal(choice)})

    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_have_count(1)
    await page.get_by_test_id("choice-2").check()
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_have_count(0)

    (sent,) = ears.payloads("interactive")[1:]
    chosen = {"value": "2", "text": {"type": "plain_text", "text": "Step 2"}}
    assert sent["view"]["state"]["values"] == {"where": {"step": {"type": "radio_buttons", "selected_option": chosen}}}


async def test_nothing_that_is_said_runs_in_the_page(slack, visit):
    attack = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
    await slack.say("eve", C, attack)
    await slack.call("chat.postMessage", {"channel": C, "text": attack})
    await post(slack, {"type": "markdown", "text": attack}, rich(text(attack)), context("[x](javascript:alert(1))"))

    page = await visit(slack.url)
    await slack.say("eve", C, f"{attack} again")
    await expect(page.get_by_test_id("channel-log")).to_contain_text("again")

    assert await page.title() == "Playground · Steersman"
    assert await page.locator("img, script:not([src])").count() == 0


async def test_the_page_says_when_the_playground_has_ended(visit):
    async with LocalSlack.running() as slack:
        page = await visit(slack.url)
        await expect(page.get_by_test_id("sidebar")).to_be_visible()

    lost = page.locator("body.offline")

    await expect(lost).to_have_count(1)


async def test_the_facts_of_the_sick_service_are_read_again(start, visit):
    readings = [("checkout", "5xx 12 %")]
    slack = await start(SlackOptions(facts=lambda: readings))
    page = await visit(slack.url)
    await expect(page.get_by_test_id("sidebar")).to_contain_text("checkout: 5xx 12 %")

    readings[0] = ("checkout", "5xx 0 %")

    await expect(page.get_by_test_id("sidebar")).to_contain_text("checkout: 5xx 0 %")


async def test_two_people_in_two_windows_hold_a_conversation(slack, visit):
    hers, his = await asyncio.gather(visit(f"{slack.url}/?as=ana"), visit(f"{slack.url}/?as=ben"))

    await hers.get_by_test_id("composer-channel").fill("ping")
    await hers.keyboard.press("Enter")
    await expect(his.get_by_test_id("channel-log")).to_contain_text("ping")
    await his.get_by_test_id("composer-channel").fill("pong")
    await his.keyboard.press("Enter")

    await expect(hers.get_by_test_id("channel-log")).to_contain_text("pong")
