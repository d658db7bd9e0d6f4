"""The page of the playground as a person uses it, in a real browser: ask, watch the card move, steer, press Stop.

The pictures of the README are made here: `make pictures` writes them to docs/images.
"""

import os
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import async_playwright, expect

import bot.playground
from bot.cli.demo_stage import restart_action, restart_rule
from bot.playground.sick_service import SickService
from tests.chromium import SWITCHES, executable
from tests.stories.stage import INCIDENTS, Stage, Thread

DEMO = Path(bot.playground.__file__).parent / "scripts" / "demo.toml"
PICTURES = os.environ.get("STEERSMAN_PICTURES", "out/pictures")
PATIENT_MS = 30_000


@asynccontextmanager
async def demo_world(database_url):
    """The demo's world: the sick service, and the script that investigates it."""
    async with (
        SickService.running(slow_seconds=2.0) as sick,
        Stage.open(database_url, variables={"SICK_URL": sick.url}) as stage,
    ):
        stage.readable.append(sick.url)
        stage.writable.append(restart_rule(sick.url))
        stage.actions["restart_service"] = restart_action(sick.url)
        stage.plays(DEMO.read_text("utf-8"))
        await stage.start()
        yield stage


@asynccontextmanager
async def window(url):
    """A window of Chromium on a page."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=executable(), args=list(SWITCHES))
        page = await chromium.new_page(viewport={"width": 1340, "height": 900})
        page.set_default_timeout(PATIENT_MS)
        expect.set_options(timeout=PATIENT_MS)
        await page.goto(url)
        yield page
        await chromium.close()


async def asks(stage, page, text):
    """Type a mention in the channel and open its thread; returns the thread."""
    box = page.get_by_test_id("composer-channel")
    await box.fill(f"@Steersman {text}")
    await box.press("Enter")
    root = await stage.slack.wait_for(lambda: next(iter(_roots(stage, text)), None), 20)
    await page.goto(f"{stage.slack.url}/?channel={INCIDENTS}&thread={root.ts}&as=ana")
    return Thread(stage, INCIDENTS, root.ts)


def _roots(stage, text):
    return [each for each in stage.slack.messages(INCIDENTS) if text in each.text and each.thread_ts is None]


async def replies(page, text):
    """Type a reply in the open thread."""
    box = page.get_by_test_id("composer-thread")
    await box.fill(text)
    await box.press("Enter")


@pytest.mark.browser
async def test_a_person_asks_on_the_page_sees_the_card_move_and_stops_it(database_url):
    async with demo_world(database_url) as stage, window(f"{stage.slack.url}/?as=ana") as page:
        thread = await asks(stage, page, "why is checkout slow?")
        log = page.get_by_test_id("thread-log")
        await expect(log.get_by_text("investigating · step 2")).to_be_visible()

        await log.get_by_test_id("button-steersman_stop").last.click()

        await expect(log.get_by_text("stopped by")).to_be_visible()
        await expect(log.get_by_test_id("button-steersman_stop")).to_have_count(0)
        (stopped,) = await thread.settled()
        assert (stopped.reason, thread.answers()) == ("stopped", [])
        await save(page, "stopped")


@pytest.mark.browser
async def test_a_person_steers_on_the_page_and_reads_the_answer(database_url):
    async with demo_world(database_url) as stage, window(f"{stage.slack.url}/?as=ana") as page:
        thread = await asks(stage, page, "why is checkout slow?")
        log = page.get_by_test_id("thread-log")
        await expect(log.get_by_text("investigating · step 2")).to_be_visible()

        await replies(page, "not that host, look at the gateway")

        await expect(log.get_by_text("steered by")).to_be_visible()
        await expect(log.get_by_role("link", name="Continued below")).to_be_visible()
        await expect(log.get_by_text("investigating · step 2")).to_be_visible()
        await expect(log.get_by_test_id("button-steersman_pause")).to_have_count(1)
        await page.set_viewport_size({"width": 1340, "height": 1160})
        await save(page, "thread")
        steered, completed = await thread.settled(2)
        await expect(log.get_by_text("Verdict").last).to_be_visible()
        assert (steered.reason, completed.reason) == ("steered", "completed")
        await save(page, "answer")


@pytest.mark.browser
async def test_a_person_reads_the_whole_call_says_yes_on_the_page_and_it_is_done(database_url):
    async with demo_world(database_url) as stage, window(f"{stage.slack.url}/?as=ana") as page:
        thread = await asks(stage, page, "restart checkout")
        log = page.get_by_test_id("thread-log")
        await expect(log.get_by_text("needs a yes: restart checkout")).to_be_visible()
        await expect(log.locator("pre")).to_contain_text("/admin/restart?service=checkout")
        await expect(log.get_by_text("@oncall")).to_be_visible()
        await save(page, "needs_a_yes")

        await log.get_by_test_id("button-steersman_approve").click()

        (settled,) = await thread.settled()
        await expect(log.get_by_text("What became of the restart")).to_be_visible()
        await expect(log.get_by_test_id("button-steersman_approve")).to_have_count(0)
        await expect(log.get_by_text("done in")).to_be_visible()
        assert settled.reason == "completed"
        await save(page, "approved")


@pytest.mark.browser
async def test_a_person_has_what_it_did_shown_in_a_window_and_closes_it(database_url):
    async with demo_world(database_url) as stage, window(f"{stage.slack.url}/?as=ana") as page:
        thread = await asks(stage, page, "why is checkout slow?")
        log = page.get_by_test_id("thread-log")
        await expect(log.get_by_text("investigating · step 2")).to_be_visible()
        await log.get_by_test_id("button-steersman_stop").last.click()
        await thread.settled()
        await log.get_by_test_id("button-steersman_more").last.click()
        await log.get_by_role("menuitem", name="Show what it did").last.click()

        modal = page.get_by_test_id("modal")
        await expect(modal.get_by_text("HTTP 200").first).to_be_visible()
        await expect(modal.get_by_text("Asked by")).to_be_visible()
        await save(page, "what_it_did")
        await page.get_by_test_id("modal-close").click()
        await expect(modal).to_have_count(0)


async def save(page, name):
    """Keep what the person sees as a picture."""
    await page.screenshot(path=f"{PICTURES}/{name}.png")
